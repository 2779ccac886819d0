"""Bandstand: a radio that learns you.

Recommender          one listener's radio: recommend, update, playlist, undo
ExactModel, MixedEffectsModel, McmcModel, VariationalModel, LeastSquaresModel, RidgeModel
                     the engines as estimators: fit, partial_fit, predict, quantile, sample
NamedItems           what the columns of items with names are
save, load           fitted estimators on disk, as npz and JSON
ALGORITHMS           the named algorithms
Songs, History       what goes in
paper_prior, people_prior, radio_prior, ListenerPrior
                     what is believed before the first answer
BandstandError, InvalidInputError, NotFittedError

`bandstand.sklearn` has the engines as an estimator of scikit-learn, if that is installed. The
names above are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bandstand.core.estimators import (
        ExactModel,
        LeastSquaresModel,
        McmcModel,
        MixedEffectsModel,
        RidgeModel,
        VariationalModel,
        load,
        save,
    )
    from bandstand.core.model.history import History, Songs
    from bandstand.core.model.named_items import NamedItems
    from bandstand.core.model.priors import ListenerPrior, paper_prior, people_prior, radio_prior
    from bandstand.core.recommender import Answer, PlannedSong, Recommender
    from bandstand.core.registry import ALGORITHMS
    from bandstand.errors import BandstandError, InvalidInputError, NotFittedError

__version__: Final = "0.1.0"

_HOMES: Final = {
    "ALGORITHMS": "bandstand.core.registry",
    "Answer": "bandstand.core.recommender",
    "BandstandError": "bandstand.errors",
    "ExactModel": "bandstand.core.estimators",
    "History": "bandstand.core.model.history",
    "InvalidInputError": "bandstand.errors",
    "LeastSquaresModel": "bandstand.core.estimators",
    "ListenerPrior": "bandstand.core.model.priors",
    "McmcModel": "bandstand.core.estimators",
    "MixedEffectsModel": "bandstand.core.estimators",
    "NamedItems": "bandstand.core.model.named_items",
    "NotFittedError": "bandstand.errors",
    "PlannedSong": "bandstand.core.recommender",
    "Recommender": "bandstand.core.recommender",
    "RidgeModel": "bandstand.core.estimators",
    "Songs": "bandstand.core.model.history",
    "VariationalModel": "bandstand.core.estimators",
    "load": "bandstand.core.estimators",
    "paper_prior": "bandstand.core.model.priors",
    "people_prior": "bandstand.core.model.priors",
    "radio_prior": "bandstand.core.model.priors",
    "save": "bandstand.core.estimators",
}

__all__ = [
    "ALGORITHMS",
    "Answer",
    "BandstandError",
    "ExactModel",
    "History",
    "InvalidInputError",
    "LeastSquaresModel",
    "ListenerPrior",
    "McmcModel",
    "MixedEffectsModel",
    "NamedItems",
    "NotFittedError",
    "PlannedSong",
    "Recommender",
    "RidgeModel",
    "Songs",
    "VariationalModel",
    "load",
    "paper_prior",
    "people_prior",
    "radio_prior",
    "save",
]


def __getattr__(name: str) -> object:
    """Return a public name from its home module."""
    if name not in _HOMES:
        msg = f"module 'bandstand' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*__all__, "__version__"])

"""Bandstand: a radio that learns you.

Recommender          one listener's radio: recommend, update, playlist, undo
ExactModel, McmcModel, VariationalModel, LeastSquaresModel, RidgeModel
                     the engines as estimators: fit, partial_fit, predict, quantile, sample
save, load           fitted estimators on disk, as npz and JSON
ALGORITHMS           the named algorithms
Songs, History       what goes in
paper_prior, radio_prior, ListenerPrior
                     what is believed before the first answer
BandstandError, InvalidInputError, NotFittedError

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bandstand.algorithms.estimators import (
        ExactModel,
        LeastSquaresModel,
        McmcModel,
        RidgeModel,
        VariationalModel,
    )
    from bandstand.algorithms.recommender import Answer, PlannedSong, Recommender
    from bandstand.algorithms.registry import ALGORITHMS
    from bandstand.algorithms.saving import load, save
    from bandstand.domain import History, Songs
    from bandstand.errors import BandstandError, InvalidInputError, NotFittedError
    from bandstand.model.priors import ListenerPrior, paper_prior, radio_prior

__version__: Final = "0.1.0"

_HOMES: Final = {
    "ALGORITHMS": "bandstand.algorithms.registry",
    "Answer": "bandstand.algorithms.recommender",
    "BandstandError": "bandstand.errors",
    "ExactModel": "bandstand.algorithms.estimators",
    "History": "bandstand.domain",
    "InvalidInputError": "bandstand.errors",
    "LeastSquaresModel": "bandstand.algorithms.estimators",
    "ListenerPrior": "bandstand.model.priors",
    "McmcModel": "bandstand.algorithms.estimators",
    "NotFittedError": "bandstand.errors",
    "PlannedSong": "bandstand.algorithms.recommender",
    "Recommender": "bandstand.algorithms.recommender",
    "RidgeModel": "bandstand.algorithms.estimators",
    "Songs": "bandstand.domain",
    "VariationalModel": "bandstand.algorithms.estimators",
    "load": "bandstand.algorithms.saving",
    "paper_prior": "bandstand.model.priors",
    "radio_prior": "bandstand.model.priors",
    "save": "bandstand.algorithms.saving",
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
    "NotFittedError",
    "PlannedSong",
    "Recommender",
    "RidgeModel",
    "Songs",
    "VariationalModel",
    "load",
    "paper_prior",
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

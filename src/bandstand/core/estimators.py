"""The engines as estimators: fit, partial_fit, predict, quantile, sample.

    >>> model = ExactModel().fit([[1.0], [2.0], [1.5]], elapsed=43_200, ratings=[2.0, 4.0, 3.1])
    >>> mean, standard_deviation = model.predict([[1.0]], elapsed=43_200, return_std=True)
    >>> mean.round(2), model.quantile([[1.0]], elapsed=43_200, level=0.95) > mean
    (array([1.99]), array([ True]))

Every row is a song heard at some moment: its features, the minutes since it had been heard
before, and the rating. All settings are keywords; `fit` starts from scratch, `partial_fit` goes
on, and both lead to the same belief. `MixedEffectsModel` takes names beside the features: `songs`,
`artists`, `albums` and `tags`, an entry for each row.

`save` writes NAME.npz (the history and the prior) and NAME.json (the settings). The belief follows
from them, so `load` learns it again (milliseconds for the exact engine) and it cannot disagree
with its history. Nothing is pickled, so loading a file from a stranger runs no code.

`bandstand.sklearn` has an estimator of scikit-learn, which needs X and y alone.
"""

from __future__ import annotations

import json
import zipfile
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, Unpack

import numpy as np

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.least_squares import LeastSquares
from bandstand.core.engines.mcmc.engine import Mcmc
from bandstand.core.engines.ridge import Ridge
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model.factors import content_novelty
from bandstand.core.model.history import History, Songs
from bandstand.core.model.named_items import NamedItems, Names, groups_of
from bandstand.core.model.priors import (
    EffectPrior,
    GammaRecovery,
    ListenerKind,
    ListenerPrior,
    LogNormalRecovery,
    NoisePrior,
    PreferencePrior,
    paper_prior,
)
from bandstand.core.model.scaling import Standardiser
from bandstand.core.model.song_groups import SongGroups
from bandstand.errors import InvalidInputError, NotFittedError
from bandstand.types import MONTH, frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.core.engines.engine import Engine, Summary
    from bandstand.core.model.named_items import KnownNames
    from bandstand.core.model.prediction import Prediction
    from bandstand.types import AnyArray, Matrix, Vector

_FORMAT: Final = 2
_RECOVERY: Final[dict[str, type[GammaRecovery | LogNormalRecovery]]] = {
    "gamma": GammaRecovery,
    "log-normal": LogNormalRecovery,
}
_ROWS: Final = ("features", "elapsed", "ratings", "weights")


class RatingModel(ABC):
    """The methods of all estimators, which differ in the engine and its settings."""

    history_: History
    engine_: Engine[Any]  # as it was made at the last `fit`
    belief_: Any
    items_: NamedItems | None  # what the columns of features and tags are, if names are learned
    names_: KnownNames

    @abstractmethod
    def _engine(self, columns: int, items: NamedItems | None) -> Engine[Any]:
        """Return the engine for songs with that many features."""

    def fit(
        self,
        features: ArrayLike,
        *,
        elapsed: ArrayLike,
        ratings: ArrayLike,
        weights: ArrayLike = 1.0,
        **names: Unpack[Names],
    ) -> Self:
        """Learn from these answers alone and return the model itself."""
        known: KnownNames = {}
        items = self._items(features, names)
        rows = _encoded(items, known, features, names)
        history = History.of(**rows, elapsed=elapsed, ratings=ratings, weights=weights)
        return self.fit_history(history, items, known)

    def fit_history(
        self, history: History, items: NamedItems | None = None, known: KnownNames | None = None
    ) -> Self:
        """Learn from a history and return the model itself; a model of names needs them too."""
        engine = self._engine(history.columns, items)
        belief = engine.fit(history, rng=self._rng())
        self.history_, self.engine_, self.belief_ = history, engine, belief
        self.items_, self.names_ = items, known or {}
        return self

    def partial_fit(
        self,
        features: ArrayLike,
        *,
        elapsed: ArrayLike,
        ratings: ArrayLike,
        weights: ArrayLike = 1.0,
        **names: Unpack[Names],
    ) -> Self:
        """Learn from further answers: the same belief as `fit` of all of them together."""
        if not hasattr(self, "history_"):
            return self.fit(features, elapsed=elapsed, ratings=ratings, weights=weights, **names)
        rows = _encoded(self.items_, self.names_, features, names)
        more = History.of(**rows, elapsed=elapsed, ratings=ratings, weights=weights)
        history, belief = self.history_.extended(more), self.belief_
        if self.engine_.online:
            for count in range(len(self.history_) + 1, len(history) + 1):
                belief = self.engine_.update(belief, history.first(count), rng=self._rng())
        else:
            belief = self.engine_.fit(history, rng=self._rng())
        self.history_, self.belief_ = history, belief
        return self

    def predict(
        self,
        features: ArrayLike,
        *,
        elapsed: ArrayLike,
        return_std: bool = False,
        **names: Unpack[Names],
    ) -> Vector | tuple[Vector, Vector | None] | None:
        """Return E[U | D] of each song, with `return_std` also its standard deviation.

        What does not exist, or what this model does not have, is None.
        """
        prediction = self._prediction(features, elapsed, names)
        mean = prediction.mean()
        if not return_std:
            return mean
        return mean, prediction.standard_deviation()  # type: ignore[return-value]

    def quantile(
        self,
        features: ArrayLike,
        *,
        elapsed: ArrayLike,
        level: float,
        **names: Unpack[Names],
    ) -> Vector | None:
        """Return the value that each U stays below with probability `level`."""
        if not isinstance(level, int | float | np.floating) or not 0 < level < 1:
            msg = f"level must be between 0 and 1, both excluded, got {level!r}"
            raise InvalidInputError(msg)
        return self._prediction(features, elapsed, names).quantile(level)

    def sample(
        self,
        features: ArrayLike,
        *,
        elapsed: ArrayLike,
        rng: np.random.Generator,
        size: int = 1,
        **names: Unpack[Names],
    ) -> Matrix | None:
        """Return joint draws of the expected ratings: (size, songs)."""
        return self._prediction(features, elapsed, names).sample(rng, size)

    def summary(self) -> Summary:
        """Return what was learned about the listener, in a few numbers."""
        self.fitted_history()
        return self.engine_.summary(self.belief_)

    def fitted_history(self) -> History:
        """Return the history that the model has learned from."""
        if not hasattr(self, "belief_"):
            msg = f"{type(self).__name__} must be fitted before it can answer; call `fit` first"
            raise NotFittedError(msg)
        return self.history_

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return the settings by name; `deep` is there for scikit-learn's sake."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Change settings by name and return the model; it takes effect at the next `fit`."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                msg = f"a setting must be one of {', '.join(known)}, got {name!r}"
                raise InvalidInputError(msg)
            setattr(self, name, value)
        return self

    def _items(self, features: ArrayLike, names: Names) -> NamedItems | None:
        """Return what the columns of these rows are, if the model learns from names."""
        del features, names
        return None

    def _prediction(self, features: ArrayLike, elapsed: ArrayLike, names: Names) -> Prediction:
        columns = self.fitted_history().columns
        known = {kind: dict(numbers) for kind, numbers in self.names_.items()}
        songs = Songs.of(**_encoded(self.items_, known, features, names), elapsed=elapsed)
        if songs.features.shape[1] != columns:
            msg = f"songs must have {columns} features as in `fit`, got {songs.features.shape[1]}"
            raise InvalidInputError(msg)
        return self.engine_.predict(self.belief_, songs)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(getattr(self, "seed", 0))


@dataclass(kw_only=True, eq=False)
class ExactModel(RatingModel):
    """The exact model by quadrature; without a prior the paper's is used."""

    prior: ListenerPrior | None = None

    def _engine(self, columns: int, _: NamedItems | None) -> Exact:
        return Exact(prior=self.prior or paper_prior(columns))


@dataclass(kw_only=True, eq=False)
class MixedEffectsModel(RatingModel):
    """The exact model with effects of artists, albums and songs, of features on any scale.

    `items` are the columns of a catalogue; without them those of the first rows that are fitted.
    An elapsed time of infinity stands for never.
    """

    items: NamedItems | None = None
    prior: ListenerPrior | None = None

    def _items(self, features: ArrayLike, names: Names) -> NamedItems:
        return self.items or NamedItems.fit(features, names.get("tags"))

    def _engine(self, columns: int, items: NamedItems | None) -> Exact:
        del columns
        if items is None:
            msg = "a history must come with the items that its columns are of, got none"
            raise InvalidInputError(msg)
        return Exact(prior=self.prior or items.prior())


@dataclass(kw_only=True, eq=False)
class McmcModel(RatingModel):
    """The exact model by collapsed slice sampling."""

    prior: ListenerPrior | None = None
    effective_draws: int = 2_000
    seed: int = 0

    def _engine(self, columns: int, _: NamedItems | None) -> Mcmc:
        return Mcmc(prior=self.prior or paper_prior(columns), effective_draws=self.effective_draws)


@dataclass(kw_only=True, eq=False)
class VariationalModel(RatingModel):
    """The paper's piecewise-linear model by variational inference, with the paper's priors."""

    def _engine(self, columns: int, _: NamedItems | None) -> Variational:
        return Variational(model=content_novelty(columns))


@dataclass(kw_only=True, eq=False)
class LeastSquaresModel(RatingModel):
    """Least squares by L-BFGS-B; with a prior it is the mode of the posterior."""

    prior: ListenerPrior | None = None

    def _engine(self, columns: int, _: NamedItems | None) -> LeastSquares:
        del columns
        return LeastSquares(penalty=self.prior)


@dataclass(kw_only=True, eq=False)
class RidgeModel(RatingModel):
    """Ridge regression on the content, with `use_elapsed` also on the elapsed time."""

    regularisation: float = 1.0
    use_elapsed: bool = False

    def _engine(self, columns: int, _: NamedItems | None) -> Ridge:
        del columns
        unit = MONTH if self.use_elapsed else None
        return Ridge(regularisation=self.regularisation, time_unit=unit)


_MODELS: Final[dict[str, type[RatingModel]]] = {
    kind.__name__: kind
    for kind in (
        *(ExactModel, MixedEffectsModel, McmcModel),
        *(VariationalModel, LeastSquaresModel, RidgeModel),
    )
}


def _encoded(
    items: NamedItems | None, known: KnownNames, features: ArrayLike, names: Names
) -> dict[str, Any]:
    """Return the columns of some rows, and what they share by their names."""
    if items is not None:
        table = items.table(features, names.get("tags"))
        return {"features": table, "groups": groups_of(len(table), names, known)}
    if any(entries is not None for entries in names.values()):
        msg = f"only MixedEffectsModel learns from names, got {', '.join(names)}"
        raise InvalidInputError(msg)
    return {"features": features}


def save(model: RatingModel, path: str | Path) -> None:
    """Write a fitted model to `path`.npz and `path`.json."""
    history, settings = model.fitted_history(), model.get_params()
    prior, items = settings.pop("prior", None), model.items_
    if "items" in settings:
        settings["items"] = settings["items"] is not None
    groups = history.groups
    arrays = {name: getattr(history, name) for name in _ROWS}
    arrays["groups"] = np.stack([groups.song, groups.album, groups.artist])
    if prior is not None:
        arrays["prior_mean"] = prior.preference.mean
        arrays["prior_precision"] = prior.preference.precision
    about = {
        "format": _FORMAT,
        "model": type(model).__name__,
        "settings": settings,
        "prior": None if prior is None else _described(prior),
        "items": None if items is None else asdict(items),
        "names": {kind: list(map(_plain, numbers)) for kind, numbers in model.names_.items()},
    }
    numbers, text = _files(path)
    np.savez(numbers, **arrays)
    written = json.dumps(about, indent=2, allow_nan=False, default=_as_list)
    text.write_text(f"{written}\n", encoding="utf-8")


def load(path: str | Path) -> RatingModel:
    """Return the model that `save` wrote to `path`."""
    numbers, text = _files(path)
    try:
        about = json.loads(text.read_text(encoding="utf-8"))
        if about["format"] != _FORMAT:
            msg = f"format {about['format']!r} instead of {_FORMAT}"
            raise ValueError(msg)  # noqa: TRY301  (one sentence for whatever is wrong)
        # Opened here, so that it is closed whatever numpy makes of it.
        with numbers.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        settings, items = about["settings"], _loaded_items(about["items"])
        if "items" in settings:
            settings["items"] = items if settings["items"] else None
        if about["prior"] is not None:
            settings["prior"] = _prior(about["prior"], arrays)
        model = _MODELS[about["model"]](**settings)
        song, album, artist = arrays["groups"]
        groups = SongGroups(song=song, album=album, artist=artist)
        history = History.of(**{name: arrays[name] for name in _ROWS}, groups=groups)
        known = {
            kind: {name: number for number, name in enumerate(names)}
            for kind, names in about["names"].items()
        }
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as problem:
        reason = f"{type(problem).__name__}: {problem}".splitlines()[0]
        msg = f"{numbers} and {text} must be a saved model, got {reason}"
        raise InvalidInputError(msg) from problem
    return model.fit_history(history, items, known)


def _files(path: str | Path) -> tuple[Path, Path]:
    base = Path(path)
    return base.with_name(f"{base.name}.npz"), base.with_name(f"{base.name}.json")


def _plain(name: object) -> object:
    plain = name.item() if isinstance(name, np.generic) else name
    if not isinstance(plain, str | int | float) or plain in (np.inf, -np.inf):
        msg = f"only names that are text or finite numbers can be saved, got {name!r}"
        raise InvalidInputError(msg)
    return plain


def _as_list(array: Vector) -> list[float]:
    return array.tolist()


def _loaded_items(described: dict[str, Any] | None) -> NamedItems | None:
    if described is None:
        return None
    scales = {name: frozen(np.array(each)) for name, each in described["scales"].items()}
    return NamedItems(
        scales=Standardiser(**scales),
        tags=tuple(described["tags"]),
        is_curved=described["is_curved"],
    )


def _described(prior: ListenerPrior) -> dict[str, Any]:
    recovery = prior.recovery
    for kind, known in _RECOVERY.items():
        if type(recovery) is known:
            return {
                "recovery": {"kind": kind, **asdict(recovery)},
                "noise": asdict(prior.noise),
                "effects": asdict(prior.effects),
                "kinds": list(map(asdict, prior.kinds)),
            }
    msg = f"only {' and '.join(_RECOVERY)} recovery priors can be saved, got {type(recovery)}"
    raise InvalidInputError(msg)


def _prior(described: dict[str, Any], arrays: dict[str, AnyArray]) -> ListenerPrior:
    recovery = dict(described["recovery"])
    kind = _RECOVERY[recovery.pop("kind")]
    return ListenerPrior(
        preference=PreferencePrior(mean=arrays["prior_mean"], precision=arrays["prior_precision"]),
        recovery=kind(**recovery),
        noise=NoisePrior(**described["noise"]),
        effects=EffectPrior(**described["effects"]),
        kinds=tuple(
            ListenerKind(
                share=each["share"],
                variances=frozen(np.array(each["variances"])),
                effects=EffectPrior(**each["effects"]),
            )
            for each in described["kinds"]
        ),
    )

"""The engines in the manner of scikit-learn: fit, partial_fit, predict, quantile, sample.

    >>> model = ExactModel().fit([[1.0], [2.0], [1.5]], elapsed=43_200, ratings=[2.0, 4.0, 3.1])
    >>> mean, standard_deviation = model.predict([[1.0]], elapsed=43_200, return_std=True)
    >>> mean.round(2), model.quantile([[1.0]], elapsed=43_200, level=0.95) > mean
    (array([1.99]), array([ True]))

Every row is a song heard at some moment: its features, the minutes since it had been heard
before, and the rating. All settings are keywords; `fit` starts anew, `partial_fit` goes on,
and both lead to the same belief. `saving.save` and `saving.load` keep a fitted model on disk.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.least_squares import LeastSquares
from bandstand.core.engines.mcmc.engine import Mcmc
from bandstand.core.engines.ridge import Ridge
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model.factors import content_novelty
from bandstand.core.model.history import History
from bandstand.core.model.priors import paper_prior
from bandstand.core.model.songs import Songs
from bandstand.errors import InvalidInputError, NotFittedError
from bandstand.types import MONTH

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.core.engines.engine import Engine, Summary
    from bandstand.core.model.prediction import Prediction
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import Matrix, Vector


class RatingModel(ABC):
    """What all estimators share; they differ in the engine and its settings."""

    history_: History
    engine_: Engine[Any]  # as it was made at the last `fit`
    belief_: Any

    @abstractmethod
    def _engine(self, columns: int) -> Engine[Any]:
        """Return the engine for songs with that many features."""

    def fit(
        self,
        features: ArrayLike,
        *,
        elapsed: ArrayLike,
        ratings: ArrayLike,
        weights: ArrayLike = 1.0,
    ) -> Self:
        """Learn from these answers alone and return the model itself."""
        return self.fit_history(
            History.of(features=features, elapsed=elapsed, ratings=ratings, weights=weights)
        )

    def fit_history(self, history: History) -> Self:
        """Learn from a history that is there already and return the model itself."""
        engine = self._engine(history.columns)
        belief = engine.fit(history, rng=self._rng())
        self.history_, self.engine_, self.belief_ = history, engine, belief
        return self

    def partial_fit(
        self,
        features: ArrayLike,
        *,
        elapsed: ArrayLike,
        ratings: ArrayLike,
        weights: ArrayLike = 1.0,
    ) -> Self:
        """Learn from further answers: the same belief as `fit` of all of them together."""
        if not hasattr(self, "history_"):
            return self.fit(features, elapsed=elapsed, ratings=ratings, weights=weights)
        more = History.of(features=features, elapsed=elapsed, ratings=ratings, weights=weights)
        if more.columns != self.history_.columns:
            msg = f"songs must have {self.history_.columns} features as before, got {more.columns}"
            raise InvalidInputError(msg)
        history, belief = self.history_, self.belief_
        for row in range(len(more)):
            history = history.append(
                features=more.features[row],
                elapsed=float(more.elapsed[row]),
                rating=float(more.ratings[row]),
                weight=float(more.weights[row]),
            )
            if self.engine_.online:
                belief = self.engine_.update(belief, history, rng=self._rng())
        if not self.engine_.online:
            belief = self.engine_.fit(history, rng=self._rng())
        self.history_, self.belief_ = history, belief
        return self

    def predict(
        self, features: ArrayLike, *, elapsed: ArrayLike, return_std: bool = False
    ) -> Vector | tuple[Vector, Vector | None] | None:
        """Return E[U | D] of each song, with `return_std` also its standard deviation.

        What does not exist, or what this model does not have, is None.
        """
        prediction = self._prediction(features, elapsed)
        mean = prediction.mean()
        if not return_std:
            return mean
        return mean, prediction.standard_deviation()  # type: ignore[return-value]

    def quantile(self, features: ArrayLike, *, elapsed: ArrayLike, level: float) -> Vector | None:
        """Return the value that each U stays below with probability `level`."""
        if not isinstance(level, int | float | np.floating) or not 0 < level < 1:
            msg = f"level must be between 0 and 1, both excluded, got {level!r}"
            raise InvalidInputError(msg)
        return self._prediction(features, elapsed).quantile(level)

    def sample(
        self,
        features: ArrayLike,
        *,
        elapsed: ArrayLike,
        rng: np.random.Generator,
        size: int = 1,
    ) -> Matrix | None:
        """Return joint draws of the expected ratings: (size, songs)."""
        return self._prediction(features, elapsed).sample(rng, size)

    def summary(self) -> Summary:
        """Return what was learnt about the listener, in a few numbers."""
        self.fitted_history()
        return self.engine_.summary(self.belief_)

    def fitted_history(self) -> History:
        """Return what the model has learnt from."""
        if not hasattr(self, "belief_"):
            msg = f"{type(self).__name__} must be fitted before it can answer; call `fit` first"
            raise NotFittedError(msg)
        return self.history_

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002
        """Return the settings by name; `deep` is there for scikit-learn's sake."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def set_params(self, **params: Any) -> Self:
        """Change settings by name and return the model; it takes effect at the next `fit`."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                msg = f"a setting must be one of {', '.join(known)}, got {name!r}"
                raise InvalidInputError(msg)
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({settings})"

    def _prediction(self, features: ArrayLike, elapsed: ArrayLike) -> Prediction:
        columns = self.fitted_history().columns
        songs = Songs.of(features=features, elapsed=elapsed)
        if songs.features.shape[1] != columns:
            msg = f"songs must have {columns} features as in `fit`, got {songs.features.shape[1]}"
            raise InvalidInputError(msg)
        return self.engine_.predict(self.belief_, songs)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(getattr(self, "seed", 0))


class ExactModel(RatingModel):
    """The exact model by quadrature; without a prior the paper's is used."""

    def __init__(self, *, prior: ListenerPrior | None = None) -> None:
        self.prior = prior

    def _engine(self, columns: int) -> Exact:
        return Exact(prior=self.prior or paper_prior(columns))


class McmcModel(RatingModel):
    """The exact model by collapsed slice sampling."""

    def __init__(
        self, *, prior: ListenerPrior | None = None, effective_draws: int = 2_000, seed: int = 0
    ) -> None:
        self.prior = prior
        self.effective_draws = effective_draws
        self.seed = seed

    def _engine(self, columns: int) -> Mcmc:
        return Mcmc(prior=self.prior or paper_prior(columns), effective_draws=self.effective_draws)


class VariationalModel(RatingModel):
    """The paper's piecewise-linear model by variational inference."""

    def __init__(self) -> None:
        """Take no settings: the priors are the paper's."""

    def _engine(self, columns: int) -> Variational:
        return Variational(model=content_novelty(columns))


class LeastSquaresModel(RatingModel):
    """Least squares by L-BFGS-B; with a prior it is the mode of the posterior."""

    def __init__(self, *, prior: ListenerPrior | None = None) -> None:
        self.prior = prior

    def _engine(self, columns: int) -> LeastSquares:
        del columns
        return LeastSquares(penalty=self.prior)


class RidgeModel(RatingModel):
    """Ridge regression on the content, with `use_elapsed` also on the elapsed time."""

    def __init__(self, *, regularisation: float = 1.0, use_elapsed: bool = False) -> None:
        self.regularisation = regularisation
        self.use_elapsed = use_elapsed

    def _engine(self, columns: int) -> Ridge:
        del columns
        unit = MONTH if self.use_elapsed else None
        return Ridge(regularisation=self.regularisation, time_unit=unit)

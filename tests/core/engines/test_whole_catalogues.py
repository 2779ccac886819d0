"""Every engine predicts a whole catalogue in single precision, some songs at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from bandstand.core.engines import ridge
from bandstand.core.engines.least_squares import LeastSquares
from bandstand.core.engines.mcmc import engine as mcmc
from bandstand.core.engines.mcmc.engine import Mcmc
from bandstand.core.engines.random import NoModel
from bandstand.core.engines.ridge import Ridge
from bandstand.core.engines.variational import factor_prediction
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model import history as history_module
from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.factors import content_novelty, content_novelty_diversity
from bandstand.core.model.history import History, PlayTimes, SongFeatures, Songs, SongsAt
from bandstand.core.model.priors import radio_prior
from bandstand.types import Minutes

if TYPE_CHECKING:
    from bandstand.types import Features

COLUMNS: Final = 3
SONGS: Final = 50
ENGINES: Final[dict[str, Any]] = {
    "least squares": LeastSquares(),
    "ridge": Ridge(),
    "ridge with time": Ridge(time_unit=Minutes(60.0)),
    "mcmc": Mcmc(prior=radio_prior(COLUMNS)),
    "variational": Variational(model=content_novelty(COLUMNS)),
    "three factors": Variational(model=content_novelty_diversity(COLUMNS)),
    "no model": NoModel(),
}
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take seven songs at a time, so that fifty are several blocks."""
    for module in (history_module, ridge, mcmc, factor_prediction):
        monkeypatch.setattr(module, "SONGS_PER_BLOCK", 7)


class Counted(np.ndarray[Any, Any]):
    """Features that tell how many rows were taken at once at most."""

    most: int = 0

    def __getitem__(self, rows: Any) -> Any:
        found = np.asarray(super().__getitem__(rows))
        if found.ndim == 2:
            Counted.most = max(Counted.most, len(found))
        return found


def catalogue_songs(features: Features) -> Songs:
    listening = PlayTimes.nothing(len(features))
    for row, moment in ((3, 0.0), (40, 500.0), (11, 900.0)):
        listening = listening.after(row, Minutes(moment))
    return SongsAt(SongFeatures.of(features), listening, Minutes(1_000.0))


def drawn_features() -> Any:
    return np.random.default_rng(1).normal(size=(SONGS, COLUMNS)).astype(np.float32)


def fitted(engine: Any, ratings: int = 25) -> Any:
    rng = np.random.default_rng(2)
    history = History.of(
        features=rng.normal(size=(ratings, COLUMNS)),
        elapsed=rng.choice([10.0, 500.0, 43_200.0], ratings),
        ratings=rng.normal(size=ratings),
    )
    return engine.fit(history, rng=np.random.default_rng(3))


def answers(prediction: Any) -> list[Any]:
    rows = CandidateSet.everything(SONGS).where(lambda some: some % 3 > 0)
    return [
        prediction.mean(),
        prediction.standard_deviation(),
        prediction.quantile(0.9),
        prediction.sample(np.random.default_rng(4), 2),
        *prediction.parts().values(),
        prediction.best_by_quantile(0.9, 4, rows),
    ]


@every_engine
def test_single_precision_by_blocks_is_what_double_precision_as_a_whole_is(engine: Any) -> None:
    belief, songs = fitted(engine), catalogue_songs(drawn_features())
    whole = Songs.of(
        features=np.asarray(songs.features, dtype=np.float64),
        elapsed=songs.elapsed,
        diversity=songs.diversity,
    )
    together = zip(
        answers(engine.predict(belief, songs)), answers(engine.predict(belief, whole)), strict=True
    )
    for found, expected in together:
        if expected is None:
            assert found is None
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@every_engine
def test_no_engine_takes_a_whole_catalogue_at_once(engine: Any) -> None:
    songs = catalogue_songs(drawn_features())
    object.__setattr__(songs, "features", np.asarray(songs.features).view(Counted))
    prediction = engine.predict(fitted(engine), songs)
    Counted.most = 0
    answers(prediction)
    assert Counted.most <= 34  # all of those that are allowed, at the most


@pytest.mark.parametrize("name", ["least squares", "mcmc", "variational"])
def test_a_mean_asks_for_no_dense_times(name: str) -> None:
    engine = ENGINES[name]
    songs = catalogue_songs(drawn_features())
    prediction = engine.predict(fitted(engine), songs)
    prediction.mean()
    prediction.parts()
    prediction.best_by_quantile(0.9, 1, CandidateSet.everything(SONGS))
    assert "elapsed" not in songs.__dict__
    assert "diversity" not in songs.__dict__


def test_no_songs_have_no_content() -> None:
    nothing = Songs.of(features=np.zeros((0, 2)), elapsed=1.0)
    assert nothing.content(np.ones(2)).shape == (0,)

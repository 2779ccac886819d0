"""What every engine promises: sound answers to data that break careless code, plans, blocks."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Final

import numpy as np
import pytest

from bandstand.core.engines import ridge
from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.least_squares import LeastSquares
from bandstand.core.engines.mcmc import engine as mcmc
from bandstand.core.engines.mcmc.engine import Mcmc
from bandstand.core.engines.random import NoModel
from bandstand.core.engines.ridge import Ridge
from bandstand.core.engines.variational import engine as variational
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model import history as history_module
from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.factors import content_novelty
from bandstand.core.model.history import History, PlayTimes, SongFeatures, Songs, SongsAt
from bandstand.core.model.priors import (
    GammaRecovery,
    ListenerPrior,
    LogNormalRecovery,
    NoisePrior,
    PreferencePrior,
    RecoveryPrior,
    paper_prior,
    radio_prior,
)
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH, Minutes
from tests.fixtures import degenerate_cases as degenerate
from tests.fixtures.degenerate_cases import (
    CASES,
    COLUMNS,
    FEATURES,
    NO_SONGS,
    ONE_SONG,
    SONGS,
    check,
    strictly,
)
from tests.fixtures.factor_worlds import informed_model


def sampler(prior: ListenerPrior) -> Mcmc:
    return Mcmc(prior=prior, effective_draws=30, most_draws=40, warm_up=4)


SAMPLERS: Final[dict[str, Mcmc]] = {
    "MCMC, paper's prior": sampler(paper_prior(COLUMNS)),
    "MCMC, radio's prior": sampler(radio_prior(COLUMNS)),
}
VARIATIONAL: Final[dict[str, Variational]] = {
    "variational": Variational(model=content_novelty(COLUMNS)),
    "variational, prior means": Variational(model=informed_model(COLUMNS)),
}
RIDGE: Final[dict[str, Ridge]] = {
    "ridge": Ridge(),
    "ridge with time": Ridge(regularisation=0.1, time_unit=MONTH),
}
ONLINE: Final[dict[str, Engine[Any]]] = {
    "exact, paper's prior": Exact(prior=paper_prior(COLUMNS)),
    "exact, radio's prior": Exact(prior=radio_prior(COLUMNS)),
    "least squares": LeastSquares(),
    "least squares, paper's prior": LeastSquares(penalty=paper_prior(COLUMNS)),
    "least squares, radio's prior": LeastSquares(penalty=radio_prior(COLUMNS)),
    "nothing": NoModel(),
    **VARIATIONAL,
    **RIDGE,
}
ENGINES: Final[dict[str, Engine[Any]]] = {**ONLINE, **SAMPLERS}
# Here double precision cannot hold both the prior and the ratings, or all ratings: sound, but no
# more. Whether a search settles depends on how the machine rounds.
BEYOND_DOUBLE_PRECISION: Final = {
    "everything at its largest",
    "weights of all sizes",
    "ratings of all sizes",
}

every_case = pytest.mark.parametrize("case", CASES)
every_engine = pytest.mark.parametrize("name", ENGINES)


# A search from scratch for each answer takes its time where the data are far from the prior.
ANSWERS_ONLINE: Final[dict[type, int]] = {Exact: 5, Variational: 2}


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@cache
def fitted(name: str, case: str) -> Any:
    """Return an engine's belief after a case; several tests look at the same one."""
    with strictly():
        return ENGINES[name].fit(CASES[case], rng=rng())


def hurried(engine: Any) -> Any:
    """Return an engine for which being finite is all that matters; fits alone must converge."""
    return replace(engine, most_sweeps=60) if isinstance(engine, Variational) else engine


@every_engine
@every_case
def test_every_answer_is_finite_from_scratch(name: str, case: str) -> None:
    engine, history, belief = ENGINES[name], CASES[case], fitted(name, case)
    assert belief.history is history
    with strictly():
        for songs in (SONGS, ONE_SONG, NO_SONGS):
            check(engine, belief, songs)
        check(engine, engine.plan(belief, ONE_SONG))
        ordinary = history.append(features=FEATURES[0], elapsed=5.0, rating=3.0)
        for longer in (ordinary, history.extended(history.first(min(len(history), 1)))):
            check(engine, hurried(engine).update(belief, longer, rng=rng()))


@pytest.mark.parametrize("name", ONLINE)
@every_case
def test_every_answer_is_finite_online(name: str, case: str) -> None:
    engine, history = hurried(ONLINE[name]), CASES[case]
    with strictly():
        belief = engine.fit(History.empty(COLUMNS), rng=rng())
        for row in range(min(len(history), ANSWERS_ONLINE.get(type(engine), 12))):
            belief = engine.update(belief, history.first(row + 1), rng=rng())
            check(engine, belief)


@every_engine
def test_a_hundred_thousand_answers_are_taken(name: str) -> None:
    engine, history = ENGINES[name], degenerate.many_answers(100_000)
    with strictly():
        belief = engine.fit(history, rng=rng())
        check(engine, belief)
        longer = history.append(features=FEATURES[0], elapsed=9.0, rating=2.0)
        check(engine, engine.update(belief, longer, rng=rng()))
    summary = engine.summary(belief)
    if summary.recovery_time_mean is not None:
        assert summary.recovery_time_mean == pytest.approx(300, abs=3)
        assert summary.noise_sd == pytest.approx(0.3, rel=0.02)
    elif summary.noise_sd is not None:
        # A curve of straight pieces leaves some of the signal to the noise.
        assert 0.29 < summary.noise_sd < 0.35


# ── Priors at the ends of what can be written down ───────────────────────────────────────

RECOVERIES: Final[dict[str, RecoveryPrior]] = {
    "recovers at once": LogNormalRecovery(median=1e-300, log_standard_deviation=1.0),
    "never recovers": LogNormalRecovery(median=1e300, log_standard_deviation=1.0),
    "may recover at any time": GammaRecovery(shape=1e-2, rate=1e-2),
}


def extreme_prior(recovery: RecoveryPrior) -> ListenerPrior:
    return ListenerPrior(
        preference=PreferencePrior.isotropic(COLUMNS, 10.0),
        recovery=recovery,
        noise=NoisePrior(shape=2.0, rate=1.0),
    )


MADE_OF_A_PRIOR: Final[dict[str, Callable[[ListenerPrior], Engine[Any]]]] = {
    "exact": lambda prior: Exact(prior=prior),
    "MCMC": sampler,
    "least squares": lambda prior: LeastSquares(penalty=prior),
}
# The cases in which the answers say little or strange things about time.
TIMELESS: Final = (
    "no answers",
    "one answer",
    "just heard always",
    "never heard always",
    "heard a moment ago",
    "heard just now",
    "heard an age ago",
    "recovers at once",
    "never recovers",
    "everything at its largest",
)


@pytest.mark.parametrize("name", MADE_OF_A_PRIOR)
@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("case", TIMELESS)
def test_every_answer_is_finite_at_the_ends_of_time(name: str, recovery: str, case: str) -> None:
    engine, history = MADE_OF_A_PRIOR[name](extreme_prior(RECOVERIES[recovery])), CASES[case]
    with strictly():
        belief = engine.fit(history, rng=rng())
        check(engine, belief)
        longer = history.append(features=FEATURES[0], elapsed=60.0, rating=4.0)
        check(engine, engine.update(belief, longer, rng=rng()))


# ── Plans, and what has no spread ────────────────────────────────────────────────────────


@every_engine
def test_a_planned_song_moves_no_mean_and_makes_no_song_less_sure(name: str) -> None:
    engine = ENGINES[name]
    belief = engine.fit(degenerate.many_answers(30), rng=rng())
    planned = engine.plan(belief, ONE_SONG)
    before, after = (engine.predict(each, SONGS) for each in (belief, planned))
    mean = before.mean()
    if mean is not None:
        np.testing.assert_allclose(after.mean(), mean, rtol=1e-12)  # type: ignore[arg-type]
    for wide, narrow in (
        (before.standard_deviation(), after.standard_deviation()),
        (before.parts().get("width"), after.parts().get("width")),
    ):
        if wide is not None:
            assert narrow is not None
            assert (narrow <= wide * (1 + 1e-12)).all()
            assert narrow[1] < wide[1] or planned is belief


@pytest.mark.parametrize("name", ["nothing", "ridge", "least squares"])
def test_what_an_engine_does_not_know_is_absent(name: str) -> None:
    engine, belief = ENGINES[name], fitted(name, "no answers")
    prediction = engine.predict(belief, SONGS)
    assert (prediction.mean() is None) == (prediction.parts() == {}) == (name == "nothing")
    assert prediction.standard_deviation() is None
    assert prediction.quantile(0.9) is None
    assert prediction.sample(rng(), 2) is None
    assert len(prediction.best_by_quantile(0.5, 2, np.arange(3))) == 0
    assert engine.summary(belief) == Summary()


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "nothing"])
def test_songs_and_answers_with_other_features_are_refused(name: str) -> None:
    engine, belief = ENGINES[name], fitted(name, "one answer")
    with pytest.raises(InvalidInputError, match="songs must have 3 features, got 2"):
        engine.predict(belief, Songs.of(features=[[1.0, 2.0]], elapsed=1.0))
    if name not in {"least squares", *RIDGE}:
        with pytest.raises(InvalidInputError, match=r"must have 3 features.*, got 2"):
            engine.fit(History.empty(2), rng=rng())


# ── What one kind of engine promises beyond that ─────────────────────────────────────────


@pytest.mark.parametrize("name", VARIATIONAL)
@every_case
def test_a_variational_belief_is_a_product_of_proper_distributions(name: str, case: str) -> None:
    engine, belief = VARIATIONAL[name], fitted(name, case)
    with strictly():
        deviation = engine.predict(belief, SONGS).standard_deviation()
    assert belief.converged or case in BEYOND_DOUBLE_PRECISION
    assert (deviation[np.any(SONGS.features != 0, axis=1)] > 0).all()
    for root in belief.precision_roots:
        assert (np.diagonal(root) > 0).all()
        np.testing.assert_array_equal(root, np.tril(root))
    assert 0 < belief.rate < np.inf
    assert np.isfinite(belief.bounds).all()
    noise = engine.summary(belief).noise_sd
    assert noise is not None
    assert noise > 0


@pytest.mark.parametrize("columns", [COLUMNS, 60])
def test_the_bound_rises_with_more_features_than_answers(columns: int) -> None:
    rng = np.random.default_rng(3)
    history = History.of(
        features=rng.normal(size=(12, columns)), elapsed=100.0, ratings=rng.normal(size=12)
    )
    belief = Variational(model=content_novelty(columns)).fit(history)
    assert belief.converged
    assert (np.diff(belief.bounds) >= -1e-8 * (1 + np.abs(belief.bounds[1:]))).all()


# ── A whole catalogue in single precision, some songs at a time ──────────────────────────


class Counted(np.ndarray[Any, Any]):
    """Features that count how many rows were taken at once at most."""

    most: int = 0

    def __getitem__(self, rows: Any) -> Any:
        found = np.asarray(super().__getitem__(rows))
        if found.ndim == 2:
            Counted.most = max(Counted.most, len(found))
        return found


def catalogue() -> Songs:
    """Return fifty songs, three of which have been heard."""
    features = np.random.default_rng(1).normal(size=(50, COLUMNS)).astype(np.float32)
    play_times = PlayTimes.nothing(50)
    for row, moment in ((3, 0.0), (40, 500.0), (11, 900.0)):
        play_times = play_times.after(row, Minutes(moment))
    return SongsAt(SongFeatures.of(features), play_times, Minutes(1_000.0))


def answers(prediction: Any) -> list[Any]:
    rows = CandidateSet.everything(50).where(lambda some: some % 3 > 0)
    return [
        prediction.mean(),
        prediction.standard_deviation(),
        prediction.quantile(0.9),
        prediction.sample(np.random.default_rng(4), 2),
        *prediction.parts().values(),
        prediction.best_by_quantile(0.9, 4, rows),
    ]


@pytest.mark.parametrize("name", [name for name in ENGINES if "exact" not in name])
def test_single_precision_by_blocks_is_what_double_precision_as_a_whole_is(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (history_module, ridge, mcmc, variational):
        monkeypatch.setattr(module, "SONGS_PER_BLOCK", 7)
    engine, songs = ENGINES[name], catalogue()
    belief = engine.fit(degenerate.many_answers(25), rng=rng())
    whole = Songs.of(features=np.asarray(songs.features, dtype=np.float64), elapsed=songs.elapsed)
    object.__setattr__(songs, "features", np.asarray(songs.features).view(Counted))
    Counted.most = 0
    found = answers(engine.predict(belief, songs))
    assert Counted.most <= 34  # all of those that are allowed, at the most
    for one, other in zip(found, answers(engine.predict(belief, whole)), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["least squares", *SAMPLERS, "variational"])
def test_a_mean_asks_for_no_dense_times(name: str) -> None:
    songs = catalogue()
    prediction = ENGINES[name].predict(fitted(name, "no noise"), songs)
    prediction.mean()
    prediction.parts()
    prediction.best_by_quantile(0.9, 1, CandidateSet.everything(50))
    assert "elapsed" not in songs.__dict__


# ── The checks themselves ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "wrong", [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.1], [0.2, 1.0]], [[np.nan, 0.0], [0.0, 1.0]]]
)
def test_what_is_no_covariance_is_noticed(wrong: list[list[float]]) -> None:
    with pytest.raises(AssertionError):
        degenerate.check_covariance(np.array(wrong))


@pytest.mark.parametrize(
    "change", [{"mean": np.nan}, {"mean": np.inf}, {"standard_deviation": -1e-300}]
)
def test_a_wrong_answer_is_noticed(change: dict[str, float], monkeypatch: Any) -> None:
    engine = Exact(prior=paper_prior(COLUMNS))
    prediction = engine.predict(engine.fit(CASES["no noise"]), SONGS)
    degenerate.check_prediction(prediction, len(SONGS))
    for name, value in change.items():
        monkeypatch.setattr(
            type(prediction), name, lambda _, value=value: np.full(len(SONGS), value)
        )
    with pytest.raises(AssertionError):
        degenerate.check_prediction(prediction, len(SONGS))

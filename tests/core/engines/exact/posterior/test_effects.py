from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.engines.engine import array_bytes
from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.exact.posterior.covariance_stack import Same
from bandstand.core.engines.exact.posterior.effects import Level, Statistics
from bandstand.core.engines.exact.posterior.effects_solver import EffectSolver
from bandstand.core.engines.exact.posterior.song_effects import rows_of
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import EffectPrior
from bandstand.core.model.song_groups import SongGroups
from tests.fixtures.effect_worlds import DenseProcess, World, effect_prior

if TYPE_CHECKING:
    from bandstand.core.engines.exact.engine import ExactBelief
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import AnyArray

variances = st.sampled_from([0.0, 1e-6, 0.3, 1.0, 20.0])


class Case(NamedTuple):
    world: World
    prior: ListenerPrior
    history: History
    rows: AnyArray

    @classmethod
    def drawn(
        cls, seed: int, *, artist: float, album: float, song: float, answers: int = 12
    ) -> Case:
        """One artist of all songs, a song for every artist, or something in between."""
        rng = np.random.default_rng(seed)
        songs, columns = int(rng.integers(1, 10)), int(rng.integers(1, 4))
        artists = int(rng.choice([1, 3, 8]))
        world = World.drawn(rng, songs=songs, albums=8, artists=artists, columns=columns)
        rows = rng.integers(songs, size=answers)
        share = rng.choice([0.0, 0.5, 0.9, 1.0])
        prior = effect_prior(rng, columns, artist=artist, album=album, song=song)
        return cls(world, prior, world.history(rng, rows, share_never=share), rows)

    @property
    def songs(self) -> Songs:
        return Songs.of(features=self.world.features, elapsed=np.inf, groups=self.world.groups)

    def dense(self, s: float) -> DenseProcess:
        return DenseProcess(self.world, self.prior, self.history, self.rows, s)


def off_at_nodes(case: Case, belief: ExactBelief) -> float:
    """Return how far rate, means and variances are from the dense process at three nodes."""
    features, every = case.world.features, np.arange(len(case.world.features))
    contents = belief.contents_of(features, case.world.groups)
    variance = belief.variances_of(features, case.world.groups)
    worst = 0.0
    for node in (0, len(belief.grid) // 2, len(belief.grid) - 1):
        dense = case.dense(belief.recovery_times[node])
        mean, expected = dense.mean(every), np.diag(dense.covariance(every))
        worst = max(
            worst,
            abs(belief.rates[node] / dense.rate - 1),
            float(np.abs(contents[:, node] - mean).max()) / (1 + float(np.abs(mean).max())),
            float(np.abs(variance[:, node] / expected - 1).max()),
        )
    return worst


def off_in_evidence(case: Case) -> float:
    """Return how far log p(D | s) is from the dense process at three recovery times."""
    times = np.array([20.0, 300.0, 5_000.0])
    dense = [case.dense(s) for s in times]
    found = EffectSolver(case.prior, case.history).at(times).log_evidence(dense[0].shape)
    constant = 0.5 * np.linalg.slogdet(case.prior.preference.precision)[1]
    constant += 0.5 * np.log(case.history.weights).sum()
    expected = np.array([each.log_evidence for each in dense])
    return float(np.abs(found + constant - expected).max())


# ── Against a dense Gaussian process ─────────────────────────────────────────────────────


@given(
    seed=st.integers(0, 10_000),
    answers=st.integers(0, 20),
    artist=variances,
    album=variances,
    song=variances,
)
def test_it_is_the_dense_gaussian_process(
    seed: int, answers: int, artist: float, album: float, song: float
) -> None:
    case = Case.drawn(seed, artist=artist, album=album, song=max(song, 1e-9), answers=answers)
    assert off_in_evidence(case) < 1e-10
    assert off_at_nodes(case, Exact(prior=case.prior).fit(case.history)) < 1e-10


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), artist=variances, album=variances)
def test_one_answer_at_a_time_is_the_dense_gaussian_process(
    seed: int, artist: float, album: float
) -> None:
    case = Case.drawn(seed, artist=artist, album=album, song=0.5, answers=10)
    engine = Exact(prior=case.prior)
    belief = engine.fit(case.history.first(2))
    for count in range(3, 11):
        belief = engine.update(belief, case.history.first(count))
    assert off_at_nodes(case, belief) < 1e-9


def _unshrunk(total: Any, variance: float) -> Level:
    left = 1 / (1 + variance * total)
    return Level(total, total, left, 1 - left)


def _variance_as_precision(total: Any, variance: float) -> Level:
    left = 1 / (1 + total / max(variance, 1e-9))
    return Level(total, total * left, left, 1 - left)


def _swapped(statistics: Statistics) -> Statistics:
    prior = statistics.prior
    return replace(statistics, prior=replace(prior, artist=prior.song, song=prior.artist))


_plain_variance = Statistics.variance
PLANTED: dict[str, tuple[type, str, Any]] = {
    "an album weighs as much as all of its answers": (Level, "of", staticmethod(_unshrunk)),
    "a variance taken for a precision": (Level, "of", staticmethod(_variance_as_precision)),
    "effects leave the evidence alone": (Statistics, "log_determinant", 0.0),
    "nothing is unknown of the effects": (Statistics, "variance", lambda *_: 0.0),
    "song and artist swapped": (
        Statistics,
        "variance",
        lambda self, places: _plain_variance(_swapped(self), places),
    ),
    "albums pull as if each were an artist": (
        Statistics,
        "pull",
        lambda self, ratings: self.song.weight * ratings,
    ),
    "residuals are not compared by level": (
        Statistics,
        "squares",
        lambda self, rest: (self.song.weight * rest**2).sum(axis=0),
    ),
}


@pytest.mark.parametrize("error", PLANTED)
def test_planted_errors_are_caught(error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*PLANTED[error])
    case = Case.drawn(5, artist=0.5, album=1.0, song=2.0)
    belief = Exact(prior=case.prior).fit(case.history)
    assert max(off_in_evidence(case), off_at_nodes(case, belief)) > 1e-3


# ── Many answers, one after the other ────────────────────────────────────────────────────


def grown(belief: ExactBelief, history: History, engine: Exact) -> ExactBelief:
    for count in range(len(belief.history) + 1, len(history) + 1):
        belief = engine.update(belief, history.first(count))
    return belief


def close(found: AnyArray | None, expected: AnyArray | None, tolerance: float) -> bool:
    assert found is not None
    assert expected is not None
    return bool(np.abs(found - expected).max() <= tolerance * np.abs(expected).max())


def large_case(share_never: float) -> Case:
    rng = np.random.default_rng(3)
    world = World.drawn(rng, songs=1_500, albums=600, artists=300, columns=6)
    rows = rng.integers(1_500, size=2_040)
    prior = effect_prior(rng, 6, artist=0.2, album=0.1, song=0.3)
    return Case(world, prior, world.history(rng, rows, share_never=share_never), rows)


def test_online_is_all_at_once_after_2000_answers_of_300_artists() -> None:
    case = large_case(share_never=0.6)
    engine = Exact(prior=case.prior)
    online = grown(engine.fit(case.history.first(900)), case.history, engine)
    assert online.updates >= 40  # or it would be the same by construction
    found = engine.predict(online, case.songs)
    expected = engine.predict(engine.fit(case.history), case.songs)
    assert close(found.mean(), expected.mean(), 1e-8)
    assert close(found.standard_deviation(), expected.standard_deviation(), 1e-8)
    assert close(found.quantile(0.6), expected.quantile(0.6), 1e-8)


def test_an_answer_taken_back_leaves_no_trace() -> None:
    case = Case.drawn(11, artist=0.5, album=1.0, song=2.0, answers=20)
    engine = Exact(prior=case.prior)
    without = engine.fit(case.history.without(7))
    kept = np.delete(case.rows, 7)
    assert off_at_nodes(case._replace(history=case.history.without(7), rows=kept), without) < 1e-10


@settings(max_examples=8)
@given(seed=st.integers(0, 1_000), count=st.sampled_from([10, 50, 200]))
def test_without_repeats_nothing_is_learned_of_the_recovery_time(seed: int, count: int) -> None:
    """Not one number of the evidence depends on it, whatever is learned of the preferences."""
    rng = np.random.default_rng(seed)
    world = World.drawn(rng, songs=count, albums=count // 2, artists=count // 5, columns=3)
    history = world.history(rng, np.arange(count), share_never=1.0)
    engine = Exact(prior=effect_prior(rng, 3, artist=0.5, album=0.5, song=0.5))
    start = engine.fit(History.empty(3))
    for belief in (engine.fit(history), grown(engine.fit(history.first(5)), history, engine)):
        found, prior = engine.summary(belief), engine.summary(start)
        assert found.recovery_time_mean == pytest.approx(prior.recovery_time_mean, rel=1e-9)
        assert found.recovery_time_sd == pytest.approx(prior.recovery_time_sd, rel=1e-9)
        assert np.ptp(belief.log_determinants) == 0
        assert isinstance(belief.learned.base, Same)
        assert array_bytes(belief) < 60_000


def test_without_effects_groups_do_not_matter() -> None:
    case = Case.drawn(2, artist=0.0, album=0.0, song=0.0)
    alone = History.of(
        features=case.history.features,
        elapsed=case.history.elapsed,
        ratings=case.history.ratings,
        weights=case.history.weights,
    )
    engine = Exact(prior=case.prior)
    found = engine.predict(engine.fit(case.history), case.songs)
    expected = engine.predict(engine.fit(alone), case.songs)
    assert (found.quantile(0.7) == expected.quantile(0.7)).all()  # type: ignore[union-attr]
    assert set(found.parts()) == {"content", "novelty"}


def test_songs_without_groups_share_only_their_features() -> None:
    """Each has the prior variance of its own effects, and no answer tells of another's."""
    rng = np.random.default_rng(0)
    prior = effect_prior(rng, 2, artist=0.5, album=0.7, song=0.9)
    engine = Exact(prior=prior)
    features = rng.normal(size=(6, 2))
    history = History.of(features=features, elapsed=np.inf, ratings=rng.normal(size=6))
    belief = engine.fit(history)
    songs = SongGroups.unknown(6)
    rows, variance = rows_of(belief, features, songs)
    assert (rows[:, 0] == features).all()
    assert variance == pytest.approx(np.full((6, 1), 0.5 + 0.7 + 0.9))
    assert (belief.contents_of(features, songs) == features @ belief.means.T).all()


# ── What is made of it ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("planned", [0, 3])
def test_joint_draws_have_the_dense_mean_and_covariance(planned: int) -> None:
    """Of songs with and without answers, whose artists and albums overlap."""
    case = Case.drawn(1_004, artist=0.5, album=0.3, song=0.4)
    engine = Exact(prior=case.prior)
    belief = engine.fit(case.history)
    for row in range(planned):
        belief = engine.plan(belief, case.songs.take([row]))
    prediction = engine.predict(belief, case.songs)
    draws = prediction.sample(np.random.default_rng(0), 4_000)
    assert draws is not None
    spread = prediction.standard_deviation()
    assert draws.mean(axis=0) == pytest.approx(prediction.mean(), abs=0.06 * float(spread.max()))  # type: ignore[union-attr]
    assert draws.std(axis=0) == pytest.approx(spread, rel=0.06)
    shares = belief.weights * belief.rates / (belief.shape - 1)
    every = np.arange(len(case.songs))
    if not planned:
        covariance = sum(
            share * case.dense(s).covariance(every)
            for share, s in zip(shares, belief.recovery_times, strict=True)
        )
        centres = np.stack([case.dense(s).mean(every) for s in belief.recovery_times])
        away = centres - belief.weights @ centres
        covariance = covariance + (away.T * belief.weights) @ away
        found = np.cov(draws.T)
        assert np.abs(found - covariance).max() < 0.1 * np.abs(covariance).max()


def test_parts_add_up_to_what_is_expected() -> None:
    case = Case.drawn(17, artist=0.5, album=1.0, song=2.0)
    engine = Exact(prior=case.prior)
    prediction = engine.predict(engine.fit(case.history), case.songs)
    parts = prediction.parts()
    total = parts["content"] + parts["artist"] + parts["album"] + parts["song"]
    assert total == pytest.approx(prediction.mean(), rel=1e-12)  # never heard: novelty is 1
    unknown = Songs.of(features=case.world.features, elapsed=np.inf)
    assert not any(engine.predict(engine.fit(case.history), unknown).parts()["artist"])


@settings(max_examples=25)
@given(seed=st.integers(0, 1_000), count=st.integers(1, 4))
def test_planned_plays_only_take_variance_away(seed: int, count: int) -> None:
    """As much as the same plays would with answers; what is expected stays."""
    case = Case.drawn(seed, artist=0.5, album=1.0, song=2.0)
    engine = Exact(prior=case.prior)
    start = engine.fit(case.history)
    rng = np.random.default_rng(seed)
    rows = rng.integers(len(case.songs), size=count)
    again = case.world.history(rng, rows, weighted=False)
    planned = start
    for song in range(count):
        planned = engine.plan(planned, again.songs.take([song]))
    both = History.extended(case.history, again)
    after = case._replace(history=both, rows=np.append(case.rows, rows))
    features, groups = case.world.features, case.world.groups
    assert (planned.contents_of(features, groups) == start.contents_of(features, groups)).all()
    variance, every = planned.variances_of(features, groups), np.arange(len(features))
    for node in (0, len(start.grid) // 2, len(start.grid) - 1):
        dense = after.dense(start.recovery_times[node])
        assert variance[:, node] == pytest.approx(np.diag(dense.covariance(every)), rel=1e-9)


def test_effects_have_variances() -> None:
    with pytest.raises(ValueError, match=r"variance of album effects must be finite .*, got -1"):
        EffectPrior(album=-1.0)

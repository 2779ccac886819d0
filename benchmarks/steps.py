"""Steps and playlists of simulated listeners: a rating in, the best of all songs out.

There are six kinds of listening: two worlds (`stars`, `paper`) and three kinds of picks.

    own      songs were heard again and again; now the recommender chooses
    random   songs were heard again and again, and still are
    new      every song was heard once; now the recommender chooses

Steps and references take turns, and every ratio is to the last run of the reference before the
step. Times are processor time. Work behind an answer is measured apart from the step.

    stream   the sum of the matrix: the least work that reads all of it once
    LinUCB   A += xx'    b += r x    score = x'A⁻¹b + √(x'A⁻¹x), one product with all songs
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from bandstand.core.model.history import Songs
from bandstand.core.recommender import Answer, Recommender
from bandstand.types import MONTH
from bandstand_lab.speed.timing import timed, undisturbed
from bandstand_lab.speed.training import PAPER, STARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bandstand.core.model.history import History
    from bandstand.types import AnyArray, Indices, Vector
    from bandstand_lab.speed.training import SpeedWorld
    from benchmarks.program import OnRun

WORLDS: Final = (STARS, PAPER)
PICKS: Final = ("own", "random", "new")
# LinUCB in the precision in which it is mostly written, and in that of the catalogue.
DOUBLE: Final[Mapping[str, Any]] = {"linucb": np.float64}
SINGLE: Final[Mapping[str, Any]] = {"linucb_float32": np.float32}
_STREAM: Final = "stream"
_STREAM_EVERY: Final = 4
_SLOW_STREAMS: Final = 5.0
# A listener takes at most as many steps as ratings before, so that a newcomer remains one.
_FEWEST_STEPS: Final = 10
_PLAYLISTS: Final = 3
_STEPS_BEFORE_PLAYLIST: Final = 4
# Songs drawn at a time, so that no second catalogue stands beside the first.
_BLOCK_ROWS: Final = 65_536
# Of the listener's past: songs per rating, and mean minutes between two ratings.
_POOL_PER_RATING: Final = 0.6
_MINUTES_APART: Final = 10.0
_SONG_MINUTES: Final = 4.0
# Brute force looks at this many songs with the highest means, and at as many random ones.
_BRUTE_FORCE_ROWS: Final = 4_096


def drawn_features(
    world: SpeedWorld, songs: int, columns: int, rng: np.random.Generator, *, out: Any = None
) -> AnyArray:
    """Return the features of a world's songs in single precision; `out` is filled if given."""
    table: AnyArray = np.empty((songs, columns), dtype=np.float32) if out is None else out
    for start in range(0, songs, _BLOCK_ROWS):
        block = table[start : start + _BLOCK_ROWS]
        block[:] = rng.standard_normal(block.shape, dtype=np.float32)
        if world.intercept:
            block[:, -1] = 1.0
    return table


def stream(features: AnyArray) -> float:
    """Return the sum of a matrix, which reads all of it once."""
    return float(features.sum(dtype=features.dtype))


class LinUcb:
    """LinUCB in plain NumPy, in the precision of its catalogue."""

    def __init__(self, catalogue: AnyArray, history: History) -> None:
        self.catalogue = catalogue
        self.precision = np.eye(catalogue.shape[1]) + history.features.T @ history.features
        self.evidence = history.features.T @ history.ratings
        self.covariance = np.linalg.inv(self.precision)

    def learn(self, features: Vector, rating: float) -> None:
        """Learn one rating."""
        self.precision += np.outer(features, features)
        self.evidence += rating * features
        self.covariance = np.linalg.inv(self.precision)

    def choose(self) -> int:
        """Return the row of the song with the largest score."""
        # Cast down first: NumPy would otherwise bring the whole catalogue to double precision.
        kind = self.catalogue.dtype
        covariance = self.covariance.astype(kind, copy=False)
        mean = self.catalogue @ (self.covariance @ self.evidence).astype(kind, copy=False)
        width = np.sqrt(((self.catalogue @ covariance) * self.catalogue).sum(axis=1))
        return int(np.argmax(mean + width))


class BackgroundRecommender(Recommender):
    """A recommender that also does the work which the radio does behind an answer."""

    def work_behind_answer(self) -> None:
        """Prepare the belief for the next rating."""
        self.model = self.model.rebuilt()


class Session:
    """A listener with a past, and the recommender that has learned from it.

    The past are ratings at random times: of songs that were heard `again` and again, or each of
    them once.
    """

    def __init__(
        self, world: SpeedWorld, features: AnyArray, *, ratings: int, seed: int, again: bool = True
    ) -> None:
        columns = features.shape[1]
        self.features = features
        self.rng = np.random.default_rng([seed, ratings, len(features)])
        self.listener = world.listener_for(columns, self.rng)
        self.minute = 0.0
        self._heard_at: dict[int, float] = {}
        self._pool = self._drawn(max(1, round(_POOL_PER_RATING * ratings)))
        rows = self.rng.choice(self._pool, ratings) if again else self._drawn(ratings)
        self.recommender = BackgroundRecommender(
            features=features, raw=True, prior=world.prior_for(columns)
        )
        past = [self._rated(int(row), self.rng.exponential(_MINUTES_APART)) for row in rows]
        self.recommender.replay(past)

    def rate(self, row: int) -> Answer:
        """Return the listener's rating of a song that has just ended."""
        return self._rated(row, _SONG_MINUTES)

    def learn(self, answer: Answer) -> None:
        """Learn one rating."""
        self.recommender.update(answer.song, answer.rating, answer.time)

    def choose(self) -> int:
        """Return the row of the song to play now."""
        (song,) = self.recommender.recommend(1, at=60 * self.minute)
        return cast("int", song)  # ids are rows

    def playlist(self, count: int) -> list[int]:
        """Return the rows of the next songs, each chosen as if those before had been heard."""
        planned = self.recommender.playlist(count, minutes=_SONG_MINUTES, at=60 * self.minute)
        return [cast("int", one.song) for one in planned]

    def random_row(self) -> int:
        """Return one of the songs that the listener hears again and again."""
        return int(self.rng.choice(self._pool))

    def is_best(self, choice: int) -> bool:
        """Return whether brute force finds no better song than `choice`.

        In a large catalogue it looks at the songs with the highest means and at random ones.
        """
        radio, now = self.recommender, 60 * self.minute
        rows = np.append(self._brute_force_rows(), choice)
        prediction = radio.predict(only=rows.tolist(), at=now)
        scores = radio.model.policy.scores(prediction, step=radio.step, rng=radio.randomness())
        return bool(np.isclose(scores[-1], scores.max(), rtol=1e-9, atol=0))

    def _brute_force_rows(self) -> Indices:
        count = len(self.features)
        if count <= 2 * _BRUTE_FORCE_ROWS:
            return np.arange(count)
        mean = self.recommender.predict(at=60 * self.minute).mean()
        expected = np.zeros(count) if mean is None else mean
        best = np.argpartition(expected, -_BRUTE_FORCE_ROWS)[-_BRUTE_FORCE_ROWS:]
        return np.concatenate([best, self.rng.choice(count, _BRUTE_FORCE_ROWS, replace=False)])

    def _drawn(self, count: int) -> Indices:
        """Return different songs, or all of them where there are fewer."""
        songs = len(self.features)
        return self.rng.choice(songs, min(songs, count), replace=False)

    def _rated(self, row: int, minutes: float) -> Answer:
        self.minute += minutes
        elapsed = min(self.minute - self._heard_at.get(row, -np.inf), MONTH)
        song = Songs.of(features=self.features[row : row + 1], elapsed=[elapsed])
        self._heard_at[row] = self.minute
        rating = float(self.listener.rate(song, self.rng)[0])
        return Answer(song=row, rating=rating, time=60 * self.minute)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """Sizes of a measurement of steps."""

    songs: int
    features: int
    seed: int
    ratings: tuple[int, ...]
    steps: int
    linucb: Mapping[str, Any] = field(default_factory=dict)  # dtype by name
    linucb_every: int = 4
    checks: int = 2  # choices of each row that are compared with brute force

    def catalogue(self, world: SpeedWorld) -> AnyArray:
        """Return the features of all songs."""
        rng = np.random.default_rng([self.seed, self.songs])
        return drawn_features(world, self.songs, self.features, rng)


class _Kind(NamedTuple):
    """A kind of listening, with a number of ratings and a catalogue."""

    world: SpeedWorld
    picks: str
    ratings: int
    features: AnyArray

    def names(self) -> dict[str, Any]:
        """Return the first cells of its row."""
        songs = len(self.features)
        return {
            "world": self.world.name,
            "picks": self.picks,
            "songs": songs,
            "ratings": self.ratings,
        }


class _Step(NamedTuple):
    """Seconds of one step, and of the references beside it."""

    seconds: float
    behind: float  # the answer: background work
    references: Mapping[str, float]


class StepRun:
    """A session that goes on step by step, with references beside it."""

    def __init__(self, plan: StepPlan, kind: _Kind, seed: int) -> None:
        again = kind.picks != "new"
        session = Session(kind.world, kind.features, ratings=kind.ratings, seed=seed, again=again)
        self.session, self.picks, self.plan = session, kind.picks, plan
        self.choice = session.choose()
        session.recommender.work_behind_answer()
        history = session.recommender.history
        self._linucb = {
            name: LinUcb(session.features.astype(kind, copy=False), history)
            for name, kind in plan.linucb.items()
        }
        self._references: dict[str, float] = {}
        self.steps: list[_Step] = []
        self.right: list[bool] = []  # of the choices that were compared with brute force

    def step(self, *, check: bool = False) -> _Step:
        """Measure one step; `check` compares its choice with brute force."""
        session = self.session
        answer = session.rate(session.random_row() if self.picks == "random" else self.choice)
        self._measure_references(answer)
        learn = timed(partial(session.learn, answer)).seconds
        chosen = timed(session.choose)
        self.choice = int(chosen.result)
        if check:
            self.right.append(session.is_best(self.choice))
        behind = timed(session.recommender.work_behind_answer).seconds
        step = _Step(learn + chosen.seconds, behind, dict(self._references))
        self.steps.append(step)
        return step

    def _measure_references(self, answer: Answer) -> None:
        """Run the references that are due; ratings that LinUCB skips do not change its time."""
        number = len(self.steps)
        if number % _STREAM_EVERY == 0:
            self._references[_STREAM] = timed(partial(stream, self.session.features)).seconds
        if number % self.plan.linucb_every == 0:
            features = np.asarray(self.session.features[cast("int", answer.song)], dtype=np.float64)
            for name, linucb in self._linucb.items():
                learn = timed(partial(linucb.learn, features, answer.rating)).seconds
                self._references[name] = learn + timed(linucb.choose).seconds


def _kinds(plan: StepPlan, on_run: OnRun) -> Iterator[_Kind]:
    """Yield each kind of listening, for every number of ratings."""
    for world in WORLDS:
        features = plan.catalogue(world)
        for picks, ratings in product(PICKS, plan.ratings):
            on_run(f"{plan.songs:,} songs, {ratings:,} ratings, {world.name}, {picks}")
            yield _Kind(world, picks, ratings, features)


def measure_steps(plan: StepPlan, on_run: OnRun) -> list[dict[str, Any]]:
    """Return one row for each kind of listening and number of ratings."""
    return [{**kind.names(), **_steps(plan, kind)} for kind in _kinds(plan, on_run)]


@undisturbed()
def _steps(plan: StepPlan, kind: _Kind) -> dict[str, Any]:
    steps: list[_Step] = []
    right: list[bool] = []
    while len(steps) < plan.steps:
        # Other listeners, until there are enough steps of listeners with about as many ratings.
        run = StepRun(plan, kind, plan.seed + len(steps))
        for _ in range(min(plan.steps - len(steps), max(kind.ratings, _FEWEST_STEPS))):
            check = plan.checks > 0 and (len(steps) + 1) % (plan.steps // plan.checks) == 0
            steps.append(run.step(check=check))
        right += run.right
    return {**_row(steps), "checked": len(right), "right": sum(right)}


def _row(steps: Sequence[_Step]) -> dict[str, Any]:
    """Return times in milliseconds, and as multiples of the references."""
    seconds, background = (
        [getattr(step, name) for step in steps] for name in ("seconds", "behind")
    )
    references = {name: [step.references[name] for step in steps] for name in steps[0].references}
    ratios = {name: np.divide(seconds, times) for name, times in references.items()}
    streams, behind = ratios.pop(_STREAM), np.divide(background, references[_STREAM])
    return {
        "steps": len(steps),
        "median_ms": 1_000 * float(np.median(seconds)),
        "slowest_ms": 1_000 * max(seconds),
        "stream_ms": 1_000 * float(np.median(references[_STREAM])),
        "median_streams": float(np.median(streams)),
        "p99_streams": float(np.quantile(streams, 0.99)),
        "slowest_streams": float(streams.max()),
        "above_5_streams": int((streams > _SLOW_STREAMS).sum()),
        "behind_streams": float(behind.mean()),
        "slowest_behind": float(behind.max()),
        **{f"per_{name}": float(np.median(times)) for name, times in ratios.items()},
    }


def worst(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """Return the largest value of a column; None without rows."""
    return max((row[name] for row in rows), default=None)


def wrong_choices(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Return how many checked choices were not the best; None if none was checked."""
    checked = sum(row["checked"] for row in rows)
    return checked - sum(row["right"] for row in rows) if checked else None


def measure_playlists(plan: StepPlan, length: int, on_run: OnRun) -> dict[str, Any]:
    """Return playlists of each kind of listening beside steps and the stream."""
    rows = [
        {**kind.names(), **_playlists(StepRun(plan, kind, plan.seed), length)}
        for kind in _kinds(plan, on_run)
    ]
    return {"rows": rows, "figures": {"playlist": max(row["median_streams"] for row in rows)}}


@undisturbed()
def _playlists(run: StepRun, length: int) -> dict[str, Any]:
    seconds, different = [], []
    for _ in range(_PLAYLISTS):
        for _ in range(_STEPS_BEFORE_PLAYLIST):
            run.step()
        made = timed(partial(run.session.playlist, length))
        seconds.append(made.seconds)
        different.append(len(set(made.result)))
    stream_seconds = float(np.median([step.references[_STREAM] for step in run.steps]))
    median = float(np.median(seconds))
    return {
        "length": length,
        "playlists": len(seconds),
        "median_ms": 1_000 * median,
        "slowest_ms": 1_000 * max(seconds),
        "stream_ms": 1_000 * stream_seconds,
        "median_streams": median / stream_seconds,
        "slowest_streams": max(seconds) / stream_seconds,
        "median_steps": median / float(np.median([step.seconds for step in run.steps])),
        "fewest_different_songs": min(different),
    }

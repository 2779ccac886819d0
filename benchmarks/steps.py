"""Steps and playlists of simulated listeners: a rating in, the best of all songs out.

There are six kinds of listening: two worlds (`stars`, `paper`) and three kinds of picks.

    own      songs were heard again and again; now the recommender chooses
    random   songs were heard again and again, and still are
    new      every song was heard once; now the recommender chooses

Steps and references take turns, and every ratio is to the last run of the reference before the
step. Times are processor time. Work behind an answer is measured apart from the step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from bandstand_lab.speed.timing import timed, undisturbed
from bandstand_lab.speed.world import PAPER, STARS
from benchmarks.session import LinUcb, Session, drawn_features, stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bandstand.algorithms.recommender import Answer
    from bandstand.arrays import AnyArray
    from bandstand_lab.speed.world import World
    from benchmarks.program import OnRun

WORLDS: Final = (STARS, PAPER)
PICKS: Final = ("own", "random", "new")
# LinUCB in the precision in which it is mostly written, and in that of the catalogue.
DOUBLE: Final[Mapping[str, Any]] = {"linucb": np.float64}
SINGLE: Final[Mapping[str, Any]] = {"linucb_float32": np.float32}
_STREAM: Final = "stream"
_STREAM_EVERY: Final = 4
_SLOW_STREAMS: Final = 5.0
_KNOWN_RATINGS: Final = 500  # from here on a listener is known
# A listener takes at most as many steps as ratings before, so that a newcomer remains one.
_FEWEST_STEPS: Final = 10
_PLAYLISTS: Final = 3
_STEPS_BEFORE_PLAYLIST: Final = 4


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
    worlds: tuple[World, ...] = WORLDS
    picks: tuple[str, ...] = PICKS

    def catalogue(self, world: World) -> AnyArray:
        """Return the features of all songs."""
        rng = np.random.default_rng([self.seed, self.songs])
        return drawn_features(world, self.songs, self.features, rng)


class _Step(NamedTuple):
    """Seconds of one step, and of the references beside it."""

    learn: float
    choose: float
    background: float
    references: Mapping[str, float]

    @property
    def seconds(self) -> float:
        return self.learn + self.choose


class StepRun:
    """A session that goes on step by step, with references beside it."""

    def __init__(self, session: Session, picks: str, plan: StepPlan) -> None:
        self.session, self.picks, self.plan = session, picks, plan
        first = timed(session.choose)
        self.first_seconds, self.choice = first.seconds, int(first.result)
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
        background = timed(session.recommender.work_behind_answer).seconds
        step = _Step(learn, chosen.seconds, background, dict(self._references))
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


def measure_steps(plan: StepPlan, on_run: OnRun) -> list[dict[str, Any]]:
    """Return one row for each kind of listening and number of ratings."""
    rows = []
    for world in plan.worlds:
        features = plan.catalogue(world)
        for picks, ratings in product(plan.picks, plan.ratings):
            on_run(f"{plan.songs:,} songs, {ratings:,} ratings, {world.name}, {picks}")
            rows.append(_measured(plan, world, features, picks, ratings))
    return rows


@undisturbed()
def _measured(
    plan: StepPlan, world: World, features: AnyArray, picks: str, ratings: int
) -> dict[str, Any]:
    steps: list[_Step] = []
    right: list[bool] = []
    while len(steps) < plan.steps:
        # Other listeners, until there are enough steps of listeners with about as many ratings.
        seed = plan.seed + len(steps)
        session = Session(world, features, ratings=ratings, seed=seed, again=picks != "new")
        run = StepRun(session, picks, plan)
        for _ in range(min(plan.steps - len(steps), max(ratings, _FEWEST_STEPS))):
            check = plan.checks > 0 and (len(steps) + 1) % (plan.steps // plan.checks) == 0
            steps.append(run.step(check=check))
        right += run.right
    kind = {"world": world.name, "picks": picks, "songs": plan.songs, "ratings": ratings}
    return {**kind, **_row(steps), "checked": len(right), "right": sum(right)}


def _row(steps: Sequence[_Step]) -> dict[str, Any]:
    """Return times in milliseconds, and as multiples of the references."""
    seconds = [step.seconds for step in steps]
    streams = [step.seconds / step.references[_STREAM] for step in steps]
    background = [step.background / step.references[_STREAM] for step in steps]
    linucb = [name for name in steps[0].references if name != _STREAM]
    return {
        "steps": len(steps),
        "learn_ms": 1_000 * float(np.median([step.learn for step in steps])),
        "median_ms": 1_000 * float(np.median(seconds)),
        "slowest_ms": 1_000 * max(seconds),
        "stream_ms": 1_000 * float(np.median([step.references[_STREAM] for step in steps])),
        "median_streams": float(np.median(streams)),
        "p99_streams": float(np.quantile(streams, 0.99)),
        "slowest_streams": max(streams),
        "above_5_streams": sum(ratio > _SLOW_STREAMS for ratio in streams),
        "background_streams": float(np.mean(background)),
        "slowest_background": max(background),
        **{
            f"per_{name}": float(
                np.median([step.seconds / step.references[name] for step in steps])
            )
            for name in linucb
        },
    }


def known_listeners(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of listeners with many ratings, of whom figures were promised."""
    return [row for row in rows if row["ratings"] >= _KNOWN_RATINGS]


def step_figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the figures that a part with steps has; of several rows the worst counts."""
    known = known_listeners(rows)

    def worst(name: str) -> float | None:
        return max((row[name] for row in known if name in row), default=None)

    product_ratio = worst("per_linucb_float32")
    return {
        "median step, 500 ratings or more": worst("median_streams"),
        "steps above 5 × stream, 500 ratings or more": worst("above_5_streams"),
        "LinUCB / step, 500 ratings or more": None if not product_ratio else 1 / product_ratio,
        "choices unlike brute force": wrong_choices(rows),
    }


def wrong_choices(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Return how many checked choices were not the best; None if none was checked."""
    checked = sum(row["checked"] for row in rows)
    return checked - sum(row["right"] for row in rows) if checked else None


def measure_playlists(plan: StepPlan, length: int, on_run: OnRun) -> dict[str, Any]:
    """Return playlists of each kind of listening beside steps and the stream."""
    rows = []
    for world in plan.worlds:
        features = plan.catalogue(world)
        for picks, ratings in product(plan.picks, plan.ratings):
            on_run(f"playlists of {length}, {plan.songs:,} songs, {world.name}, {picks}")
            session = Session(
                world, features, ratings=ratings, seed=plan.seed, again=picks != "new"
            )
            kind = {"world": world.name, "picks": picks, "songs": plan.songs, "ratings": ratings}
            rows.append({**kind, **_playlists(StepRun(session, picks, plan), length)})
    return {
        "rows": rows,
        "figures": {"playlist": max(row["median_steps"] for row in rows)},
    }


@undisturbed()
def _playlists(run: StepRun, length: int) -> dict[str, Any]:
    seconds, different = [], []
    for made in _made(run, length):
        seconds.append(made.seconds)
        different.append(len(set(made.result)))
    streams = np.array([step.references[_STREAM] for step in run.steps])
    median, stream_seconds = float(np.median(seconds)), float(np.median(streams))
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


def _made(run: StepRun, length: int) -> Iterator[Any]:
    """Yield timed playlists with steps between them."""
    for _ in range(_PLAYLISTS):
        for _ in range(_STEPS_BEFORE_PLAYLIST):
            run.step()
        yield timed(partial(run.session.playlist, length))

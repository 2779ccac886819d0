"""Consecutive steps of one listener: an answer in, the best of all songs out.

Step and references take turns, and every ratio is to the last run of the reference before it.
Times are processor time. Moving the grid is the engine's upkeep: the radio does it after it has
answered, so it is told apart from the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bandstand_lab.speed.timing import Spread, timed, undisturbed
from benchmarks.scale.references import ProductLinUcb, WidthsLinUcb, stream
from benchmarks.scale.sitting import Sitting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand_lab.speed.linucb_reference import PlainLinUcb
    from bandstand_lab.speed.world import World
    from benchmarks.scale.sitting import Answered, Library

STREAM: Final = "stream"
PRODUCT: Final = "linucb-product"
WIDTHS: Final = "linucb-widths"
# What was heard before, and is heard now.
PICKS: Final = {
    "own": "songs heard again and again; now what the engine chooses",
    "random": "songs heard again and again, now as well",
    "new": "every song once; now what the engine chooses",
}
# Times the stream, beyond which a single step counts as slow.
SLOW: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Who listens to what, and how much of it is measured."""

    world: World
    picks: str  # one of `PICKS`
    ratings: int
    steps: int
    seed: int
    stream_every: int = 4
    linucb_every: int = 20
    checks: int = 10  # choices looked for by force among many songs
    double: bool = False  # LinUCB in double precision, as it is mostly written


class OneStep(NamedTuple):
    """What one step took, in seconds, and the references' times that stand beside it."""

    learn: float
    choose: float
    upkeep: float  # after the answer
    moved: bool  # the grid, within the step
    prepared: bool  # the grid moved after it
    passes: int  # over the whole matrix
    passes_ahead: int  # after the answer
    looked_at: int  # songs whose exact quantile was worked out
    references: Mapping[str, float]

    @property
    def seconds(self) -> float:
        """The whole step."""
        return self.learn + self.choose


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """All steps of one situation."""

    situation: Situation
    songs: int
    nodes: int
    heard: int
    bytes_of_belief: int
    bytes_of_memory: int
    first_choice: float  # seconds, of an engine that knows the listener but no song yet
    fit: float  # seconds, from all answers at once
    steps: tuple[OneStep, ...]
    checked: int
    agreed: int

    @property
    def seconds(self) -> Spread:
        """The time of a whole step."""
        return Spread(runs=tuple(step.seconds for step in self.steps))

    def reference(self, name: str) -> Spread:
        """Return the times of a reference, one beside each step."""
        return Spread(runs=tuple(step.references[name] for step in self.steps))

    def ratio(self, name: str) -> Spread:
        """Return how many times as long a step took as a reference."""
        return Spread(runs=tuple(step.seconds / step.references[name] for step in self.steps))

    def slow(self, most: float = SLOW) -> int:
        """Return how many steps took more than `most` times the stream."""
        return sum(ratio > most for ratio in self.ratio(STREAM).runs)

    def as_json(self) -> dict[str, Any]:
        """Return what was measured."""
        spreads = {
            "step": self.seconds,
            "learn": Spread(runs=tuple(step.learn for step in self.steps)),
            "choose": Spread(runs=tuple(step.choose for step in self.steps)),
            "upkeep": Spread(runs=tuple(step.upkeep for step in self.steps)),
        }
        references = self.steps[0].references
        return {
            "world": self.situation.world.name,
            "picks": self.situation.picks,
            "songs": self.songs,
            "ratings": self.situation.ratings,
            "steps": len(self.steps),
            "grid_nodes": self.nodes,
            "songs_heard": self.heard,
            "bytes_of_belief": self.bytes_of_belief,
            "bytes_of_memory": self.bytes_of_memory,
            "seconds": {
                **{name: _brief(spread) for name, spread in spreads.items()},
                **{name: _brief(self.reference(name)) for name in references},
                "fit": self.fit,
                "first_choice": self.first_choice,
            },
            "ratios": {f"step / {name}": _brief(self.ratio(name)) for name in references},
            "slower_than_5_streams": self.slow(),
            "grid_moves_within_steps": sum(step.moved for step in self.steps),
            "grid_moves_after_steps": sum(step.prepared for step in self.steps),
            "passes": sum(step.passes for step in self.steps),
            "passes_ahead": sum(step.passes_ahead for step in self.steps),
            "steps_with_a_pass": sum(step.passes > 0 for step in self.steps),
            "songs_looked_at": _brief(Spread(runs=tuple(float(s.looked_at) for s in self.steps))),
            "brute_force": {"checked": self.checked, "agreed": self.agreed},
        }


def _brief(spread: Spread) -> dict[str, float]:
    """Return a spread in few numbers, the slowest among them."""
    return {
        "median": spread.median,
        "mean": float(np.mean(spread.runs)),
        "lower_quartile": spread.lower,
        "upper_quartile": spread.upper,
        "minimum": spread.minimum,
        "p99": float(np.quantile(spread.runs, 0.99)),
        "maximum": max(spread.runs),
    }


class Run:
    """A sitting that goes on step by step, with references beside it."""

    def __init__(self, situation: Situation, library: Library) -> None:
        self.situation = situation
        self.features = library.catalogue.features
        self.sitting = Sitting(
            situation.world,
            library,
            ratings=situation.ratings,
            seed=situation.seed,
            again=situation.picks != "new",
        )
        self.fit = timed(partial(self.sitting.engine.fit, self.sitting.history)).seconds
        first = timed(self.sitting.choose)
        self.first_choice, self.choice = first.seconds, int(first.result)
        self.sitting.prepare()
        self.rivals = self._rivals()
        self.steps: list[OneStep] = []
        self.last: dict[str, float] = {}
        self.checked = self.agreed = 0

    def step(self) -> None:
        """Measure one step."""
        sitting, situation = self.sitting, self.situation
        again = situation.picks == "random"
        answer = sitting.answer(sitting.random_row() if again else self.choice)
        self._measure_references(answer)
        grid, passes, looked_at = sitting.grid, *_counts(sitting.memory)
        learn = timed(partial(sitting.absorb, answer)).seconds
        chosen = timed(sitting.choose)
        moved, self.choice = sitting.grid is not grid, int(chosen.result)
        passes_now, looked_at_now = _counts(sitting.memory)
        number, each = len(self.steps), max(situation.steps // max(situation.checks, 1), 1)
        if situation.checks and number % each == each - 1:
            self.checked += 1
            self.agreed += sitting.agrees(self.choice)
        ahead, upkeep = sitting.memory.passes_ahead, timed(sitting.prepare)
        self.steps.append(
            OneStep(
                learn=learn,
                choose=chosen.seconds,
                upkeep=upkeep.seconds,
                moved=moved,
                prepared=bool(upkeep.result),
                passes=passes_now - passes,
                passes_ahead=sitting.memory.passes_ahead - ahead,
                looked_at=looked_at_now - looked_at,
                references=dict(self.last),
            )
        )

    @property
    def passes(self) -> int:
        """How often the whole matrix was read so far."""
        return _counts(self.sitting.memory)[0]

    def result(self) -> Steps:
        """Return everything that was measured."""
        sitting = self.sitting
        return Steps(
            situation=self.situation,
            songs=len(self.features),
            nodes=len(sitting.grid),
            heard=len(np.unique(sitting.listening.heard_rows)),
            bytes_of_belief=sitting.bytes_of_belief(),
            bytes_of_memory=int(sitting.memory.nbytes),
            first_choice=self.first_choice,
            fit=self.fit,
            steps=tuple(self.steps),
            checked=self.checked,
            agreed=self.agreed,
        )

    def _rivals(self) -> dict[str, PlainLinUcb]:
        features = self.features.astype(np.float64) if self.situation.double else self.features
        history = self.sitting.history
        return {
            PRODUCT: ProductLinUcb(features, history),
            WIDTHS: WidthsLinUcb(features, history),
        }

    def _measure_references(self, answer: Answered) -> None:
        """Run the references that are due; what LinUCB skips would not change its time."""
        number = len(self.steps)
        if number % self.situation.stream_every == 0:
            self.last[STREAM] = timed(partial(stream, self.features)).seconds
        if number % self.situation.linucb_every == 0:
            features = np.asarray(self.features[answer.row], dtype=np.float64)
            for name, rival in self.rivals.items():
                learn = timed(partial(rival.absorb, features, answer.rating)).seconds
                self.last[name] = learn + timed(rival.choose).seconds


@undisturbed()
def measure_steps(situation: Situation, library: Library) -> Steps:
    """Return the steps of one situation."""
    run = Run(situation, library)
    for _ in range(situation.steps):
        run.step()
    return run.result()


def _counts(memory: Any) -> tuple[int, int]:
    """Return how often a search has read the whole matrix, and at how many songs it looked."""
    return int(memory.passes), int(memory.looked_at)

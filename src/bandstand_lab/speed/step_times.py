"""What was measured of one online step: two phases, every contender, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bandstand_lab.speed.timing import Spread, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

REFERENCE: Final = "linucb"
CONTENDERS: Final = ("exact", REFERENCE, "linucb-rank-one", "recommender")


class Phases(NamedTuple):
    """The two parts of a step, in seconds."""

    absorb: float
    choose: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GridMoves:
    """How often the grid of the exact engine had to be placed anew, and what that cost."""

    steps: int
    moved: Spread | None  # seconds of the steps with a move
    others: Spread | None  # seconds of the steps without

    def as_json(self) -> dict[str, Any]:
        """Return what was measured."""
        return {
            "steps": self.steps,
            "moves": 0 if self.moved is None else len(self.moved.runs),
            "seconds_with_move": None if self.moved is None else self.moved.as_json(),
            "seconds_without": None if self.others is None else self.others.as_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """Steps of every contender in one situation, side by side."""

    world: str
    picks: str
    ratings: int
    nodes: int  # of the exact engine's grid
    heard: int  # different songs that the listener had heard
    bytes_kept: int  # by the exact engine between two steps
    bytes_of_catalogue: int
    phases: Mapping[str, tuple[Phases, ...]]
    grid: GridMoves
    checked: int  # steps whose choice was compared with that of brute force
    agreed: int

    def seconds(self, contender: str) -> Spread:
        """Return the time of a whole step."""
        return Spread(runs=tuple(sum(phases) for phases in self.phases[contender]))

    @property
    def absorbing(self) -> Spread:
        """The time in which the exact engine learns an answer."""
        return Spread(runs=tuple(one.absorb for one in self.phases["exact"]))

    @property
    def choosing(self) -> Spread:
        """The time in which the exact engine chooses a song."""
        return Spread(runs=tuple(one.choose for one in self.phases["exact"]))

    def ratio(self, contender: str = "exact", reference: str = REFERENCE) -> Spread:
        """Return how many times as long `contender` took as `reference`, step by step."""
        return paired_ratio(self.seconds(contender).runs, self.seconds(reference).runs)

    def as_json(self) -> dict[str, Any]:
        """Return what was measured."""
        return {
            "world": self.world,
            "picks": self.picks,
            "ratings": self.ratings,
            "grid_nodes": self.nodes,
            "songs_heard": self.heard,
            "bytes_kept": self.bytes_kept,
            "bytes_of_catalogue": self.bytes_of_catalogue,
            "seconds": {name: self._one(name) for name in self.phases},
            "ratios": {
                f"{name} / {reference}": self.ratio(name, reference).as_json()
                for name in ("exact", "recommender")
                for reference in (REFERENCE, "linucb-rank-one")
            },
            "grid": self.grid.as_json(),
            "brute_force": {"checked": self.checked, "agreed": self.agreed},
        }

    def _one(self, name: str) -> dict[str, Any]:
        phases = self.phases[name]
        return {
            "step": self.seconds(name).as_json(),
            "absorb": Spread(runs=tuple(one.absorb for one in phases)).as_json(),
            "choose": Spread(runs=tuple(one.choose for one in phases)).as_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """All steps of the exact engine in a run that begins with nothing, rare dear ones included."""

    world: str
    grid: GridMoves
    seconds: Spread
    mean_ratio: float  # mean of all steps to mean of the reference's

    def as_json(self) -> dict[str, Any]:
        """Return what was measured; single steps are left to `grid`."""
        summary = self.seconds.as_json()
        del summary["runs"]
        return {
            "world": self.world,
            "steps": len(self.seconds.runs),
            "seconds": {**summary, "maximum": max(self.seconds.runs)},
            f"mean_ratio_to_{REFERENCE}": self.mean_ratio,
            "grid": self.grid.as_json(),
        }

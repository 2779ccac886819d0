"""Two ways to listen: for weeks in a library of one's own, and as long as the paper's subjects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand_lab.simulation.clock import EVERYDAY, PAPER_CLOCK
from bandstand_lab.simulation.worlds import GaussianWorld

if TYPE_CHECKING:
    from bandstand_lab.simulation.clock import Clock

# What the paper says reproduces Zipf's law, and what it says does not.
PRODUCT: Final = ("greedy-cn", "bayes-ucb-cn", "bayes-ucb-cn-v")
OTHERS: Final = ("random", "linucb-c", "linucb-cn")
# The same posterior as the sampled one, without its cost.
EXACT: Final = "bayes-ucb-cn-x"
SAMPLED: Final = "bayes-ucb-cn"
# Somebody who knows the listener's taste and always plays the best song: no algorithm.
KNOWN: Final = "taste known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A library, a clock and so many plays."""

    name: str
    world: GaussianWorld
    clock: Clock
    plays: int
    quick_plays: int
    algorithms: tuple[str, ...]

    @property
    def songs(self) -> int:
        """How many songs the library has."""
        return self.world.songs

    def days(self, plays: int) -> float:
        """Return how long it takes from the first of so many songs to the last."""
        return self.clock.moment(plays) / 86_400


# Three times 20 songs of four minutes a day: 3,000 plays take seven weeks. The algorithm with a
# third factor is left out, for these listeners have no third factor to be learnt.
WEEKS: Final = Setting(
    name="weeks",
    world=GaussianWorld(songs=1_000, features=20, scale="entries"),
    clock=EVERYDAY,
    plays=3_000,
    quick_plays=1_000,
    algorithms=(
        *("random", "linucb-c", "linucb-cn", "greedy-cn", "bayes-ucb-cn-v"),
        *(EXACT, "thompson-cn-x", "greedy-cn-map"),
        *("optimistic-cn-x", "epsilon-greedy-cn-x", "greedy-cn-x"),
    ),
)
# The paper's user study: 200 songs out of 10,000, about 50 seconds each.
PAPER: Final = Setting(
    name="paper",
    world=GaussianWorld(songs=10_000, features=91, scale="entries"),
    clock=PAPER_CLOCK,
    plays=200,
    quick_plays=200,
    algorithms=(*OTHERS, "greedy-cn", "bayes-ucb-cn-v", EXACT),
)
SETTINGS: Final = {setting.name: setting for setting in (WEEKS, PAPER)}

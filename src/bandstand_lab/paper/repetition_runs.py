"""The jobs of the study of repetition: the songs that are played for one listener.

Two settings: weeks in a library of one's own, and as long as the paper's subjects listened.
Histories of people are cut so that they can be compared with what an algorithm has played: to as
many plays in a row as the algorithms made, since more plays mean more repeats.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from bandstand._util.power_laws import plays_by_rank
from bandstand.core.model.novelty import novelty
from bandstand.types import MONTH, Indices, Vector
from bandstand_lab.histories.plays import UNNAMED, Histories, read
from bandstand_lab.report.study import Job, Json, Plan
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.session import EVERYDAY, PAPER_CLOCK, Clock
from bandstand_lab.simulation.worlds import GaussianWorld

# What the paper says reproduces Zipf's law, and what it says does not. The exact algorithm stands
# for the sampled one: it has the same posterior without the cost of sampling.
EXACT: Final = "bayes-ucb-cn-x"
PRODUCT: Final = ("greedy-cn", EXACT, "bayes-ucb-cn-v")
OTHERS: Final = ("random", "linucb-c", "linucb-cn")
KNOWN: Final = "taste known"  # no algorithm: always the best song for a taste that is known
_MAX_STRETCHES: Final = 4  # of one history, evenly spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A library, a clock and a number of plays."""

    name: str
    world: GaussianWorld
    clock: Clock
    plays: int
    quick_plays: int
    listeners: int
    algorithms: tuple[str, ...]

    @property
    def songs(self) -> int:
        """The number of songs of the library."""
        return self.world.songs

    def size(self, plan: Plan) -> tuple[int, int]:
        """Return the numbers of plays and of simulated listeners for each algorithm."""
        quick = (self.quick_plays, 2)
        return plan.pick(quick=quick, full=(self.plays, self.listeners))

    def days(self, plays: int) -> float:
        """Return how long it takes from the first song to the last."""
        return self.clock.moment(plays) / 86_400

    def rows(self, results: Mapping[str, Json], plan: Plan, algorithm: str) -> list[list[int]]:
        """Return the songs that were played for each listener, in order."""
        return [results[self.key(algorithm, run)] for run in range(self.size(plan)[1])]

    def key(self, algorithm: str, run: int) -> str:
        """Return the key of a job."""
        return f"{self.name}-{run:02}-{algorithm.replace(' ', '-')}"


# Three times 20 songs of four minutes a day: 3,000 plays take seven weeks.
WEEKS: Final = Setting(
    name="weeks",
    world=GaussianWorld(songs=1_000, features=20, scale="entries"),
    clock=EVERYDAY,
    plays=3_000,
    quick_plays=1_000,
    listeners=5,
    algorithms=(*OTHERS, *PRODUCT, "thompson-cn-x", "greedy-cn-map", KNOWN),
)
# The paper's user study: 200 songs out of 10,000, about 50 seconds each.
PAPER: Final = Setting(
    name="paper",
    world=GaussianWorld(songs=10_000, features=91, scale="entries"),
    clock=PAPER_CLOCK,
    plays=200,
    quick_plays=200,
    listeners=6,
    algorithms=(*OTHERS, *PRODUCT, KNOWN),
)
SETTINGS: Final = {setting.name: setting for setting in (WEEKS, PAPER)}


def jobs(plan: Plan) -> Iterator[Job]:
    """Yield one job for each algorithm and listener, and one for the histories."""
    for setting in SETTINGS.values():
        plays, listeners = setting.size(plan)
        size = {"setting": setting.name, "seed": plan.seed, "plays": plays}
        for run in range(listeners):
            for name in setting.algorithms:
                yield Job.of(played, setting.key(name, run), algorithm=name, run=run, **size)
    if plan.histories:
        files = [str(file) for file in plan.histories]
        yield Job.of(people, "people", files=files, plays=WEEKS.size(plan)[0])


def played(setting: str, algorithm: str, run: int, seed: int, plays: int) -> list[int]:
    """Return the rows of the songs that `algorithm` plays for listener number `run`; a job."""
    here = SETTINGS[setting]
    if algorithm == KNOWN:
        meeting = here.world.meeting(run, seed)
        liking = meeting.listener.liking(meeting.features)
        return best_songs(liking, meeting.listener.recovery_time, plays, here.clock).tolist()
    trace = run_one(here.world, algorithm, run=run, seed=seed, steps=plays, clock=here.clock)
    return trace.rows.tolist()


def best_songs(liking: Vector, recovery_time: float, plays: int, clock: Clock) -> Indices:
    """Return the song of largest U = Uc · Un at each moment (3), for a taste that is known."""
    last = np.full(len(liking), -np.inf)
    rows = np.empty(plays, dtype=np.intp)
    for step in range(plays):
        now = clock.moment(step + 1) / 60
        worth = liking * novelty(np.minimum(now - last, MONTH), recovery_time)
        rows[step] = np.argmax(worth)
        last[rows[step]] = now
    return rows


def people(files: list[str], plays: int) -> dict[str, Any]:
    """Return the people with at least `plays` plays, and the number of those with fewer; a job."""
    found = []
    shorter = 0
    for source, histories in _sources(files):
        for history in histories:
            if len(history) < plays:
                shorter += 1
                continue
            parts = stretches(history.items, plays)
            ranked = [plays_by_rank(part).astype(int).tolist() for part in parts]
            songs = len(np.unique(history.items))
            found.append({"source": source, "songs": songs, "stretches": ranked})
    return {"people": found, "shorter": shorter}


def _sources(files: Sequence[str]) -> list[tuple[str, Histories]]:
    """Return the histories by file; files that do not say whose they are, are one person's."""
    apart = [(file, read([file])) for file in files]
    unnamed = [file for file, one in apart if [each.name for each in one] == [UNNAMED]]
    named = [(Path(file).name, one) for file, one in apart if file not in unnamed]
    if not unnamed:
        return named
    title = Path(unnamed[0]).name + (f" and {len(unnamed) - 1} more" if unnamed[1:] else "")
    return [*named, (title, read(unnamed))]


def stretches(items: Indices, plays: int) -> list[Indices]:
    """Return at most four stretches of `plays` plays in a row, none overlapping.

    >>> [each.tolist() for each in stretches(np.arange(7), 3)]
    [[0, 1, 2], [4, 5, 6]]
    """
    count = min(len(items) // plays, _MAX_STRETCHES)
    starts = np.linspace(0, len(items) - plays, count).astype(np.intp) if count else ()
    return [items[start : start + plays] for start in starts]

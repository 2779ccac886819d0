"""The jobs of the study of repetition: the songs that are played for one listener.

Two settings: weeks in a library of one's own, and as long as the paper's subjects listened.

Histories of people are cut so that they can be compared with what an algorithm has played. The
first cut keeps as many plays in a row as the algorithms made: more plays mean more repeats. The
second also bounds the library, as it is bounded for the algorithms: of each person only the plays
of the songs this person has played most are kept before the cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand._util.power_laws import plays_by_rank
from bandstand.core.engines.mcmc.engine import Mcmc
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import paper_prior
from bandstand.core.recommender import Answer
from bandstand.types import MONTH
from bandstand_lab.histories import UNNAMED, read
from bandstand_lab.report.study import Job
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.session import EVERYDAY, PAPER_CLOCK, follow, radio_seed, stream
from bandstand_lab.simulation.worlds import GaussianWorld

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from bandstand.core.recommender import Recommender
    from bandstand.types import Indices, Vector
    from bandstand_lab.histories import Histories
    from bandstand_lab.report.study import Json, Plan
    from bandstand_lab.simulation.session import Clock
    from bandstand_lab.simulation.worlds import Meeting

# What the paper says reproduces Zipf's law, and what it says does not.
PRODUCT: Final = ("greedy-cn", "bayes-ucb-cn", "bayes-ucb-cn-v")
OTHERS: Final = ("random", "linucb-c", "linucb-cn")
EXACT: Final = "bayes-ucb-cn-x"  # the same posterior as the sampled one, without its cost
SAMPLED: Final = "bayes-ucb-cn"
KNOWN: Final = "taste known"  # no algorithm: always the best song for a taste that is known
_FULL_ONLY: Final = ("optimistic-cn-x", "epsilon-greedy-cn-x", "greedy-cn-x")
DRAWS: Final = 400  # effective draws of the sampler; its default is 2,000, at three times the cost
# The sampler draws again after each of the first answers, then after every tenth.
LEARN_EACH: Final = 100
LEARN_EVERY: Final = 10
PIECE: Final = 100  # plays of one job of the sampling algorithm
_MAX_STRETCHES: Final = 4  # of one history, evenly spread
# Minutes: two hours to seventy days.
RECOVERY_TIMES: Final = (100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A library, a clock and a number of plays."""

    name: str
    world: GaussianWorld
    clock: Clock
    plays: int
    quick_plays: int
    algorithms: tuple[str, ...]

    @property
    def songs(self) -> int:
        """The number of songs of the library."""
        return self.world.songs

    def days(self, plays: int) -> float:
        """Return how long it takes from the first song to the last."""
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
        *(*OTHERS, "greedy-cn", "bayes-ucb-cn-v", EXACT, "thompson-cn-x", "greedy-cn-map"),
        *_FULL_ONLY,
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


def listeners(plan: Plan, setting: Setting) -> int:
    """Return the number of simulated listeners that each algorithm meets."""
    return plan.pick(quick=2, full=5 if setting is WEEKS else 6)


def plays(plan: Plan, setting: Setting) -> int:
    """Return the number of songs that each algorithm plays for each listener."""
    return plan.pick(quick=setting.quick_plays, full=setting.plays)


def algorithms(plan: Plan, setting: Setting) -> list[str]:
    """Return the algorithms that meet all listeners, and at the end the known taste."""
    left_out: tuple[str, ...] = plan.pick(quick=_FULL_ONLY, full=())
    return [*(name for name in setting.algorithms if name not in left_out), KNOWN]


def rows_of(results: Mapping[str, Json], setting: Setting, algorithm: str, run: int) -> list[int]:
    """Return the songs that were played for one listener, in order; pieces are put together."""
    pieces = [key for key in results if key.startswith(_key(setting, algorithm, run))]
    return [row for key in sorted(pieces) for row in results[key]["rows"]]


def _key(setting: Setting, algorithm: str, run: int) -> str:
    return f"{setting.name}-{run:02}-{algorithm.replace(' ', '-')}."


def jobs(plan: Plan) -> Iterator[Job]:
    """Yield one job for each algorithm and listener, and one for the histories."""
    yield from _setting_jobs(plan, WEEKS)
    weeks = {"setting": WEEKS.name, "seed": plan.seed}
    count = plays(plan, WEEKS)
    if plan.size == "full":  # the sampling algorithm, for one listener, in pieces
        for first in range(0, count, PIECE):
            piece = {"run": 0, "first": first, "plays": min(PIECE, count - first)}
            yield Job.of(
                played_by_sampling, f"{_key(WEEKS, SAMPLED, 0)}{first:05}", **weeks, **piece
            )
    yield from _setting_jobs(plan, PAPER)
    times = {"recovery_times": list(RECOVERY_TIMES), "plays": count}
    yield Job.of(played_by_recovery_time, "recovery-times", **weeks, **times)
    if plan.histories:
        files = [str(file) for file in plan.histories]
        yield Job.of(people, "people", files=files, plays=count, library=WEEKS.songs)


def _setting_jobs(plan: Plan, setting: Setting) -> Iterator[Job]:
    size = {"setting": setting.name, "seed": plan.seed, "plays": plays(plan, setting)}
    for run in range(listeners(plan, setting)):
        for name in algorithms(plan, setting):
            key = f"{_key(setting, name, run)}all"
            if name == KNOWN:
                yield Job.of(played_by_knowing, key, run=run, **size)
            else:
                yield Job.of(played, key, algorithm=name, run=run, **size)


def played(setting: str, algorithm: str, run: int, seed: int, plays: int) -> dict[str, Any]:
    """Return the rows of the songs that `algorithm` plays for listener number `run`."""
    here = SETTINGS[setting]
    trace = run_one(here.world, algorithm, run=run, seed=seed, steps=plays, clock=here.clock)
    return {"rows": trace.rows.tolist()}


def played_by_sampling(setting: str, run: int, seed: int, first: int, plays: int) -> dict[str, Any]:
    """Return what the sampling algorithm plays after `first` songs that the exact one chose.

    Both have the same posterior, only one of them draws from it. So a run of thousands of songs
    can be cut into pieces that need not wait for each other. Every song is chosen by draws; they
    are made again after each of the first answers, later after every tenth, since one answer in
    hundreds hardly moves them.
    """
    here = SETTINGS[setting]
    meeting = here.world.meeting(run, seed)
    exact = meeting.radio(EXACT, seed=radio_seed(seed, run))
    for _ in follow(exact, meeting.listener, steps=first, clock=here.clock, seed=seed, number=run):
        pass
    answers = list(exact.answers)
    radio = _sampling_radio(meeting, run, seed, answers)
    row_of: dict[Hashable, int] = {song: row for row, song in enumerate(radio.ids)}
    rows = []
    for step in range(first + 1, first + plays + 1):
        if step > first + 1 and (step <= LEARN_EACH or (step - 1) % LEARN_EVERY == 0):
            radio = _sampling_radio(meeting, run, seed, answers)
        moment = here.clock.moment(step)
        (song,) = radio.recommend(at=moment)
        rows.append(row_of[song])
        heard = radio.songs(at=moment).take([rows[-1]])
        rating = float(meeting.listener.rate(heard, stream(seed, "answer", run, step))[0])
        answers.append(Answer(song=song, rating=rating, time=moment))
        # Heard, but not learnt from until the next draws.
        radio.update(song, rating=rating, time=moment, weight=0.0)
    return {"rows": rows}


def _sampling_radio(meeting: Meeting, run: int, seed: int, answers: list[Answer]) -> Recommender:
    radio = meeting.radio(SAMPLED, seed=radio_seed(seed, run))
    prior = meeting.prior or paper_prior(meeting.features.shape[1])
    radio.model = replace(radio.model, engine=Mcmc(prior=prior, effective_draws=DRAWS))
    radio.replay(answers)
    return radio


def played_by_knowing(setting: str, run: int, seed: int, plays: int) -> dict[str, Any]:
    """Return the best songs of each moment for the known taste of listener number `run`."""
    here = SETTINGS[setting]
    meeting = here.world.meeting(run, seed)
    liking = meeting.listener.liking(meeting.features)
    rows = best_songs(liking, meeting.listener.recovery_time, plays, here.clock)
    return {"rows": rows.tolist()}


def played_by_recovery_time(
    setting: str, recovery_times: list[float], seed: int, plays: int
) -> list[dict[str, Any]]:
    """Return how often songs are played by rank for one known taste, by recovery time."""
    here = SETTINGS[setting]
    meeting = here.world.meeting(0, seed)
    liking = meeting.listener.liking(meeting.features)
    found = {time: best_songs(liking, time, plays, here.clock) for time in recovery_times}
    return [
        {"minutes": time, "plays_by_rank": plays_by_rank(rows).tolist()}
        for time, rows in found.items()
    ]


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


def people(files: list[str], plays: int, library: int) -> dict[str, Any]:
    """Return the people with at least `plays` plays, and the number of those with fewer."""
    found = []
    shorter = 0
    for source, histories in _sources(files):
        for history in histories:
            if len(history) < plays:
                shorter += 1
                continue
            found.append(
                {
                    "source": source,
                    "name": history.name,
                    "plays": len(history),
                    "songs": len(np.unique(history.items)),
                    "stretches": _ranked(stretches(history.items, plays)),
                    "in_library": _ranked(stretches(most_played(history.items, library), plays)),
                }
            )
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


def most_played(items: Indices, library: int) -> Indices:
    """Return only the plays of the `library` songs that are played most.

    >>> most_played(np.array([3, 5, 3, 4, 5, 3]), 2).tolist()
    [3, 5, 3, 5, 3]
    """
    songs, counts = np.unique(items, return_counts=True)
    kept = songs[np.argsort(-counts, kind="stable")[:library]]
    return items[np.isin(items, kept)]


def _ranked(parts: Sequence[Indices]) -> list[list[int]]:
    return [plays_by_rank(part).astype(int).tolist() for part in parts]

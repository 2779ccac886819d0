"""Exact Bayes-UCB against Bayes-UCB by MCMC: whether it is as good, and how much faster.

Two radios that agree on the posterior still part ways: draws have noise, so sooner or later the
sampling radio plays another song, gets another answer, and both go on from there. Their regrets
then differ by chance. In pilots (draws from the exact posterior in place of MCMC, 20 or 91
features, either scale) the standard deviation of that difference was 7 to 15 % of the regret
after 30 to 60 songs. A part of it is the chance of the exact radio, and goes away when that meets
each listener many times, which costs next to nothing: about 10 % were left in pilots, 14 % in the
first full run. With L listeners the 95 % bound lies 2 · 14 % / √L above the mean: 4 % for L = 48.
More would be surer, but sampling takes its time: a quarter of an hour for 48. So there are many
listeners, and 30 songs for each: half as many again as there are features.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.types import frozen
from bandstand_lab.report import figures
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Job, Study, is_inside, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.experiment import followed
from bandstand_lab.simulation.session import PAPER_CLOCK, follow, radio_seed
from bandstand_lab.simulation.worlds import GaussianWorld
from bandstand_lab.statistics.paired import paired_difference
from bandstand_lab.statistics.summaries import student_quantile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from matplotlib.figure import Figure

    from bandstand.core.recommender import Answer, Recommender
    from bandstand.types import Matrix
    from bandstand_lab.report.study import Cell, Chapter, Finding, Json, Plan
    from bandstand_lab.simulation.session import Trace
    from bandstand_lab.simulation.worlds import Meeting
    from bandstand_lab.statistics.paired import PairedDifference

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "equivalence.toml")
EXACT, MCMC = "bayes-ucb-cn-x", "bayes-ucb-cn"
MARGIN: Final = 0.05  # the share of the regret that a listener would hardly notice
FASTER: Final = 20.0  # how much faster per step counts as a difference in kind
# Steps in a row that are timed; the first is left out, since it finds nothing cached yet.
_TIMED_STEPS: Final = 4
# Repeats are numbered so far from each other that they meet no other listener's noise.
_REPEAT_OFFSET: Final = 1_000
_NORMAL_90: Final = 1.2816  # the 90 % quantile of a normal variable


@dataclass(frozen=True, slots=True, kw_only=True)
class EquivalenceSize:
    """The size of the study."""

    songs: int = 1_000
    features: int = 20
    steps: int = 30
    listeners: int = 48
    repeats: int = 16  # of the exact radio with each listener
    timed_songs: int = 10_000
    timed_features: int = 91
    timed_ratings: tuple[int, ...] = (20, 100, 200)  # learnt before a step is timed

    @classmethod
    def of(cls, plan: Plan) -> EquivalenceSize:
        """Return the size that belongs to the plan."""
        small = {"songs": 500, "steps": 20, "listeners": 4, "repeats": 8}
        timed = {"timed_songs": 1_000, "timed_features": 20}
        return plan.pick(quick=cls(**small, **timed, timed_ratings=(10, 40)), full=cls())

    @property
    def world(self) -> dict[str, Json]:
        """The arguments of the GaussianWorld in which regret is compared."""
        return {"songs": self.songs, "features": self.features, "scale": "entries"}

    @property
    def timed_world(self) -> dict[str, Json]:
        """The arguments of the GaussianWorld in which steps are timed."""
        return {"songs": self.timed_songs, "features": self.timed_features, "scale": "entries"}


def jobs(plan: Plan) -> Iterator[Job]:
    """Yield one job per listener, then those that take the time."""
    size = EquivalenceSize.of(plan)
    each = {"seed": plan.seed, "steps": size.steps, "repeats": size.repeats}
    for run in range(size.listeners):
        yield Job.of(regrets, f"listener-{run:02d}", world=size.world, run=run, **each)
    timed = {"world": size.timed_world, "seed": plan.seed}
    for ratings in size.timed_ratings:
        yield Job.timed(step_times, f"time-{ratings:04d}", ratings=ratings, **timed)


def regrets(
    *, world: Mapping[str, Json], run: int, seed: int, steps: int, repeats: int
) -> dict[str, Json]:
    """Return the regret after each step of both radios for one listener.

    The exact radio takes so little time that it meets the listener `repeats` times, with another
    first song and another noise each time; the first time with those of the sampling radio.
    """
    meeting = GaussianWorld(**world).meeting(run, seed)
    exact = [
        _trace(meeting, EXACT, number=run + _REPEAT_OFFSET * repeat, seed=seed, steps=steps)
        for repeat in range(repeats)
    ]
    mcmc = _trace(meeting, MCMC, number=run, seed=seed, steps=steps)
    same = exact[0].rows == mcmc.rows
    return {
        "together": steps if same.all() else int(np.argmin(same)),
        EXACT: [trace.regret.tolist() for trace in exact],
        MCMC: mcmc.regret.tolist(),
    }


def _trace(meeting: Meeting, name: str, *, number: int, seed: int, steps: int) -> Trace:
    """Follow a radio; first song and noise depend on the seed and the number."""
    radio = meeting.radio(name, seed=radio_seed(seed, number))
    return followed(radio, meeting.listener, name, run=number, seed=seed, steps=steps)


def step_times(*, world: Mapping[str, Json], seed: int, ratings: int) -> dict[str, Json]:
    """Return the seconds of a step of both radios, and how near their choices are.

    Both have learnt the same ratings, those of a listener of the exact radio.
    """
    meeting = GaussianWorld(**world).meeting(0, seed)
    radios = {name: meeting.radio(name, seed=radio_seed(seed, 0)) for name in (EXACT, MCMC)}
    for _ in follow(radios[EXACT], meeting.listener, steps=ratings, seed=seed):
        pass
    answers = radios[EXACT].answers
    radios[EXACT] = meeting.radio(EXACT, seed=radio_seed(seed, 0))
    seconds = {name: _step_seconds(radio, answers) for name, radio in radios.items()}
    return {"seconds": seconds, "agreement": _agreement(radios, PAPER_CLOCK.moment(ratings + 1))}


def _step_seconds(radio: Recommender, answers: tuple[Answer, ...]) -> float:
    """Return the median processor time of choosing a song and learning its rating.

    Afterwards the radio has learnt all answers.
    """
    radio.replay(answers[:-_TIMED_STEPS])
    times = []
    for answer in answers[-_TIMED_STEPS:]:
        begin = time.thread_time()
        radio.recommend(at=answer.time)
        radio.update(answer.song, rating=answer.rating, time=answer.time)
        times.append(time.thread_time() - begin)
    return float(np.median(times[1:]))


def _agreement(radios: Mapping[str, Recommender], moment: float) -> dict[str, Json]:
    """Return how far the sampled quantiles are from the exact ones, in standard deviations."""
    exact, mcmc = (radios[name].predict(at=moment) for name in (EXACT, MCMC))
    level = 1 - 1 / radios[EXACT].step
    truth, sampled, spread = exact.quantile(level), mcmc.quantile(level), exact.standard_deviation()
    if truth is None or sampled is None or spread is None:
        msg = "a prediction must have quantiles and a spread, got one from too few ratings"
        raise InvalidInputError(msg)
    chosen = int(np.argmax(sampled))
    return {
        "quantile_error": float(np.sqrt(np.mean(((sampled - truth) / spread) ** 2))),
        "choice_shortfall": float((truth.max() - truth[chosen]) / spread[chosen]),
        "choice_rank": int((truth > truth[chosen]).sum()) + 1,
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BothRegrets:
    """The regret of both radios: (listeners, steps)."""

    exact: Matrix  # the mean over the repeats with each listener
    mcmc: Matrix

    def difference(self, step: int) -> PairedDifference:
        """Return exact − MCMC after `step` songs, as a share of the mean regret under MCMC."""
        unit = float(self.mcmc[:, step - 1].mean())
        return paired_difference(self.exact[:, step - 1] / unit, self.mcmc[:, step - 1] / unit)


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return whether the exact radio is as good as the sampled one, and the ratio of times."""
    size = EquivalenceSize.of(plan)
    runs = [results[f"listener-{run:02d}"] for run in range(size.listeners)]
    times = {each: results[f"time-{each:04d}"] for each in size.timed_ratings}
    both = BothRegrets(
        exact=frozen(np.array([np.mean(run[EXACT], axis=0) for run in runs])),
        mcmc=frozen(np.array([run[MCMC] for run in runs])),
    )
    together = [run["together"] for run in runs]
    difference = both.difference(size.steps)
    return TEXTS.chapter(
        method=asdict(size),
        findings=(_regret_finding(difference, size), _time_finding(times)),
        tables=(
            TEXTS.table("regret", _regret_rows(both, size.steps), together=np.median(together)),
            TEXTS.table("times", _time_rows(times)),
        ),
        drawings=(
            TEXTS.drawing("difference", partial(_draw, both), inches=(9.5, 4.2), margin=MARGIN),
        ),
        data={
            "world": size.world,
            "steps": size.steps,
            "regret": {EXACT: both.exact.tolist(), MCMC: both.mcmc.tolist()},
            "songs_in_common_at_first": together,
            "relative_difference": difference.mean,
            "relative_difference_interval_95": list(difference.interval()),
            "margin": MARGIN,
            "timed_world": size.timed_world,
            "times": {str(ratings): each for ratings, each in times.items()},
        },
    )


def _regret_finding(difference: PairedDifference, size: EquivalenceSize) -> Finding:
    low, high = difference.interval()
    spread = difference.standard_error * math.sqrt(size.listeners)
    return TEXTS.finding(
        "regret",
        verdict_on([is_inside((low, high), -math.inf, MARGIN)]),
        mean=difference.mean,
        low=low,
        high=high,
        margin=MARGIN,
        steps=size.steps,
        listeners=size.listeners,
        spread=spread,
        needed=_listeners_needed(spread),
    )


def _listeners_needed(spread: float) -> int:
    """Return the listeners for which the bound stays below the margin nine times out of ten."""
    count = 2
    while (student_quantile(0.95, count - 1) + _NORMAL_90) * spread / math.sqrt(count) > MARGIN:
        count += 1
    return count


def _time_finding(times: Mapping[int, Json]) -> Finding:
    found = {ratings: each["seconds"] for ratings, each in times.items()}
    verdict = verdict_on(each[MCMC] / each[EXACT] >= FASTER for each in found.values())
    seconds = {ratings: (each[EXACT], each[MCMC]) for ratings, each in found.items()}
    return TEXTS.finding("time", verdict, seconds=seconds, faster=FASTER)


def _regret_rows(both: BothRegrets, steps: int) -> Iterator[tuple[Cell, ...]]:
    for look in (steps // 4, steps // 2, steps):
        found = both.difference(look)
        means = (float(table[:, look - 1].mean()) for table in (both.exact, both.mcmc))
        yield (look, *means, *(100 * value for value in (found.mean, *found.interval())))


def _time_rows(times: Mapping[int, Json]) -> Iterator[tuple[Cell, ...]]:
    for ratings, each in times.items():
        exact, mcmc = each["seconds"][EXACT], each["seconds"][MCMC]
        errors = (each["agreement"][name] for name in ("quantile_error", "choice_shortfall"))
        yield (ratings, 1000 * exact, 1000 * mcmc, mcmc / exact, *errors)


def _draw(found: BothRegrets, figure: Figure) -> None:
    left, right = figure.subplots(1, 2, width_ratios=[1.4, 1])
    look = look_of(EXACT)
    steps = np.arange(2, found.mcmc.shape[1] + 1)
    apart = [found.difference(int(step)) for step in steps]
    ends = 100 * np.array([each.interval() for each in apart])
    left.fill_between(steps, ends[:, 0], ends[:, 1], color=look.colour, alpha=0.15, linewidth=0)
    left.plot(steps, [100 * each.mean for each in apart], color=look.colour, linewidth=2)
    left.axhline(0, color=figures.MUTED, linewidth=1)
    left.axhline(100 * MARGIN, color=figures.BAD, linewidth=1, linestyle="--")
    left.set(xlabel="songs played, n", ylabel="exact less MCMC, % of regret", ylim=(-25, 25))
    left.grid(axis="y")
    both = np.array([found.exact[:, -1], found.mcmc[:, -1]])
    ends_of_line = [0.95 * both.min(), 1.05 * both.max()]
    right.plot(ends_of_line, ends_of_line, color=figures.MUTED, linewidth=1)
    right.plot(both[1], both[0], "o", color=look.colour, markersize=5, alpha=0.7)
    right.set(xlabel=f"regret, {look_of(MCMC).label}", ylabel=f"regret, {look.label}")
    right.set_aspect("equal")
    right.grid()


STUDY: Final = Study(
    name="equivalence",
    title="Exact against MCMC: as good, and how much faster?",
    jobs=lambda plan: tuple(jobs(plan)),
    chapter=chapter,
)

"""The paper's Figure 13: the novelty curve that the variational engine learns, beside the truth.

code                   maths    meaning
`mean`                 E[β't]   the learned curve, in units of its own value for an unheard song
`standard_deviation`            its one-sd band under q(β), in the same units
`truth`                Un       1 − exp(−t/s) of the listener, in units of its value after a month

Only the product θ'x·β't is known, so the learned curve is scaled to 1 at a month, where
unheard songs stand. The truth is not used for that. The band is that of β't alone, as in
the paper: what is not known of the scale is not in it.

A place counts as visited if it lies between the shortest and the longest time after which a
song was heard again. Elsewhere the data say nothing, and only the prior and straight lines do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.core.engines.variational.equations import triangular_inverse
from bandstand.core.model.history import Songs
from bandstand.core.model.novelty import novelty
from bandstand.types import MONTH, frozen
from bandstand_lab.report.figures import TRUTH, look_of, plain
from bandstand_lab.report.study import Job, Study, Verdict, grouped, is_inside, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.session import EVERYDAY, PAPER_CLOCK, follow, radio_seed
from bandstand_lab.simulation.worlds import GaussianWorld
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand.core.engines.variational.engine import VariationalBelief
    from bandstand.types import Vector
    from bandstand_lab.report.study import Cell, Chapter, Finding, Json, Plan
    from bandstand_lab.statistics.summaries import MeanEstimate

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "novelty_learned.toml")
_ALGORITHM: Final = "bayes-ucb-cn-v"
_SONGS: Final = 200
_FEATURES: Final = 20
SITTING, WEEK = "sitting", "week"
_CLOCKS: Final = {SITTING: PAPER_CLOCK, WEEK: EVERYDAY}
# As many as a subject of the paper rated, and a week of three sessions a day.
_STEPS: Final = {SITTING: 200, WEEK: 420}
_LABELS: Final = {SITTING: "one sitting, 200 ratings", WEEK: "one week, 420 ratings"}
LONGEST_SHOWN: Final = 2.0**11  # minutes
_PLACES: Final = 85  # six in each doubling of the time
_SHOWN: Final = 4  # listeners in the figure
# A learned curve matches if it is off by a tenth of the way from 0 to 1, in the mean.
_CLOSE: Final = 0.1
_ONE_SD: Final = 0.683  # of a normal distribution
# A band counts as calibrated if it holds the truth that often, give or take this.
_CALIBRATED: Final = 0.1
_LOWEST, _HIGHEST = -0.35, 1.5  # of drawn curves
_MARK: Final = 0.05  # height of the marks for repeats


def jobs(plan: Plan) -> Sequence[Job]:
    """Return one job for each listener and way of listening."""
    size = {"songs": _SONGS, "features": _FEATURES, "seed": plan.seed}
    return [
        Job.of(learn, f"{way}-{run:02d}", listening=way, run=run, steps=_STEPS[way], **size)
        for run in range(plan.pick(quick=_SHOWN, full=16))
        for way in _STEPS
    ]


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return how well the curves match."""
    found = grouped(jobs(plan), results, "listening")
    matches = {way: [match(each) for each in listeners] for way, listeners in found.items()}
    return TEXTS.chapter(
        method={"songs": _SONGS, "features": _FEATURES, "steps": _STEPS, "places": _PLACES},
        findings=(_shape(matches), _band(matches)),
        tables=(TEXTS.table("summary", _summary_rows(matches)),),
        drawings=(
            TEXTS.drawing(
                "novelty-learned",
                lambda figure: _draw(figure, found),
                inches=(11.5, 5.6),
                **_numbers(matches),
            ),
        ),
    )


# ── Learning ─────────────────────────────────────────────────────────────────────────────


def places() -> Vector:
    """Return the minutes at which curves are compared, from the first knot to the last."""
    return np.geomspace(2.0**-3, LONGEST_SHOWN, _PLACES)


def learn(*, listening: str, run: int, steps: int, songs: int, features: int, seed: int) -> Json:
    """Return the curve that is learned from one listener's ratings, and the truth; a job."""
    meeting = GaussianWorld(songs=songs, features=features).meeting(run, seed)
    radio = meeting.radio(_ALGORITHM, seed=radio_seed(seed, run))
    clock = _CLOCKS[listening]
    played = follow(radio, meeting.listener, steps=steps, clock=clock, seed=seed, number=run)
    recovery_time = meeting.listener.recovery_time
    mean, deviation = learned_curve(radio.model.belief, places())
    truth = novelty(places(), recovery_time) / novelty(MONTH, recovery_time)
    return {
        "recovery_time": recovery_time,
        "repeats": played.elapsed[played.elapsed < MONTH].tolist(),
        "mean": mean.tolist(),
        "standard_deviation": deviation.tolist(),
        "truth": truth.tolist(),
    }


def learned_curve(belief: VariationalBelief, minutes: Vector) -> tuple[Vector, Vector]:
    """Return mean and standard deviation of β't, in units of the mean for an unheard song."""
    factor = belief.model.factors[1]
    at = np.append(minutes, MONTH)
    design = factor.design(Songs.of(features=np.zeros((len(at), belief.model.columns)), elapsed=at))
    means: Any = design @ belief.means[1]
    deviations = np.linalg.norm(design @ triangular_inverse(belief.precision_roots[1]).T, axis=1)
    unheard = float(means[-1])
    return frozen(means[:-1] / unheard), frozen(deviations[:-1] / abs(unheard))


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One learned curve beside the truth; None where nothing was visited."""

    longest: float | None  # minutes after which a song was heard again
    error: float | None  # root mean squared difference over the visited places
    error_everywhere: float  # from 2⁻³ to 2¹¹ minutes
    coverage: float | None  # share of the visited places at which the band holds the truth
    width_outside: float | None  # the largest half-width of the band at the others


def match(result: Mapping[str, Any]) -> Match:
    """Return how well a result of `learn` matches."""
    mean, deviation, truth = (
        np.array(result[name]) for name in ("mean", "standard_deviation", "truth")
    )
    times = result["repeats"]
    shortest, longest = (min(times), max(times)) if times else (math.inf, None)
    visited = (places() >= shortest) & (places() <= (longest or 0.0))
    away = mean - truth
    inside = np.abs(away) <= deviation
    return Match(
        longest=longest,
        error=_rms(away[visited]) if visited.any() else None,
        error_everywhere=_rms(away),
        coverage=float(inside[visited].mean()) if visited.any() else None,
        width_outside=None if visited.all() else float(deviation[~visited].max()),
    )


def _rms(values: Vector) -> float:
    return math.sqrt(float(np.square(values).mean()))


# ── Claims ───────────────────────────────────────────────────────────────────────────────


def _shape(matches: Mapping[str, Sequence[Match]]) -> Finding:
    everywhere = [_over(some, "error_everywhere") for some in matches.values()]
    visited = [_over(some, "error") for some in matches.values()]
    verdict = Verdict.PARTLY if all(map(_is_close, visited)) else Verdict.FAILS
    if all(map(_is_close, everywhere)):
        verdict = Verdict.HOLDS
    if not any(visited):
        verdict = Verdict.OPEN
    return TEXTS.finding("shape", verdict, close=_CLOSE, **_numbers(matches))


def _is_close(estimate: MeanEstimate | None) -> bool:
    return estimate is not None and estimate.mean <= _CLOSE


def _band(matches: Mapping[str, Sequence[Match]]) -> Finding:
    # A listener counts once: the mean of both ways of listening.
    each = [_over(pair, "coverage") for pair in zip(*matches.values(), strict=True)]
    known = [estimate.mean for estimate in each if estimate is not None]
    coverage = mean_estimate(known) if known else None
    interval = None if coverage is None else coverage.interval()
    return TEXTS.finding(
        "band",
        band_verdict(interval),
        coverage=None if coverage is None else coverage.mean,
        interval=interval,
        one_sd=_ONE_SD,
        calibrated=_CALIBRATED,
        **_numbers(matches),
    )


def band_verdict(interval: tuple[float, float] | None) -> Verdict:
    """Return the verdict from the interval of how often the band holds the truth."""
    answer = is_inside(interval, _ONE_SD - _CALIBRATED, _ONE_SD + _CALIBRATED)
    if interval is None or answer is not None:
        return verdict_on([answer])
    return Verdict.OPEN if interval[0] <= _ONE_SD <= interval[1] else Verdict.PARTLY


def _over(matches: Sequence[Match], name: str) -> MeanEstimate | None:
    """Return the mean over the listeners who have a value."""
    values = [getattr(each, name) for each in matches]
    known = [value for value in values if value is not None]
    return mean_estimate(known) if known else None


def _numbers(matches: Mapping[str, Sequence[Match]]) -> dict[str, Any]:
    """Return the numbers of the texts, by way of listening."""
    return {
        "visited": {way: _text(_over(some, "error")) for way, some in matches.items()},
        "everywhere": {
            way: _text(_over(some, "error_everywhere")) for way, some in matches.items()
        },
        "longest": max(each.longest or 0.0 for each in matches[SITTING]),
        "width": {
            way: max(each.width_outside or 0.0 for each in some) for way, some in matches.items()
        },
    }


def _text(estimate: MeanEstimate | None) -> str:
    return "–" if estimate is None else estimate.shown()


# ── Table and figure ─────────────────────────────────────────────────────────────────────


def _summary_rows(matches: Mapping[str, Sequence[Match]]) -> list[tuple[Cell, ...]]:
    measures = ("error", "error_everywhere", "coverage")
    return [
        (_LABELS[way], len(some), *(_text(_over(some, name)) for name in measures))
        for way, some in matches.items()
    ]


def _draw(figure: Figure, found: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Draw one row for each way of listening, one column for each of the first listeners."""
    panels = figure.subplots(len(found), _SHOWN, sharex=True, sharey=True, squeeze=False)
    for line, (way, listeners) in zip(panels, found.items(), strict=True):
        for axes, result in zip(line, listeners, strict=False):
            _draw_listener(axes, result)
        line[0].set_ylabel(f"{_LABELS[way]}\nnovelty, scaled")
    for axes, result in zip(panels[0], found[SITTING], strict=False):
        axes.set_title(f"s = {result['recovery_time']:,.0f} minutes")
    for axes in panels[-1]:
        axes.set_xlabel("minutes since it was heard")
    panels[0][0].legend(loc="upper left", fontsize=8.5)


def _draw_listener(axes: Axes, result: Mapping[str, Any]) -> None:
    colour, minutes = look_of(_ALGORITHM).colour, places()
    mean, deviation = np.array(result["mean"]), np.array(result["standard_deviation"])
    low, high = (np.clip(mean + side * deviation, _LOWEST, _HIGHEST) for side in (-1, 1))
    axes.fill_between(minutes, low, high, color=colour, alpha=0.22, linewidth=0, label="± one sd")
    axes.plot(minutes, mean, color=colour, linewidth=2, label="learned")
    axes.plot(minutes, result["truth"], color=TRUTH, linestyle="--", linewidth=1.4, label="truth")
    heard = [time for time in result["repeats"] if time <= LONGEST_SHOWN]
    axes.vlines(heard, _LOWEST, _LOWEST + _MARK, color=colour, linewidth=0.5)
    axes.set(xscale="log", xlim=(1.0, LONGEST_SHOWN), ylim=(_LOWEST, _HIGHEST))
    axes.xaxis.set_major_formatter(plain)
    axes.grid()


STUDY: Final = Study(
    name="novelty_learned",
    title="What the variational algorithm learns about novelty",
    jobs=jobs,
    chapter=chapter,
)

"""Learnt novelty as a chapter."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.paper.novelty_learnt.drawing import draw_learnt
from bandstand_lab.paper.novelty_learnt.learning import SITTING, WEEK, places
from bandstand_lab.paper.novelty_learnt.measures import match
from bandstand_lab.report.study import Chapter, Drawing, Finding, Job, Table, Verdict
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand_lab.paper.novelty_learnt.measures import Match
    from bandstand_lab.report.study import Cell, Json, Plan
    from bandstand_lab.statistics.summaries import MeanEstimate

_SONGS: Final = 200
_FEATURES: Final = 20
# As many as a subject of the paper rated, and a week of three sessions a day.
_STEPS: Final = {SITTING: 200, WEEK: 420}
_TITLES: Final = {SITTING: "one sitting, 200 ratings", WEEK: "one week, 420 ratings"}
_SHOWN: Final = 4
# A learnt curve matches if it is off by a tenth of the way from 0 to 1, in the mean.
_CLOSE: Final = 0.1
_ONE_SD: Final = 0.683  # of a normal distribution
# A band counts as calibrated if it holds the truth that often, give or take this.
_CALIBRATED: Final = 0.1
_INTRODUCTION: Final = (
    "The paper's fast algorithm does not know the formula for novelty; it learns a curve of "
    "straight pieces from the ratings. The paper shows four of its subjects' curves and says that "
    "they look like the formula. Nobody knows what those subjects' true curves were. Here the "
    "listeners are simulated, so the truth is known."
)
_METHOD: Final = (
    f"Listeners drawn as in the paper (s between 100 and 1,000 minutes, noise 1) rate what "
    f"Bayes-UCB-CN-V plays from {_SONGS} songs with {_FEATURES} features: in one sitting of "
    f"{_STEPS[SITTING]} songs with the paper's pauses, which takes three and a half hours, or "
    f"{_STEPS[WEEK]} songs over a week. The learnt curve β't is scaled to 1 for an unheard song; "
    "its band is one standard deviation to both sides. Places between the shortest and the "
    "longest time after which a song came back count as visited; curves are compared at "
    f"{len(places())} places from 2⁻³ to 2¹¹ minutes, evenly in the logarithm."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyLearnt:
    """The paper's Figure 13, with the truth beside it."""

    name: str = "novelty_learnt"
    title: str = "What the variational algorithm learns about novelty"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return one job for each listener and way of listening."""
        listeners = plan.pick(quick=_SHOWN, full=16)
        return [
            Job(
                key=_key(way, run),
                function="bandstand_lab.paper.novelty_learnt.learning:learn",
                arguments={
                    "listening": way,
                    "run": run,
                    "steps": _STEPS[way],
                    "songs": _SONGS,
                    "features": _FEATURES,
                    "seed": plan.seed,
                },
            )
            for run in range(listeners)
            for way in _STEPS
        ]

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return how well the curves match."""
        count = len(self.jobs(plan)) // len(_STEPS)
        found = {way: [results[_key(way, run)] for run in range(count)] for way in _STEPS}
        matches = {way: [match(each) for each in listeners] for way, listeners in found.items()}
        return Chapter(
            introduction=_INTRODUCTION,
            method=_METHOD,
            findings=(_shape(matches), _band(matches)),
            tables=(_summary_table(matches), _listener_table(matches)),
            drawings=(_drawing(found, matches),),
            data={
                "minutes": places().tolist(),
                "listeners": found,
                "matches": {way: [asdict(each) for each in some] for way, some in matches.items()},
            },
        )


def _key(way: str, run: int) -> str:
    return f"{way}-{run:02d}"


def _shape(matches: Mapping[str, Sequence[Match]]) -> Finding:
    everywhere = {way: _over(some, "error_everywhere") for way, some in matches.items()}
    visited = {way: _over(some, "error") for way, some in matches.items()}
    longest = max(each.longest or 0.0 for each in matches[SITTING])
    return Finding(
        paper="The learnt piecewise-linear novelty factors match 1 − exp(−t/s) well for t up to "
        "2¹¹ minutes.",
        place="Section 5.3.3, Figure 13",
        measured="After a week the learnt curve is off by "
        f"{_text(everywhere[WEEK])} in the mean over all times up to 2¹¹ minutes, and by "
        f"{_text(visited[WEEK])} where songs came back. After one sitting it is off by "
        f"{_text(visited[SITTING])} where songs came back, at most {longest:.0f} minutes later, "
        f"and by {_text(everywhere[SITTING])} over all times.",
        verdict=_shape_verdict(everywhere, visited),
        why=f"It holds if the root mean squared difference is at most {_CLOSE:g} in the mean over "
        "listeners, after either way of listening and over all times; partly if it is so where "
        "songs came back. In one sitting nothing comes back after more than a few hours, so what "
        "is drawn beyond is a straight line towards unheard songs and not something learnt.",
    )


def _shape_verdict(
    everywhere: Mapping[str, MeanEstimate | None], visited: Mapping[str, MeanEstimate | None]
) -> Verdict:
    if not any(visited.values()):
        return Verdict.OPEN
    if all(_is_close(estimate) for estimate in everywhere.values()):
        return Verdict.HOLDS
    return Verdict.PARTLY if all(map(_is_close, visited.values())) else Verdict.FAILS


def _is_close(estimate: MeanEstimate | None) -> bool:
    return estimate is not None and estimate.mean <= _CLOSE


def _band(matches: Mapping[str, Sequence[Match]]) -> Finding:
    # A listener counts once: the mean of both ways of listening.
    each = [_over(pair, "coverage") for pair in zip(*matches.values(), strict=True)]
    known = [estimate.mean for estimate in each if estimate is not None]
    coverage = mean_estimate(known) if known else None
    interval = None if coverage is None else coverage.interval()
    return Finding(
        paper="The red regions are confidence bands of one standard deviation.",
        place="Section 5.3.3, Figure 13",
        measured=f"{_coverage_text(coverage)} Outside, the band is up to "
        f"{_widest(matches[SITTING])} wide after one sitting and {_widest(matches[WEEK])} after "
        "a week.",
        verdict=band_verdict(interval),
        why=f"Rule: it holds if the whole interval over listeners is within {_ONE_SD:.1%} ± "
        f"{100 * _CALIBRATED:.0f} points, and does not if all of it is outside, be the band too "
        f"narrow or too wide. Partly outside, it holds partly if it excludes {_ONE_SD:.1%}, and "
        "cannot be told if it contains it. Neighbouring places go together, so it is taken over "
        "listeners. Straight pieces cannot follow the curve "
        "exactly, and mean field leaves out what content and novelty do not know of each other.",
    )


def _coverage_text(coverage: MeanEstimate | None) -> str:
    if coverage is None:
        return "No song came back."
    interval = coverage.interval()
    within = "" if interval is None else f" (95 % interval {interval[0]:.0%} to {interval[1]:.0%})"
    return (
        f"Where songs came back, the band holds the truth at {coverage.mean:.0%} of the places"
        f"{within}; a calibrated one would at {_ONE_SD:.0%}."
    )


def band_verdict(interval: tuple[float, float] | None) -> Verdict:
    """Return what follows from the interval of how often the band holds the truth."""
    if interval is None:
        return Verdict.OPEN
    low, high = interval
    if low >= _ONE_SD - _CALIBRATED and high <= _ONE_SD + _CALIBRATED:
        return Verdict.HOLDS
    if high < _ONE_SD - _CALIBRATED or low > _ONE_SD + _CALIBRATED:
        return Verdict.FAILS
    return Verdict.OPEN if low <= _ONE_SD <= high else Verdict.PARTLY


def _over(matches: Sequence[Match], name: str) -> MeanEstimate | None:
    """Return the mean over the listeners who have a value."""
    values = [getattr(each, name) for each in matches]
    known = [value for value in values if value is not None]
    return mean_estimate(known) if known else None


def _text(estimate: MeanEstimate | None) -> str:
    if estimate is None:
        return "nobody knows how much"
    error = "" if estimate.standard_error is None else f" ± {estimate.standard_error:.3f}"
    return f"{estimate.mean:.3f}{error}"


def _widest(matches: Sequence[Match]) -> str:
    widths = [each.width_outside for each in matches if each.width_outside is not None]
    return f"±{max(widths):.1f}" if widths else "nothing"


def _summary_table(matches: Mapping[str, Sequence[Match]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for way, some in matches.items():
        coverage = _over(some, "coverage")
        rows.append(
            (
                _TITLES[way],
                len(some),
                _text(_over(some, "error")),
                _text(_over(some, "error_everywhere")),
                "" if coverage is None else f"{coverage.mean:.0%}",
            )
        )
    return Table(
        title="Learnt curve against the truth",
        columns=(
            "listening",
            "listeners",
            "off by, where songs came back (± s.e.)",
            "off by, up to 2¹¹ minutes (± s.e.)",
            "places in the one-sd band",
        ),
        rows=tuple(rows),
        note="Root mean squared difference of curves that go from 0 to 1.",
    )


def _listener_table(matches: Mapping[str, Sequence[Match]]) -> Table:
    rows = [
        (
            _TITLES[way],
            round(each.recovery_time),
            each.repeats,
            _rounded(each.shortest, 1),
            _rounded(each.longest, 1),
            _rounded(each.error, 3),
            _rounded(each.error_everywhere, 3),
            _rounded(each.coverage, 2),
        )
        for way, some in matches.items()
        for each in some
    ]
    return Table(
        title="Every listener",
        columns=(
            "listening",
            "s, minutes",
            "repeats",
            "shortest time, minutes",
            "longest time, minutes",
            "off by, visited",
            "off by, all",
            "coverage",
        ),
        rows=tuple(rows),
    )


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _drawing(
    found: Mapping[str, Sequence[Mapping[str, Any]]], matches: Mapping[str, Sequence[Match]]
) -> Drawing:
    rows = {way: listeners[:_SHOWN] for way, listeners in found.items()}
    longest = max(each.longest or 0.0 for each in matches[SITTING][:_SHOWN])
    return Drawing(
        name="novelty-learnt",
        caption="Novelty as learnt (line, band of one standard deviation) and as it is (dashed) "
        "for four listeners; marks below show after how long songs came back. After a sitting "
        f"nothing is known of times beyond about {longest:.0f} minutes, and the band opens; "
        f"after a week the curve is off by {_text(_over(matches[WEEK], 'error_everywhere'))}.",
        draw=partial(draw_learnt, rows=rows, titles=_TITLES),
        width=11.5,
        height=5.6,
    )


STUDY: Final = NoveltyLearnt()

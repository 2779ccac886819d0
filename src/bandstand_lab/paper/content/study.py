"""The content study as a chapter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from bandstand_lab.content.plot import draw_content
from bandstand_lab.content.predictors import LABELS
from bandstand_lab.content.simulated import PAPER_FEATURES, PAPER_SONGS, PAPER_SPREAD
from bandstand_lab.paper.content.drawing import draw_shares
from bandstand_lab.paper.content.findings import below_random, features_inform, shown
from bandstand_lab.paper.content.jobs import compared, real_jobs, shares, simulated_jobs
from bandstand_lab.report.study import Chapter, Drawing, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand_lab.content.comparison import Comparison
    from bandstand_lab.report.study import Cell, Job, Json, Plan

_MAIN_SHARE: Final = 0.3
_INTRODUCTION: Final = (
    "Does the sound of a song tell how somebody will rate it? The paper had 52 students rate 400 "
    "songs each, predicted every rating from the others of the same student, and compared the "
    "error with that of random ratings. This chapter adds what is missing there: the error of "
    "always saying the student's mean, and that of a plain ridge regression."
)
_METHOD: Final = (
    "Ten folds, the same for every prediction. The content model is the exact engine with every "
    "song unheard, so that novelty is 1 and only Uc counts, with the radio's prior and with the "
    "paper's. Ridge regression chooses its strength anew inside each training fold, by the "
    "leave-one-out error there. Random draws come from the training fold's ratings. Features are "
    "standardised over all songs. Errors are taken by rater; means have standard errors over "
    "raters and differences are paired."
)
_SIMULATED: Final = (
    f" Simulated raters: {PAPER_SONGS} songs with {PAPER_FEATURES} independent features each, one "
    f"to five stars with the spread that the paper's numbers imply ({PAPER_SPREAD:.2f}), and a "
    "given share of the feeling's variance from the features."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentStudy:
    """The paper's check of its features, on real ratings if there are any."""

    name: str = "content"
    title: str = "Does the sound of songs explain ratings?"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return simulated raters at several shares, and those of the user's files."""
        simulated = [job for share in shares(plan) for job in simulated_jobs(plan, share)]
        return [*simulated, *real_jobs(plan)]

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return what the errors say."""
        by_share = {share: compared(simulated_jobs(plan, share), results) for share in shares(plan)}
        own = real_jobs(plan)
        real = compared(own, results) if own else None
        main = by_share[_MAIN_SHARE] if real is None else real
        return Chapter(
            introduction=_INTRODUCTION,
            method=_METHOD + _SIMULATED,
            findings=(
                below_random(real, by_share[_MAIN_SHARE], _MAIN_SHARE),
                features_inform(real, by_share[0.0], by_share),
            ),
            tables=(_main_table(main, real=real is not None), _share_table(by_share)),
            drawings=_drawings(main, by_share, real=real is not None),
            data={
                "simulated": {
                    f"{share:g}": comparison.as_json() for share, comparison in by_share.items()
                },
                "real": None if real is None else real.as_json(),
            },
        )


def _main_table(comparison: Comparison, *, real: bool) -> Table:
    against = {each.rival: each for each in comparison.against_rivals()}
    rows: list[tuple[Cell, ...]] = []
    for name in comparison.predictors:
        share, each = comparison.explained(name), against.get(name)
        rows.append(
            (
                LABELS[name],
                shown(comparison, name),
                None if share is None else f"{share.mean:.1%}",
                None if each is None else round(each.difference.mean, 3),
                None if each is None else "{:+.3f} to {:+.3f}".format(*each.difference.interval()),
                None if each is None else float(f"{each.corrected_p_value:.2g}"),
            )
        )
    whose = "Your raters" if real else f"Simulated raters, {_MAIN_SHARE:.0%} in the features"
    return Table(
        title=f"{whose}: {len(comparison.raters)}",
        columns=(
            "prediction",
            "RMSE (± s.e.)",
            "variance explained",
            "content model minus this",
            "95 % interval",
            "p (Holm)",
        ),
        rows=tuple(rows),
        note="Below 0 the content model is better. The variance is that around the rater's mean.",
    )


def _share_table(by_share: Mapping[float, Comparison]) -> Table:
    names = next(iter(by_share.values())).predictors
    return Table(
        title="Simulated raters: RMSE by how much of the feeling lies in the features (± s.e.)",
        columns=("share", "raters", *(LABELS[name] for name in names)),
        rows=tuple(
            (f"{share:.0%}", len(each.raters), *(shown(each, name) for name in names))
            for share, each in sorted(by_share.items())
        ),
    )


def _drawings(
    main: Comparison, by_share: Mapping[float, Comparison], *, real: bool
) -> tuple[Drawing, ...]:
    blind = by_share[0.0]
    ridge, content = (main.estimate(name).mean for name in ("ridge", "content"))
    passes = blind.estimate("content").mean < blind.estimate("random").mean
    moral = ": to be below random is no sign of information" if passes else ""
    better = "smaller" if ridge < content else "larger"
    return (
        Drawing(
            name="content-raters",
            caption=f"{'Your' if real else 'Simulated'} raters. The content model is off by "
            f"{content:.2f}, the rater's mean by {main.estimate('mean').mean:.2f}, random draws by "
            f"{main.estimate('random').mean:.2f}. Ridge regression, which chooses how much to hold "
            f"back, has a {better} error than the content model with its fixed prior: "
            f"{ridge:.2f}.",
            draw=partial(draw_content, comparison=main),
            height=4.2,
        ),
        Drawing(
            name="content-shares",
            caption="Where features tell nothing (share 0) the content model is off by "
            f"{blind.estimate('content').mean:.2f}, random draws by "
            f"{blind.estimate('random').mean:.2f}, and saying the mean by "
            f"{blind.estimate('mean').mean:.2f}{moral}.",
            draw=partial(draw_shares, by_share=by_share),
        ),
    )


STUDY: Final = ContentStudy()

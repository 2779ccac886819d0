"""The paper's efficiency study (Figure 8): how long training takes, and what grows how fast.

A job is one listener: every method learns from the same answers, one after the other. The
times, the rules and the words are those of `bandstand bench`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.report.study import Chapter, Drawing, Job, Table
from bandstand_lab.speed.claims import efficiency_findings, growth, in_order_of_time, ratios
from bandstand_lab.speed.learners import ITERATIONS, LABELS
from bandstand_lab.speed.training import (
    LARGE,
    TrainingRun,
    TrainingStudy,
    asked_size,
    study_of,
    train_once,
    warm_up,
)
from bandstand_lab.speed.world import PAPER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand_lab.report.study import Json, Plan
    from bandstand_lab.speed.evidence import Estimate

_COLUMNS: Final = 91
_COMPARED: Final = (
    ("metropolis", "variational-2"),
    ("mcmc", "variational-2"),
    ("least-squares", "variational-2"),
    ("least-squares-map", "variational-2"),
    ("least-squares-differences", "variational-2"),
    ("variational-3", "variational-2"),
    ("variational-2", "exact"),
    ("variational-2", "ridge"),
)


def train(*, ratings: int, turn: int, seed: int, columns: int, sampler_steps: int) -> Json:
    """Return how each method fared with the answers of one listener; a job."""
    warm_up(PAPER, columns, seed)
    runs = train_once(
        PAPER,
        ratings=ratings,
        turn=turn,
        columns=columns,
        seed=seed,
        on_run=lambda _: None,
        sampler_steps=sampler_steps,
    )
    return {method: run.as_json() for method, run in runs.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class EfficiencyStudy:
    """Training times over the number of ratings."""

    name: str = "efficiency"
    title: str = "Efficiency: how long it takes to learn"
    columns: int = _COLUMNS

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return one job for each listener and number of ratings."""
        return [
            Job(
                key=_key(size, turn),
                function="bandstand_lab.paper.efficiency:train",
                arguments={
                    "ratings": size,
                    "turn": turn,
                    "seed": plan.seed,
                    "columns": self.columns,
                    "sampler_steps": _sampler_steps(plan),
                },
                alone=True,
            )
            for turn in range(_rounds(plan))
            for size in _sizes(plan)
        ]

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return times, growth and ratios, and the verdict on each claim."""
        study = _study(plan, results)
        return Chapter(
            introduction=(
                "A radio that learns from every answer has to learn quickly. The paper compares "
                "how long three ways to train take: sampling (MCMC), variational inference, and "
                "a search for the best fit (L-BFGS-B). The exact quadrature, which the paper does "
                "not have, and LinUCB's ridge regression are measured beside them."
            ),
            method=_method(plan, self.columns),
            findings=efficiency_findings(study),
            tables=(_times(study), _ratios(study), _order(study)),
            drawings=(
                Drawing(
                    name="training-times",
                    caption=_caption(study),
                    draw=lambda figure: _draw(figure, study),
                    width=9.0,
                    height=5.2,
                ),
            ),
            data=_data(study),
        )


def _sizes(plan: Plan) -> tuple[int, ...]:
    return plan.pick(
        quick=(100, 200, 400, 1_000, 2_000), full=(100, 200, 400, 700, 1_000, 2_000, 3_000)
    )


def _rounds(plan: Plan) -> int:
    return plan.pick(quick=3, full=8)


def _sampler_steps(plan: Plan) -> int:
    return plan.pick(quick=1_000, full=5_000)


def _key(ratings: int, turn: int) -> str:
    return f"ratings-{ratings}-listener-{turn}"


def _study(plan: Plan, results: Mapping[str, Json]) -> TrainingStudy:
    runs: dict[tuple[str, int], list[TrainingRun]] = defaultdict(list)
    for turn in range(_rounds(plan)):
        for size in _sizes(plan):
            for method, run in results[_key(size, turn)].items():
                runs[method, size].append(TrainingRun(**run))
    return study_of(PAPER.name, runs, sampler_steps=_sampler_steps(plan))


def _method(plan: Plan, columns: int) -> str:
    scaled = "" if _sampler_steps(plan) == 5_000 else " (1,000 were run and scaled up)"
    return (
        f"{_rounds(plan)} simulated listeners of the paper's kind answered N times each, about "
        f"songs of {columns} features, half of them heard within the last two days. All methods "
        "learnt from the same answers in one process on one thread, each listener beginning with "
        "another method; so each listener gives one ratio for each pair. Times are processor "
        "time. Ratios are geometric means and exponents are means over listeners, both with "
        "Student's 95 % interval. The plain sampler is Metropolis within Gibbs with 5,000 steps"
        f"{scaled}; the collapsed one samples s alone until four chains agree and hold 2,000 "
        "effective draws. Both variational forms run until predictions move by less than "
        "1e-6 standard deviations."
    )


def _caption(study: TrainingStudy) -> str:
    size = study.sizes[-1]
    order = in_order_of_time(study, size)
    fastest, slowest = LABELS[order[0].method], LABELS[order[-1].method]
    over = ratios(study, "metropolis", "variational-2")[size]
    return (
        f"Both axes are logarithmic. With {size:,} ratings {fastest} is the fastest and {slowest} "
        f"the slowest; the sampler of 5,000 steps takes {over.shown()} times as long as "
        "variational inference with two factors."
    )


def _draw(figure: Figure, study: TrainingStudy) -> None:
    # Imported here: the jobs measure without matplotlib.
    from bandstand_lab.speed.plot import training_panel  # noqa: PLC0415

    training_panel(figure.subplots(), study)


def _times(study: TrainingStudy) -> Table:
    return Table(
        title="Time to learn from N ratings, in milliseconds (medians)",
        columns=(
            "method",
            *(f"N = {size:,}" for size in study.sizes),
            f"exponent of N from {LARGE} on",
            "iterations at both ends",
        ),
        rows=tuple(
            (
                LABELS[method],
                *(1_000 * study.seconds(method, size).median for size in study.sizes),
                _shown(growth(study, method, LARGE)),
                _iterations(study, method),
            )
            for method in study.methods
        ),
        note="The exponent is k of time ~ N^k, with its 95 % interval.",
    )


def _iterations(study: TrainingStudy, method: str) -> str:
    if method not in ITERATIONS:
        return ""
    first, last = (study.iterations(method, study.sizes[end]) for end in (0, -1))
    return f"{first:,.0f} to {last:,.0f} {ITERATIONS[method]}"


def _ratios(study: TrainingStudy) -> Table:
    return Table(
        title="How many times as long one takes as another (95 % intervals)",
        columns=("this one", "over this one", *(f"N = {size:,}" for size in study.sizes)),
        rows=tuple(
            (
                LABELS[above],
                LABELS[below],
                *(each.shown() for each in ratios(study, above, below).values()),
            )
            for above, below in _COMPARED
        ),
    )


def _order(study: TrainingStudy) -> Table:
    size = asked_size(study.sizes)
    return Table(
        title=f"What is faster than what, with {size:,} ratings",
        columns=("method", "median, ms", "times as long as the one above", "as variational"),
        rows=tuple(
            (
                LABELS[place.method],
                1_000 * place.median,
                _shown(place.over_faster),
                place.over_variational.shown(),
            )
            for place in in_order_of_time(study, size)
        ),
    )


def _shown(estimate: Estimate | None) -> str:
    return "" if estimate is None else estimate.shown()


def _data(study: TrainingStudy) -> dict[str, Any]:
    return {
        "training": [time.as_json() for time in study.times],
        "growth": {
            method: estimate.as_json()
            for method in study.methods
            if (estimate := growth(study, method, LARGE)) is not None
        },
        "ratios": [
            {"above": above, "below": below, "ratings": size, **estimate.as_json()}
            for above, below in _COMPARED
            for size, estimate in ratios(study, above, below).items()
        ],
    }


STUDY: Final = EfficiencyStudy()

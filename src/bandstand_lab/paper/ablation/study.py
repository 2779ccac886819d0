"""The chapter on the product of content and novelty, and on their sum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.types import frozen
from bandstand_lab.paper import orders
from bandstand_lab.paper.ablation.runs import KINDS, PRODUCT, SUM
from bandstand_lab.report import figures
from bandstand_lab.report.study import (
    BEYOND,
    Chapter,
    Drawing,
    Finding,
    Job,
    Table,
    Verdict,
)
from bandstand_lab.statistics.summaries import mean_curve, mean_estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand.types import Matrix
    from bandstand_lab.report.study import Cell as TableCell
    from bandstand_lab.report.study import Json, Plan

_PLAY: Final = "bandstand_lab.paper.ablation.runs:play"
_LISTENER: Final = {PRODUCT: "listeners who multiply", SUM: "listeners who add"}
_RADIO: Final = {PRODUCT: "product Uc·Un", SUM: "sum a·Uc + b·Un"}
_COLOUR: Final = {PRODUCT: figures.CYCLE[0], SUM: figures.CYCLE[1]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The size of the study."""

    songs: int
    features: int
    steps: int
    listeners: int

    @classmethod
    def of(cls, plan: Plan) -> Design:
        """Return the size that belongs to the plan."""
        return plan.pick(
            quick=cls(songs=300, features=10, steps=120, listeners=8),
            full=cls(songs=300, features=20, steps=200, listeners=16),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """The study of the model's form."""

    name: str = "ablation"
    title: str = "Product or sum: how content and novelty go together"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return one job per listener of each kind."""
        return tuple(_jobs(plan))

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return what it costs to add where the listener multiplies, and the other way round."""
        outcome = Outcome.of(plan, results)
        return Chapter(
            introduction=_INTRODUCTION,
            method=_method(outcome.design),
            findings=(_finding(outcome), _price_finding(outcome)),
            tables=(_table(outcome),),
            drawings=(_drawing(outcome),),
            data=_data(outcome),
        )


_INTRODUCTION: Final = (
    "The paper multiplies what a song's sound is worth by how new it is: a song just heard is "
    "worth nothing, however good it is. One could add instead: then a song just heard loses the "
    "same whether it is loved or not. The paper reports that the product did better with people. "
    "What a simulation can tell is how much either form loses when the truth is the other one."
)


def _method(design: Design) -> str:
    return (
        f"{design.listeners} simulated listeners of each kind: U = θ'x · u and U = θ'x + 3u with "
        "u = 1 − exp(−t/s), s ~ U(100, 1000) minutes, likings θ'x of new songs with a standard "
        f"deviation of 1, noise of 0.5; {design.songs} songs of {design.features} features, "
        f"{design.steps} songs each in sessions of 20, three a day, so that songs come back. Two "
        "Bayes-UCB radios, both with an intercept, both exact: given s each is a conjugate "
        "regression, on x·u for the product and on [x, u] for the sum, with the same priors, and "
        "s is integrated numerically. Both meet the same songs, listeners and noise."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """Regret by the kind of listener and the kind of radio: (listeners, steps) each."""

    design: Design
    regrets: Mapping[tuple[str, str], Matrix]
    repeats: Mapping[tuple[str, str], float]

    @classmethod
    def of(cls, plan: Plan, results: Mapping[str, Json]) -> Outcome:
        """Return the results as tables."""
        design = Design.of(plan)
        regrets, repeats = {}, {}
        for truth in KINDS:
            runs = [results[_key(truth, run)] for run in range(design.listeners)]
            for radio in KINDS:
                regrets[truth, radio] = frozen(np.array([run[radio]["regret"] for run in runs]))
                repeats[truth, radio] = float(np.mean([run[radio]["repeat_share"] for run in runs]))
        return cls(design=design, regrets=regrets, repeats=repeats)

    def cells(self) -> dict[str, orders.Cell]:
        """Return how the right form compares with the wrong one, for each kind of listener."""
        pairs = [
            orders.Pair(
                place=_LISTENER[truth],
                lower=self.regrets[truth, truth][:, -1],
                upper=self.regrets[truth, _other(truth)][:, -1],
            )
            for truth in KINDS
        ]
        return dict(zip(KINDS, orders.cells(pairs), strict=True))


def _other(kind: str) -> str:
    return SUM if kind == PRODUCT else PRODUCT


def _key(truth: str, run: int) -> str:
    return f"{truth}-{run:02d}"


def _jobs(plan: Plan) -> Iterator[Job]:
    design = Design.of(plan)
    for run in range(design.listeners):
        for truth in KINDS:
            arguments = {
                "truth": truth,
                "songs": design.songs,
                "features": design.features,
                "run": run,
                "seed": plan.seed,
                "steps": design.steps,
            }
            yield Job(key=_key(truth, run), function=_PLAY, arguments=arguments)


def _finding(outcome: Outcome) -> Finding:
    cells = outcome.cells()
    own, other = cells[PRODUCT], cells[SUM]
    return Finding(
        paper="The product Uc·Un does significantly better than the sum a·Uc + b·Un.",
        place="Sections 3.1 and 5.3.1",
        measured=(
            f"With {_LISTENER[PRODUCT]} the product has {100 * own.ratio:.0f} % of the sum's "
            f"regret ({orders.p_words(own.corrected)}); with {_LISTENER[SUM]} it has "
            f"{100 / other.ratio:.0f} % of it ({orders.p_words(other.corrected)})."
        ),
        verdict=_verdict(own, other),
        why=(
            "Rule: holds where the product has significantly less regret with both kinds of "
            "listeners, partly where only with those who multiply. The paper's evidence is that "
            "people are more like these; a simulation cannot show that, it can only show what "
            "is at stake."
        ),
    )


def _verdict(own: orders.Cell, other: orders.Cell) -> Verdict:
    """Return the verdict on the product; in `other` it is the side that should be higher."""
    if own.confirmed:
        return Verdict.HOLDS if other.contradicted else Verdict.PARTLY
    return Verdict.FAILS if own.contradicted else Verdict.OPEN


def _price_finding(outcome: Outcome) -> Finding:
    """Return which mistake costs more."""
    prices = {
        truth: outcome.regrets[truth, _other(truth)][:, -1] / outcome.regrets[truth, truth][:, -1]
        for truth in KINDS
    }
    wrong_product, wrong_sum = np.log(prices[SUM]), np.log(prices[PRODUCT])
    (cell,) = orders.cells([orders.Pair(place="", lower=wrong_product, upper=wrong_sum)])
    typical = {truth: float(np.exp(np.log(prices[truth]).mean())) for truth in KINDS}
    return Finding(
        paper="Multiplying where the listener adds is a smaller mistake than adding where the "
        "listener multiplies.",
        place=BEYOND,
        measured=(
            f"Multiplying where the listener adds multiplies regret by {typical[SUM]:.2f}, adding "
            f"where the listener multiplies by {typical[PRODUCT]:.2f} (geometric means; "
            f"difference {orders.p_words(cell.difference.p_value)})."
        ),
        verdict=orders.verdict([cell]),
        why="Rule: holds where multiplying is significantly the smaller mistake, by a paired "
        "t-test of the logarithms over listeners with the same taste.",
    )


def _table(outcome: Outcome) -> Table:
    rows: list[tuple[TableCell, ...]] = []
    half = outcome.design.steps // 2
    for truth in KINDS:
        for radio in KINDS:
            regret = outcome.regrets[truth, radio]
            middle, end = mean_estimate(regret[:, half - 1]), mean_estimate(regret[:, -1])
            rows.append(
                (
                    _LISTENER[truth],
                    _RADIO[radio],
                    middle.mean,
                    middle.standard_error,
                    end.mean,
                    end.standard_error,
                    100 * outcome.repeats[truth, radio],
                )
            )
    steps = outcome.design.steps
    columns = ("listeners", "radio", f"n = {half}", "± SE", f"n = {steps}", "± SE ", "repeats, %")
    return Table(title="Regret of both forms", columns=columns, rows=tuple(rows))


def _drawing(outcome: Outcome) -> Drawing:
    cells = outcome.cells()
    return Drawing(
        name="regret",
        caption=(
            f"Mean regret of {outcome.design.listeners} listeners with one standard error to both "
            f"sides. The right form has {100 * cells[PRODUCT].ratio:.0f} % of the wrong one's "
            f"regret with {_LISTENER[PRODUCT]} (left), {100 * cells[SUM].ratio:.0f} % with "
            f"{_LISTENER[SUM]} (right)."
        ),
        draw=partial(_draw, outcome),
        width=9.5,
        height=4.0,
    )


def _draw(outcome: Outcome, figure: Figure) -> None:
    panels = figure.subplots(1, 2, sharex=True)
    for axes, truth in zip(panels, KINDS, strict=True):
        _draw_listeners(axes, outcome, truth)
    panels[0].set_ylabel("regret")


def _draw_listeners(axes: Axes, outcome: Outcome, truth: str) -> None:
    steps = np.arange(1.0, outcome.design.steps + 1)
    for radio in KINDS:
        look = figures.Look(
            label=_RADIO[radio], colour=_COLOUR[radio], dashes="-" if radio == truth else "--"
        )
        curve = mean_curve(outcome.regrets[truth, radio])
        figures.draw_curve(axes, steps, curve.mean, look, spread=curve.standard_error, markers=0)
    axes.set_title(_LISTENER[truth])
    axes.set_xlabel("songs played, n")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, len(steps))
    axes.grid(axis="y")
    axes.legend(loc="upper left")


def _data(outcome: Outcome) -> dict[str, Json]:
    return {
        "listeners": outcome.design.listeners,
        "regret": {
            f"{_LISTENER[truth]}, {_RADIO[radio]}": regret.tolist()
            for (truth, radio), regret in outcome.regrets.items()
        },
        "right_against_wrong": {
            _LISTENER[truth]: cell.as_json() for truth, cell in outcome.cells().items()
        },
    }


STUDY: Final = Ablation()

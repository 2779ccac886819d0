"""Product or sum: U = Uc·Un against U = a·Uc + b·Un, with listeners of both kinds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import paper_prior
from bandstand.core.recommender import Recommender
from bandstand.types import frozen
from bandstand_lab.paper import _orders
from bandstand_lab.paper.additive_model import Additive
from bandstand_lab.report import figures
from bandstand_lab.report.study import Job, Study, Verdict, grouped
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.listener import SimulatedListener, drawn_recovery_time
from bandstand_lab.simulation.session import EVERYDAY, follow, radio_seed, stream
from bandstand_lab.statistics.paired import p_words
from bandstand_lab.statistics.summaries import mean_curve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.core.model.history import Songs
    from bandstand.types import Matrix, Vector
    from bandstand_lab.report.study import Chapter, Finding, Json, Plan
    from bandstand_lab.simulation.listener import Listener

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "ablation.toml")
PRODUCT, SUM = "product", "sum"
KINDS: Final = (PRODUCT, SUM)
_OTHER: Final = {PRODUCT: SUM, SUM: PRODUCT}
_LISTENER: Final = {PRODUCT: "listeners who multiply", SUM: "listeners who add"}
_RADIO: Final = {PRODUCT: "product Uc·Un", SUM: "sum a·Uc + b·Un"}
# New songs deserve 0 ± 1, and two answers to the same differ by about half of that.
_NOISE: Final = 0.5
# What novelty is worth to a listener who adds: as much as a favourite, three standard deviations
# above the rest, loses for one who multiplies.
_NOVELTY_WORTH: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddingListener(SimulatedListener):
    """U = θ'x + b·(1 − exp(−t/s)) plus normal noise.

    A song just heard loses the same, whether it is loved or not.
    """

    novelty_worth: float  # b: what a new song has over the same song just heard

    def expected_rating(self, songs: Songs) -> Vector:
        """Return U of each song."""
        curve = novelty(songs.elapsed, self.recovery_time)
        return np.asarray(self.liking(songs.features) + self.novelty_worth * curve)


def play(*, truth: str, songs: int, features: int, run: int, seed: int, steps: int) -> Json:
    """Return regret after each step and share of repeats of both kinds of radio; a job."""
    table, listener = _meeting(truth, songs, features, run, seed)
    found = {}
    for kind in KINDS:
        radio = _radio(kind, table, radio_seed(seed, run))
        trace = follow(radio, listener, steps=steps, clock=EVERYDAY, seed=seed, number=run)
        repeats = 1 - len(np.unique(trace.rows)) / len(trace)
        found[kind] = {"regret": trace.regret.tolist(), "repeat_share": repeats}
    return found


def _meeting(truth: str, songs: int, features: int, run: int, seed: int) -> tuple[Matrix, Listener]:
    """Return songs whose last feature is a constant 1, and a listener of one kind.

    The constant is for the radios: with it the product, too, can say that all songs are liked.
    """
    drawn = stream(seed, "songs", run).standard_normal((songs, features)) / np.sqrt(features)
    rng = stream(seed, "listener", run)
    taste = rng.standard_normal(features)
    # Every listener's likings have the same spread, so that regrets can be averaged.
    taste *= np.sqrt(features) / np.linalg.norm(taste)
    listener: dict[str, Any] = {
        "preference": frozen(np.append(taste, 0.0)),
        "recovery_time": drawn_recovery_time(rng),
        "noise_standard_deviation": _NOISE,
    }
    table = np.column_stack([drawn, np.ones(songs)])
    if truth == PRODUCT:
        return table, SimulatedListener(**listener)
    return table, AddingListener(novelty_worth=_NOVELTY_WORTH, **listener)


def _radio(kind: str, table: Any, seed: int) -> Recommender:
    """Return a Bayes-UCB radio on the product or on the sum, both exact."""
    radio = Recommender(features=table, algorithm="bayes-ucb-cn-x", raw=True, seed=seed)
    if kind == SUM:
        engine: Any = Additive(prior=paper_prior(table.shape[1] + 1))
        belief = engine.fit(radio.history)
        radio.model = replace(radio.model, engine=engine, belief=belief)
    return radio


def _size(plan: Plan) -> dict[str, int]:
    return plan.pick(
        quick={"songs": 300, "features": 10, "steps": 120, "listeners": 8},
        full={"songs": 300, "features": 20, "steps": 200, "listeners": 16},
    )


def jobs(plan: Plan) -> list[Job]:
    """Return one job per listener of each kind."""
    size = _size(plan)
    listeners = range(size.pop("listeners"))
    return [
        Job.of(play, f"{truth}-{run:02d}", truth=truth, run=run, seed=plan.seed, **size)
        for run in listeners
        for truth in KINDS
    ]


class FormRegrets(NamedTuple):
    """What one kind of radio did for one kind of listener."""

    regret: Matrix  # (listeners, steps)
    repeat_share: float


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return what it costs to add where the listener multiplies, and the other way round."""
    by_truth = grouped(jobs(plan), results, "truth")
    found = {
        (truth, radio): FormRegrets(
            np.array([run[radio]["regret"] for run in runs]),
            float(np.mean([run[radio]["repeat_share"] for run in runs])),
        )
        for truth, runs in by_truth.items()
        for radio in KINDS
    }
    size = _size(plan)
    looks = (size["steps"] // 2, size["steps"])
    rows = [
        (
            *(_LISTENER[truth], _RADIO[radio], *_orders.regret_cells(each.regret, looks)),
            100 * each.repeat_share,
        )
        for (truth, radio), each in found.items()
    ]
    # The last regrets of the right form and of the wrong one.
    ends = {
        truth: [found[truth, radio].regret[:, -1] for radio in (truth, _OTHER[truth])]
        for truth in KINDS
    }
    return TEXTS.chapter(
        method=size,
        findings=(_product_finding(ends),),
        tables=(TEXTS.table("regret", rows, looks=looks),),
        drawings=(TEXTS.drawing("regret", partial(_draw, found), inches=(9.5, 4.0), **size),),
    )


def _product_finding(ends: Mapping[str, Sequence[Vector]]) -> Finding:
    """Judge whether the right form has less regret with listeners of both kinds."""
    # In `other` the product should be higher.
    own, other = _orders.orders(
        (_LISTENER[truth], right, wrong) for truth, (right, wrong) in ends.items()
    )
    verdict = Verdict.OPEN if own.answer is None else Verdict.FAILS
    if own.answer:
        verdict = Verdict.HOLDS if other.answer is False else Verdict.PARTLY
    return TEXTS.finding(
        "product",
        verdict,
        multiplying=own.ratio,
        multiplying_p=p_words(own.corrected),
        adding=1 / other.ratio,
        adding_p=p_words(other.corrected),
    )


def _draw(found: Mapping[tuple[str, str], FormRegrets], figure: Figure) -> None:
    for axes, truth in zip(figure.subplots(1, 2, sharex=True), KINDS, strict=True):
        for radio, colour in zip(KINDS, figures.CYCLE, strict=False):
            dashes = "-" if radio == truth else "--"
            look = figures.Look(label=_RADIO[radio], colour=colour, dashes=dashes)
            curve = mean_curve(found[truth, radio].regret)
            steps = np.arange(1.0, len(curve.mean) + 1)
            spread = curve.standard_error
            figures.draw_curve(axes, steps, curve.mean, look, spread=spread, markers=0)
        axes.set(title=_LISTENER[truth], xlabel="songs played, n", ylabel="regret")
        axes.set_xlim(0, len(steps))
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        axes.legend(loc="upper left")


STUDY: Final = Study(
    name="ablation",
    title="Product or sum: how content and novelty go together",
    jobs=jobs,
    chapter=chapter,
)

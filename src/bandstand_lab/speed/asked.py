"""The figures that Bandstand promises about its speed, beside what was measured.

A figure holds if the median does; the quartiles say how sure that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bandstand_lab.speed.training import asked_size

if TYPE_CHECKING:
    from bandstand_lab.speed.bench import BenchResult
    from bandstand_lab.speed.timing import Spread
    from bandstand_lab.speed.training import TrainingStudy


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One promise and its measurement."""

    what: str
    world: str | None
    asked: str
    unit: str
    measured: Spread | None  # None where a yes or no was asked for
    holds: bool

    def shown(self) -> str:
        """Return the measurement as people read it: median and quartiles."""
        if self.measured is None:
            return "yes" if self.holds else "no"
        spread = self.measured
        middle, low, high = (number(x) for x in (spread.median, spread.lower, spread.upper))
        return f"{middle} {self.unit} ({low}–{high})"

    def as_json(self) -> dict[str, Any]:
        """Return the promise and the measurement."""
        return {
            "what": self.what,
            "world": self.world,
            "asked": self.asked,
            "measured": self.shown(),
            "holds": self.holds,
            "median": None if self.measured is None else self.measured.median,
            "minimum": None if self.measured is None else self.measured.minimum,
        }


def number(value: float) -> str:
    """Return a number with about three digits that mean something.

    >>> [number(x) for x in (0.0123, 0.814, 9.96, 84.3, 563.2, 1234.5)]
    ['0.012', '0.81', '9.96', '84.3', '563', '1,234']
    """
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def asked_figures(result: BenchResult) -> list[Figure]:
    """Return every promise with what was measured."""
    return [
        *_step_figures(result),
        *_training_figures(result.training, "paper"),
        *_training_figures(result.training_stars, "stars"),
        Figure(
            what="import bandstand",
            world=None,
            asked="< 0.3 s",
            unit="s",
            measured=result.imports.seconds,
            holds=result.imports.seconds.median < 0.3,
        ),
        Figure(
            what="neither JAX nor torch is loaded",
            world=None,
            asked="yes",
            unit="",
            measured=None,
            holds=not (result.imports.unwanted or result.unwanted_modules),
        ),
    ]


def _step_figures(result: BenchResult) -> list[Figure]:
    """Return one figure per situation, and whether the fast search was right every time."""
    figures = []
    for step in result.steps:
        ratio = step.ratio()
        figures.append(
            Figure(
                what=f"step, {step.picks} songs, {step.ratings:,} ratings",
                world=step.world,
                asked="≤ 1.0 × LinUCB",
                unit="×",
                measured=ratio,
                holds=ratio.median <= 1.0,
            )
        )
    figures.append(
        Figure(
            what="every checked choice is brute force's",
            world=None,
            asked="yes",
            unit="",
            measured=None,
            holds=all(step.agreed == step.checked for step in result.steps),
        )
    )
    return figures


def _training_figures(study: TrainingStudy, world: str) -> list[Figure]:
    size = asked_size(study.sizes)
    over_exact = study.ratio("metropolis", "exact", size)
    variational_over_exact = study.ratio("variational-2", "exact", size)
    variational = study.seconds("variational-2", size)
    over_variational = study.ratio("metropolis", "variational-2", size)

    def figure(what: str, asked: str, unit: str, measured: Spread, *, holds: bool) -> Figure:
        return Figure(
            what=f"{what}, {size:,} ratings",
            world=world,
            asked=asked,
            unit=unit,
            measured=measured,
            holds=holds,
        )

    return [
        figure(
            "sampler / exact",
            "≥ 50 ×",
            "×",
            over_exact,
            holds=over_exact.median >= 50,
        ),
        figure(
            "variational / exact",
            "> 1 ×",
            "×",
            variational_over_exact,
            holds=variational_over_exact.median > 1,
        ),
        figure(
            "variational inference", "< 0.2 s", "s", variational, holds=variational.median < 0.2
        ),
        figure(
            "sampler / variational",
            "≥ 20 ×",
            "×",
            over_variational,
            holds=over_variational.median >= 20,
        ),
    ]

"""The result of an experiment: regret, how fast it grows, and paired differences.

Differences are taken listener by listener (common random numbers) and tested by Student's t; all
p-values of one report are one family, corrected by Holm's method.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bandstand._util.power_laws import second_half_slopes
from bandstand.core.registry import DEFAULT
from bandstand.errors import InvalidInputError
from bandstand_lab.report.machine import machine
from bandstand_lab.statistics.paired import PairedDifference, holm, paired_difference
from bandstand_lab.statistics.summaries import MeanEstimate, mean_curve, mean_estimate

if TYPE_CHECKING:
    from bandstand.types import Vector
    from bandstand_lab.simulation.experiment import Experiment, ExperimentResult

# The second half must have two points for a line.
_MIN_STEPS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much more regret `algorithm` has than `reference` after `step` songs."""

    algorithm: str
    reference: str
    step: int
    estimate: PairedDifference
    corrected_p_value: float

    def as_json(self) -> dict[str, Any]:
        """Return the comparison, ready to be written."""
        return {
            "algorithm": self.algorithm,
            "reference": self.reference,
            "step": self.step,
            "mean": self.estimate.mean,
            "standard_error": self.estimate.standard_error,
            "interval": list(self.estimate.interval()),
            "degrees_of_freedom": self.estimate.degrees_of_freedom,
            "p_value": self.estimate.p_value,
            "corrected_p_value": self.corrected_p_value,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExperimentReport:
    """An experiment, its outcome, and the steps to report."""

    experiment: Experiment
    outcome: ExperimentResult
    steps: tuple[int, ...]
    reference: str

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        outcome: ExperimentResult,
        *,
        steps: tuple[int, ...] | None = None,
        reference: str | None = None,
    ) -> ExperimentReport:
        """Return a report of `steps` that compares all algorithms with `reference`.

        By default the steps are a quarter, a half and the end, and the reference is the default
        algorithm, or the last one if that was not run.
        """
        names = experiment.algorithms
        chosen = reference or (DEFAULT if DEFAULT in names else names[-1])
        looked_at = default_steps(experiment.steps) if steps is None else steps
        check_reference(chosen, names)
        check_steps(looked_at, experiment.steps)
        return cls(experiment=experiment, outcome=outcome, steps=looked_at, reference=chosen)

    def regret(self, algorithm: str, step: int) -> MeanEstimate:
        """Return the mean regret over listeners after `step` songs, counted from 1."""
        return mean_estimate(self._regrets(algorithm, step))

    def slope(self, algorithm: str) -> MeanEstimate | None:
        """Return the slope of the second half on logarithmic axes: k of regret ~ n^k.

        None where there is no slope: too few songs, or a listener who was never disappointed.
        """
        slopes = self.slopes(algorithm)
        return None if slopes is None else mean_estimate(slopes)

    def slopes(self, algorithm: str) -> Vector | None:
        """Return the slope for each listener, or None where one of them has none."""
        curves = self.outcome.regret(algorithm)
        steps = curves.shape[1]
        if steps < _MIN_STEPS or not (curves[:, steps // 2] > 0).all():
            return None
        return second_half_slopes(curves)

    @property
    def best(self) -> str:
        """The algorithm with the least mean regret at the end."""
        last = self.experiment.steps
        return min(self.experiment.algorithms, key=lambda name: self.regret(name, last).mean)

    def differences(self) -> tuple[Difference, ...]:
        """Return each algorithm's difference from the reference; none for a single listener."""
        return self._compared(self.reference, self.steps)

    def _compared(self, reference: str, steps: tuple[int, ...]) -> tuple[Difference, ...]:
        if self.experiment.runs < 2:
            return ()
        others = [name for name in self.experiment.algorithms if name != reference]
        pairs = [(name, step) for step in steps for name in others]
        found = [
            paired_difference(self._regrets(name, step), self._regrets(reference, step))
            for name, step in pairs
        ]
        corrected = holm([each.p_value for each in found])
        return tuple(
            Difference(
                algorithm=name,
                reference=reference,
                step=step,
                estimate=estimate,
                corrected_p_value=p_value,
            )
            for (name, step), estimate, p_value in zip(pairs, found, corrected, strict=True)
        )

    def _regrets(self, algorithm: str, step: int) -> Vector:
        regrets: Vector = self.outcome.regret(algorithm)[:, step - 1]
        return regrets

    def as_json(self) -> dict[str, Any]:
        """Return all results as JSON.

        `times` and `machine` differ from one run of the program to the next; all else follows
        from the seed, to the last bit.
        """
        names = self.experiment.algorithms
        return {
            "experiment": _plain(self.experiment),
            "regret": [
                {"algorithm": name, "step": step, **_as_json(self.regret(name, step))}
                for name in names
                for step in self.steps
            ],
            "slopes": [self._slope_as_json(name) for name in names],
            "differences": [each.as_json() for each in self.differences()],
            "curves": {name: self._curve(name) for name in names},
            "runs": [trace.as_json() for name in names for trace in self.outcome.traces[name]],
            "times": {name: self._times(name) for name in names},
            "machine": machine(),
        }

    def _slope_as_json(self, algorithm: str) -> dict[str, Any]:
        slopes = self.slopes(algorithm)
        if slopes is None:
            return {"algorithm": algorithm, "mean": None, "runs": None}
        return {
            "algorithm": algorithm,
            **_as_json(mean_estimate(slopes)),
            "runs": slopes.tolist(),
        }

    def _curve(self, algorithm: str) -> dict[str, Any]:
        curve = mean_curve(self.outcome.regret(algorithm))
        error = curve.standard_error
        return {
            "mean": curve.mean.tolist(),
            "standard_error": None if error is None else error.tolist(),
        }

    def _times(self, algorithm: str) -> dict[str, float]:
        """Return processor seconds of a step, in the median."""
        return {
            f"{what}_seconds_median": float(
                np.median(self.outcome.table(algorithm, f"{what}_seconds"))
            )
            for what in ("choose", "learn")
        }


def default_steps(steps: int) -> tuple[int, ...]:
    """Return a quarter, a half and all of the steps.

    >>> default_steps(200), default_steps(2)
    ((50, 100, 200), (1, 2))
    """
    return tuple(sorted({max(steps // 4, 1), max(steps // 2, 1), steps}))


def check_steps(looked_at: tuple[int, ...], steps: int) -> None:
    """Refuse steps outside the experiment."""
    bad = [step for step in looked_at if not 1 <= step <= steps]
    if bad or not looked_at:
        got = bad[0] if bad else "none"
        msg = f"the steps to look at must be from 1 to {steps}, got {got}"
        raise InvalidInputError(msg)


def check_reference(reference: str, names: tuple[str, ...]) -> None:
    """Refuse a reference that was not run."""
    if reference not in names:
        msg = f"the reference must be one of {', '.join(names)}, got {reference!r}"
        raise InvalidInputError(msg)


def _plain(experiment: Experiment) -> dict[str, Any]:
    return {
        "world": experiment.world.describe(),
        "algorithms": list(experiment.algorithms),
        "runs": experiment.runs,
        "steps": experiment.steps,
        "seed": experiment.seed,
        "clock": asdict(experiment.clock),
    }


def _as_json(estimate: MeanEstimate) -> dict[str, Any]:
    interval = estimate.interval()
    return {
        "mean": estimate.mean,
        "standard_error": estimate.standard_error,
        "interval": None if interval is None else list(interval),
    }


# Columns, where the output is not a terminal.
_FILE_WIDTH: Final = 120
_SMALLEST_P: Final = 1e-4


def print_report(report: ExperimentReport, console: Console | None = None) -> None:
    """Print regrets with slopes, then the differences from the reference."""
    screen = console or Console(highlight=False)
    if not screen.is_terminal:
        screen.width = max(screen.width, _FILE_WIDTH)
    screen.print("Regret: mean ± standard error over listeners, the least at the top", style="bold")
    screen.print(_regret_table(report))
    differences = report.differences()
    if differences:
        title = f"Regret above that of {report.reference}, listener by listener"
        screen.print(title, style="bold")
        screen.print(_difference_table(differences))
    screen.print(_about(report), soft_wrap=True)


def _table() -> Table:
    return Table(box=SIMPLE_HEAD)


def _regret_table(report: ExperimentReport) -> Table:
    last = report.steps[-1]
    table = _table()
    table.add_column("algorithm", no_wrap=True)
    for step in report.steps:
        table.add_column(f"n = {step:,}", justify="right", no_wrap=True)
    table.add_column("slope [95 %]", justify="right", no_wrap=True)
    order = sorted(report.experiment.algorithms, key=lambda name: report.regret(name, last).mean)
    for name in order:
        cells = [with_error(report.regret(name, step)) for step in report.steps]
        table.add_row(name, *cells, _slope(report.slope(name)))
    return table


def _difference_table(differences: tuple[Difference, ...]) -> Table:
    table = _table()
    table.add_column("algorithm", no_wrap=True)
    for name in ("n", "difference [95 %]", "p", "p, Holm"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in differences:
        low, high = each.estimate.interval()
        mean, least, most = figures(each.estimate.mean, low, high)
        table.add_row(
            each.algorithm,
            f"{each.step:,}",
            rf"{mean} \[{least}, {most}]",
            p_shown(each.estimate.p_value),
            p_shown(each.corrected_p_value),
        )
    return table


def _about(report: ExperimentReport) -> str:
    """Return the settings of the experiment, and what a slope is."""
    experiment = report.experiment
    world = ", ".join(f"{key} {value}" for key, value in experiment.world.describe().items())
    return (
        f"{counted(experiment.runs, 'listener')}, {counted(experiment.steps, 'song')} each, "
        f"seed {experiment.seed}. World: {world.replace('_', ' ')}. "
        "Slope: k of regret ~ n^k in the second half; 1 is no learning."
    )


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number of things in words.

    >>> counted(1, "song"), counted(2_000, "song"), counted(2, "person", "people")
    ('1 song', '2,000 songs', '2 people')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def figures(*values: float) -> list[str]:
    """Return numbers that belong together, with about three digits of the largest.

    >>> figures(1234.5, 61.7), figures(31.42, -3.14), figures(0.1234)
    (['1,234', '62'], ['31.4', '-3.1'], ['0.123'])
    """
    largest = max(map(abs, values))
    digits = 0 if largest >= 100 else 1 if largest >= 10 else 2 if largest >= 1 else 3
    return [f"{value:,.{digits}f}" for value in values]


def with_error(estimate: MeanEstimate) -> str:
    """Return a mean and its standard error, if it has one."""
    if estimate.standard_error is None:
        return figures(estimate.mean)[0]
    return " ± ".join(figures(estimate.mean, estimate.standard_error))


def p_shown(p_value: float) -> str:
    """Return a p-value as people write it.

    >>> p_shown(0.0421), p_shown(3e-9)
    ('0.042', '< 0.0001')
    """
    return f"< {_SMALLEST_P:.4f}" if p_value < _SMALLEST_P else f"{p_value:.2g}"


def _slope(slope: MeanEstimate | None) -> str:
    if slope is None:
        return "none"
    interval = slope.interval()
    shown = f"{slope.mean:.2f}"
    return shown if interval is None else rf"{shown} \[{interval[0]:.2f}, {interval[1]:.2f}]"

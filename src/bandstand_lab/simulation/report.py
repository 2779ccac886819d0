"""The result of an experiment: regret, how fast it grows, and paired differences.

Differences are taken listener by listener (common random numbers) and tested by Student's t; all
p-values of one report are one family, corrected by Holm's method.
"""

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bandstand._util.power_laws import second_half_slopes
from bandstand._util.words import counted, figure, figures
from bandstand.core.registry import WITHOUT_NAMES
from bandstand.types import Vector
from bandstand_lab.report.machine import machine
from bandstand_lab.simulation.experiment import Experiment, ExperimentResult
from bandstand_lab.statistics.paired import PairedDifference, p_shown, tested_together
from bandstand_lab.statistics.summaries import MeanEstimate, mean_curve, mean_estimate

# The second half must have two points for a line.
_MIN_STEPS: Final = 3


class Difference(NamedTuple):
    """How much more regret `algorithm` has than the reference after `step` songs."""

    algorithm: str
    step: int
    estimate: PairedDifference
    corrected_p_value: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExperimentReport:
    """An experiment and its outcome; every algorithm is compared with the reference."""

    experiment: Experiment
    outcome: ExperimentResult

    @property
    def steps(self) -> tuple[int, ...]:
        """The numbers of songs that are looked at: a quarter, a half and all of them."""
        steps = self.experiment.steps
        return tuple(sorted({max(steps // 4, 1), max(steps // 2, 1), steps}))

    @property
    def reference(self) -> str:
        """The default algorithm, or the last one if that was not run."""
        names = self.experiment.algorithms
        return WITHOUT_NAMES if WITHOUT_NAMES in names else names[-1]

    def regret(self, algorithm: str, step: int) -> MeanEstimate:
        """Return the mean regret over listeners after `step` songs, counted from 1."""
        return mean_estimate(self.outcome.regret(algorithm)[:, step - 1])

    def slopes(self, algorithm: str) -> Vector | None:
        """Return each listener's slope of the second half on logarithmic axes: k of regret ~ n^k.

        None where there is no slope: too few songs, or a listener who was never disappointed.
        """
        curves = self.outcome.regret(algorithm)
        steps = curves.shape[1]
        if steps < _MIN_STEPS or not (curves[:, steps // 2] > 0).all():
            return None
        return second_half_slopes(curves)

    def by_regret(self, step: int) -> list[str]:
        """Return the algorithms, the one with the least mean regret after `step` songs first."""
        return sorted(self.experiment.algorithms, key=lambda name: self.regret(name, step).mean)

    def differences(self) -> list[Difference]:
        """Return each algorithm's difference from the reference; none for a single listener."""
        if self.experiment.runs < 2:
            return []
        others = [name for name in self.experiment.algorithms if name != self.reference]
        keys = list(product(self.steps, others))
        tests = tested_together(
            (self.outcome.regret(each)[:, step - 1] for each in (name, self.reference))
            for step, name in keys
        )
        return [
            Difference(name, step, *test) for (step, name), test in zip(keys, tests, strict=True)
        ]

    def as_json(self) -> dict[str, Any]:
        """Return all results as JSON.

        `times` and `machine` differ from one run of the program to the next; all else follows
        from the seed, to the last bit.
        """
        names = self.experiment.algorithms
        return {
            "experiment": asdict(self.experiment) | {"world": self.experiment.world.describe()},
            "regret": [
                {"algorithm": name, "step": step, **self.regret(name, step).as_json()}
                for name in names
                for step in self.steps
            ],
            "slopes": [self._slope_as_json(name) for name in names],
            "differences": [
                {
                    "algorithm": each.algorithm,
                    "reference": self.reference,
                    "step": each.step,
                    **each.estimate.as_json(),
                    "corrected_p_value": each.corrected_p_value,
                }
                for each in self.differences()
            ],
            "curves": {name: self._curve(name) for name in names},
            "runs": [
                {"algorithm": name, "run": run, **trace.as_json()}
                for name in names
                for run, trace in enumerate(self.outcome.traces[name])
            ],
            "times": {name: self._times(name) for name in names},
            "machine": machine(),
        }

    def _slope_as_json(self, algorithm: str) -> dict[str, Any]:
        slopes = self.slopes(algorithm)
        if slopes is None:
            return {"algorithm": algorithm, "mean": None, "runs": None}
        estimate = mean_estimate(slopes).as_json()
        return {"algorithm": algorithm, **estimate, "runs": slopes.tolist()}

    def _curve(self, algorithm: str) -> dict[str, Any]:
        curve = mean_curve(self.outcome.regret(algorithm))
        error = None if curve.standard_error is None else curve.standard_error.tolist()
        return {"mean": curve.mean.tolist(), "standard_error": error}

    def _times(self, algorithm: str) -> dict[str, float]:
        """Return processor seconds of a step, in the median."""
        traces = self.outcome.traces[algorithm]
        return {
            f"{what}_seconds_median": float(
                np.median([getattr(trace, f"{what}_seconds") for trace in traces])
            )
            for what in ("choose", "learn")
        }


# Columns, where the output is not a terminal.
_FILE_WIDTH: Final = 120


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


def _table(*columns: str) -> Table:
    """Return an empty table whose first column is the algorithm."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("algorithm", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _regret_table(report: ExperimentReport) -> Table:
    table = _table(*(f"n = {step:,}" for step in report.steps), "slope [95 %]")
    for name in report.by_regret(report.steps[-1]):
        cells = [with_error(report.regret(name, step)) for step in report.steps]
        table.add_row(name, *cells, _slope(report.slopes(name)))
    return table


def _difference_table(differences: list[Difference]) -> Table:
    table = _table("n", "difference [95 %]", "p", "p, Holm")
    for each in differences:
        mean, least, most = figures(each.estimate.mean, *each.estimate.interval())
        p_values = map(p_shown, (each.estimate.p_value, each.corrected_p_value))
        table.add_row(each.algorithm, f"{each.step:,}", rf"{mean} \[{least}, {most}]", *p_values)
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


def with_error(estimate: MeanEstimate) -> str:
    """Return a mean and its standard error, if it has one."""
    if estimate.standard_error is None:
        return figure(estimate.mean)
    return " ± ".join(figures(estimate.mean, estimate.standard_error))


def _slope(slopes: Vector | None) -> str:
    if slopes is None:
        return "none"
    slope = mean_estimate(slopes)
    interval = slope.interval()
    shown = f"{slope.mean:.2f}"
    return shown if interval is None else rf"{shown} \[{interval[0]:.2f}, {interval[1]:.2f}]"

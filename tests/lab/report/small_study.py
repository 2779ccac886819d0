"""Small studies for the tests of the frame: quick, and each with one thing that matters."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand_lab.report.study import (
    Chapter,
    Drawing,
    Finding,
    Job,
    Plan,
    Table,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

HERE = "tests.lab.report.small_study"


def mean_of_draws(seed: int, count: int, seconds: float = 0.0) -> dict[str, float]:
    """Return a number that the arguments fix, after a while."""
    time.sleep(seconds)
    draws = np.random.default_rng([seed, count]).normal(size=count)
    return {"mean": float(draws.mean()), "count": count}


def noted(folder: str, name: str, seconds: float = 0.0) -> str:
    """Leave a line for each call, when it begins and when it ends."""
    with (Path(folder) / "calls.txt").open("a", encoding="utf-8") as file:
        file.write(f"begin {name}\n")
        file.flush()
        time.sleep(seconds)
        file.write(f"end {name}\n")
    return name


def threads() -> dict[str, Any]:
    """Return in which process this is, and how many threads its linear algebra may use."""
    return {"process": os.getpid(), "threads": os.environ.get("OPENBLAS_NUM_THREADS")}


def chatting(text: str) -> str:
    """Return what is also printed."""
    sys.stdout.write(text)
    return text


def failing(reason: str) -> None:
    """Fail as a mistake of ours does."""
    raise RuntimeError(reason)


def refusing(file: str) -> None:
    """Fail as unusable data do."""
    msg = f"{file} line 3: expected a number, got 'x'"
    raise InvalidInputError(msg)


def interrupting() -> None:
    """Do as Ctrl-C does."""
    raise KeyboardInterrupt


def dying() -> None:
    """End the process as a lack of memory does."""
    os.kill(os.getpid(), signal.SIGKILL)


def waiting(file: str) -> None:
    """Write down in which process this is, whole, and stay."""
    unfinished = Path(f"{file}.part")
    unfinished.write_text(str(os.getpid()), encoding="utf-8")
    unfinished.rename(file)
    time.sleep(250)


def not_json() -> Any:
    """Return what JSON does not know."""
    return {"mean": float("nan")}


def size_of(file: str) -> int:
    """Return how many bytes a file of the user's has."""
    return Path(file).stat().st_size


def job(key: str, function: str, *, alone: bool = False, **arguments: Any) -> Job:
    return Job(key=key, function=f"{HERE}:{function}", arguments=arguments, alone=alone)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallStudy:
    """The mean of more and more draws comes near zero."""

    name: str = "means"
    title: str = "Means come near the truth"
    counts: tuple[int, ...] = (10, 100, 1_000)
    seconds: float = 0.0
    more: tuple[Job, ...] = ()

    def jobs(self, plan: Plan) -> list[Job]:
        draws = [
            job(
                f"draws-{count}", "mean_of_draws", seed=plan.seed, count=count, seconds=self.seconds
            )
            for count in self.counts
        ]
        return [*draws, *self.more]

    def chapter(self, plan: Plan, results: Mapping[str, Any]) -> Chapter:
        means = [results[f"draws-{count}"]["mean"] for count in self.counts]
        verdict = Verdict.HOLDS if abs(means[-1]) < 0.2 else Verdict.FAILS

        def draw(figure: Figure) -> None:
            axes = figure.subplots()
            axes.plot(self.counts, means, marker="o")
            axes.set(xscale="log", xlabel="draws", ylabel="mean")

        return Chapter(
            introduction="Does the mean of many draws come near the mean of their law?",
            method=f"Draws from a normal law with mean 0, seed {plan.seed}.\n\nNo more than that.",
            findings=(
                Finding(
                    paper="The mean comes near zero.",
                    place="Section 1, Figure 1",
                    measured=f"The last mean is {means[-1]:.3f}.",
                    verdict=verdict,
                    why="Holds if the last mean is within 0.2 of zero.",
                ),
            ),
            tables=(
                Table(
                    title="Means",
                    columns=("draws", "mean"),
                    rows=tuple(zip(self.counts, means, strict=True)),
                    note="From `numpy`.",
                ),
            ),
            drawings=(Drawing(name="means", caption="Means come near zero.", draw=draw),),
            data={"counts": list(self.counts), "means": means},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """A study of given jobs, whose chapter lists their results."""

    name: str = "jobs"
    title: str = "Jobs"
    asked: tuple[Job, ...] = ()
    given: Chapter | None = None
    seen: list[Mapping[str, Any]] = field(default_factory=list)

    def jobs(self, plan: Plan) -> tuple[Job, ...]:
        del plan
        return self.asked

    def chapter(self, plan: Plan, results: Mapping[str, Any]) -> Chapter:
        del plan
        self.seen.append(results)
        return self.given or Chapter(introduction="What?", method="So.", data=dict(results))

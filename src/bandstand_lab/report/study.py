"""A study: jobs that can run anywhere in any order, and a chapter of their results.

    plan ── jobs ──▶ results, one JSON value for each job ── chapter ──▶ findings, tables, figures

A chapter follows from the results alone, so a report can be made again from what is on disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

Json: TypeAlias = Any  # what json.dumps takes
Cell: TypeAlias = str | int | float | None
Size: TypeAlias = Literal["quick", "full"]
T = TypeVar("T")


class Verdict(StrEnum):
    """Whether a claim was seen again here."""

    HOLDS = "holds"
    PARTLY = "holds partly"
    FAILS = "does not hold"
    OPEN = "undecided"


def verdict_on(answers: Iterable[bool | None]) -> Verdict:
    """Return the verdict on a claim from the answers to its cases; None is an open case.

    It holds if every case is a yes, partly if some are, and does not hold if none is and some are
    a no; if all are open it is undecided.

    >>> [str(verdict_on(answers)) for answers in ([True, True], [True, None], [None, False], [])]
    ['holds', 'holds partly', 'does not hold', 'undecided']
    """
    cases = list(answers)
    if any(cases):
        return Verdict.HOLDS if all(cases) else Verdict.PARTLY
    return Verdict.FAILS if False in cases else Verdict.OPEN


def is_inside(interval: tuple[float, float] | None, low: float, high: float) -> bool | None:
    """Return whether all of an interval is from `low` to `high`; False if all of it is outside.

    >>> [is_inside(interval, 0.5, 1.0) for interval in ((0.6, 0.7), (0.1, 0.2), (0.4, 0.6), None)]
    [True, False, None, None]
    """
    if interval is None:
        return None
    if low <= interval[0] and interval[1] <= high:
        return True
    return False if interval[1] < low or interval[0] > high else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One claim of the paper beside what was measured; the verdict follows from the numbers."""

    paper: str  # what the paper says, in our words
    place: str  # where it says so, "Section 5.2.1, Figure 7", or "not in the paper"
    measured: str  # a sentence or two with numbers
    verdict: Verdict
    why: str  # by which rule, and where it is not plain: what is behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Numbers to be read; the report also keeps them as a CSV file."""

    name: str  # of the file, without its ending
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A figure, and a sentence that says what is seen in it; its numbers are in the data."""

    name: str  # of the file, without its ending
    caption: str
    draw: Callable[[Figure], None]
    width: float = 8.0  # inches
    height: float = 4.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """The findings of a study, with their evidence."""

    introduction: str  # the question, for a reader who has not seen the paper
    method: str  # what was done, so that another could do it again
    findings: tuple[Finding, ...] = ()
    tables: tuple[Table, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A call that takes seconds to a minute, whose result is a JSON value."""

    key: str  # a file's name, unique in its study
    function: str  # "package.module:function", called with the arguments by name
    arguments: Mapping[str, Json]
    alone: bool = False  # it measures time, so nothing may run beside it

    @classmethod
    def of(cls, function: Callable[..., Json], key: str, /, **arguments: Json) -> Job:
        """Return the call of a function at the top of a module.

        >>> Job.of(round, "tenths", number=1.23, ndigits=1).function
        'builtins:round'
        """
        name = f"{function.__module__}:{function.__name__}"
        return cls(key=key, function=name, arguments=arguments)

    @classmethod
    def timed(cls, function: Callable[..., Json], key: str, /, **arguments: Json) -> Job:
        """Return a call that measures time."""
        return replace(cls.of(function, key, **arguments), alone=True)


def grouped(jobs: Iterable[Job], results: Mapping[str, Json], *names: str) -> dict[Any, list[Json]]:
    """Return the results of jobs by the values of some of their arguments, in the jobs' order.

    >>> jobs = [Job.of(round, f"{n}", number=n, ndigits=n % 2) for n in range(4)]
    >>> grouped(jobs, {"0": "a", "1": "b", "2": "c", "3": "d"}, "ndigits")
    {0: ['a', 'c'], 1: ['b', 'd']}
    """
    found: dict[Any, list[Json]] = {}
    for job in jobs:
        values = tuple(job.arguments[name] for name in names)
        found.setdefault(values if len(values) > 1 else values[0], []).append(results[job.key])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The order of a run: its size, its seed, and data of the user's own."""

    size: Size
    seed: int = 1
    histories: tuple[Path, ...] = ()  # listening histories, in any format that `history` reads
    content: tuple[Path, Path] | None = None  # items and their ratings

    def pick(self, *, quick: T, full: T) -> T:
        """Return the one that belongs to the size."""
        return quick if self.size == "quick" else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One experiment of the paper."""

    name: str  # good for a folder
    title: str  # the heading of its chapter
    jobs: Callable[[Plan], Sequence[Job]]  # none where the plan lacks the data
    chapter: Callable[[Plan, Mapping[str, Json]], Chapter]  # from the results by key

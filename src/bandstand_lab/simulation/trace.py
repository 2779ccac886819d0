"""The steps of one algorithm for one listener, also as JSON."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.types import Indices, Vector, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bandstand_lab.simulation.session import Step

# How long something took is no part of what happened, and differs from time to time.
TIMES: Final = ("choose_seconds", "learn_seconds")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """One run of one algorithm; each array has one entry per step.

    `best` is what the best song of that moment would have been worth, for a listener who has heard
    what this algorithm has played.
    """

    algorithm: str
    run: int
    rows: Indices  # which song was played
    elapsed: Vector  # minutes since it was heard
    ratings: Vector  # what the listener said
    expected: Vector  # the mean of what the listener would say
    best: Vector
    choose_seconds: Vector  # processor time of the thread
    learn_seconds: Vector

    @classmethod
    def of(cls, algorithm: str, run: int, steps: Iterable[Step]) -> Trace:
        """Return the trace of a session."""
        each = list(steps)
        return cls(
            algorithm=algorithm,
            run=run,
            rows=_rows([step.row for step in each]),
            elapsed=frozen([step.elapsed for step in each]),
            ratings=frozen([step.rating for step in each]),
            expected=frozen([step.expected_rating for step in each]),
            best=frozen([step.best_expected_rating for step in each]),
            choose_seconds=frozen([step.choose_seconds for step in each]),
            learn_seconds=frozen([step.learn_seconds for step in each]),
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shortfall(self) -> Vector:
        """How much better the best song would have been at each step."""
        return np.asarray(self.best - self.expected)

    @property
    def regret(self) -> Vector:
        """R (32) after each step: the sum of all shortfalls so far."""
        return np.cumsum(self.shortfall)

    def as_json(self, *, times: bool = True) -> dict[str, Any]:
        """Return everything as plain numbers; from these the very same trace comes back.

        Without the `times` two runs with the same seed are equal to the last bit.
        """
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        kept = {name: values for name, values in arrays.items() if times or name not in TIMES}
        return {"algorithm": self.algorithm, "run": self.run, **kept}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Trace:
        """Return what `as_json` wrote; times that were left out are 0."""
        try:
            count = len(document["rows"])
            none = dict.fromkeys(TIMES, np.zeros(count))
            arrays = {name: np.asarray({**none, **document}[name]) for name in _ARRAYS}
            name, run = str(document["algorithm"]), int(document["run"])
        except (KeyError, TypeError, ValueError) as problem:
            msg = f"a trace must have a name, a run and its steps, got one without: {problem}"
            raise InvalidInputError(msg) from problem
        if any(values.shape != (count,) for values in arrays.values()):
            lengths = ", ".join(f"{key} {values.shape}" for key, values in arrays.items())
            msg = f"a trace must have one number per step in each list, got {lengths}"
            raise InvalidInputError(msg)
        rows = _rows(arrays.pop("rows"))
        numbers = {key: frozen(values) for key, values in arrays.items()}
        return cls(algorithm=name, run=run, rows=rows, **numbers)


_ARRAYS: Final = tuple(each.name for each in fields(Trace) if each.name not in {"algorithm", "run"})


def _rows(numbers: Any) -> Indices:
    rows = np.asarray(numbers, dtype=np.intp).view()
    rows.flags.writeable = False
    return rows

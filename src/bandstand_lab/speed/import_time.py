"""What `import bandstand` costs, and what it must not bring along."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.speed.timing import Spread, in_turn

if TYPE_CHECKING:
    from collections.abc import Callable

_PROGRAMS: Final = {"bare": "pass", "bandstand": "import bandstand"}
# Frameworks that nobody should have to load to hear a recommendation.
_UNWANTED: Final = frozenset({"jax", "jaxlib", "numpyro", "tensorflow", "torch"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportTime:
    """The time that `import bandstand` adds to a bare interpreter, in seconds."""

    seconds: Spread
    unwanted: tuple[str, ...]  # frameworks that the import brought along

    def as_json(self) -> dict[str, Any]:
        """Return what was measured."""
        return {"seconds": self.seconds.as_json(), "unwanted_modules": list(self.unwanted)}


def measure_import(turns: int, on_run: Callable[[], None]) -> ImportTime:
    """Return the time of the import in processes of their own; bare ones take turns with them."""
    extra = []
    for turn in range(turns):
        times = {name: _seconds(_PROGRAMS[name]) for name in in_turn(list(_PROGRAMS), turn)}
        extra.append(times["bandstand"] - times["bare"])
        on_run()
    loaded = _run("import sys, bandstand; print(*sys.modules)").split()
    return ImportTime(seconds=Spread(runs=tuple(extra)), unwanted=unwanted_among(loaded))


def unwanted_among(modules: list[str]) -> tuple[str, ...]:
    """Return which frameworks are among the loaded modules.

    >>> unwanted_among(["numpy", "torch.nn", "torch"])
    ('torch',)
    """
    return tuple(sorted(_UNWANTED & {name.split(".")[0] for name in modules}))


def _seconds(program: str) -> float:
    """Return the time on the wall clock: reading files is part of an import."""
    start = time.perf_counter()
    _run(program)
    return time.perf_counter() - start


def _run(program: str) -> str:
    return subprocess.run(  # noqa: S603  (our own interpreter and program)
        [sys.executable, "-c", program], check=True, capture_output=True, encoding="utf-8"
    ).stdout

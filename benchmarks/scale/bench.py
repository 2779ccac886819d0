"""`bandstand bench --scale`: a million songs and thousands of listeners, beside what was promised.

    python -m benchmarks.scale.bench '{"only": ["step"], "json": "-"}'

`bandstand bench` starts it so, with one thread for linear algebra.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bandstand._util.parallel import run_tasks
from bandstand.errors import BandstandError, InvalidInputError
from bandstand_lab.speed.machine import machine
from benchmarks.program import run_as_program
from benchmarks.scale import parts
from benchmarks.scale.asked import asked_lines
from benchmarks.scale.request import COUNTED, PARTS, quick_request, whole_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.scale.request import ScaleRequest

    OnRun = Callable[[str], None]

_EXPECTED_REPORTS: Final = 40  # about so many times a whole run tells where it is


class _Measured(NamedTuple):
    """One part: what was found, or why nothing was."""

    name: str
    seconds: float
    found: dict[str, Any] | None
    problem: str = ""


def measure(request: ScaleRequest, on_run: OnRun) -> dict[str, Any]:
    """Return everything that was measured, ready for JSON; `on_run` hears of every part."""
    began = time.perf_counter()
    all_parts = sorted(_all_measured(request, on_run), key=lambda one: [*PARTS].index(one.name))
    found = {one.name: one.found for one in all_parts if one.found is not None}
    return {
        "request": asdict(request),
        "machine": machine(),
        "seconds": {
            **{one.name: one.seconds for one in all_parts},
            "all": time.perf_counter() - began,
        },
        "asked": [line.as_json() for line in asked_lines(found)],
        "unmeasured": {one.name: one.problem for one in all_parts if one.found is None},
        "parts": found,
    }


def _all_measured(request: ScaleRequest, on_run: OnRun) -> Iterator[_Measured]:
    """Yield every part: what is timed alone, what is counted side by side."""
    libraries = parts.Libraries(request)
    for name in PARTS:
        if name in request.only and name not in COUNTED:
            yield _measured(name, request, libraries, on_run)
    libraries.forget()
    counted = [name for name in COUNTED if name in request.only]
    if counted:
        on_run(f"counted side by side: {', '.join(counted)}")
    yield from (one for _, one in run_tasks(_counted, [(name, request) for name in counted]))


def _measured(
    name: str, request: ScaleRequest, libraries: parts.Libraries, on_run: OnRun
) -> _Measured:
    start = time.perf_counter()
    try:
        found = _MEASURES[name](request, libraries, on_run)
    except (BandstandError, ImportError, OSError) as problem:
        # Dask or PostgreSQL may not be there; what else was measured is not lost for that.
        return _Measured(name, time.perf_counter() - start, None, str(problem))
    return _Measured(name, time.perf_counter() - start, found)


def _counted(task: tuple[str, ScaleRequest]) -> _Measured:
    name, request = task
    return _measured(name, request, parts.Libraries(request), lambda _: None)


def _scan(request: ScaleRequest, libraries: parts.Libraries, on_run: OnRun) -> dict[str, Any]:
    from benchmarks.scale import scanning  # noqa: PLC0415  (Dask only where it is wanted)

    del libraries
    if request.small:
        return scanning.measure(on_run=on_run, files=8, pieces=4, rounds=1)
    return scanning.measure(on_run=on_run)


def _serving(request: ScaleRequest, libraries: parts.Libraries, on_run: OnRun) -> dict[str, Any]:
    from benchmarks.scale import serving  # noqa: PLC0415  (servers only where wanted)

    del libraries
    return serving.measure(on_run=on_run, **(serving.SMALL if request.small else {}))


_MEASURES: Final[dict[str, Callable[[ScaleRequest, parts.Libraries, OnRun], dict[str, Any]]]] = {
    "step": parts.step,
    "playlist": parts.playlist,
    "small": parts.small,
    "growth": parts.growth,
    "memory": parts.memory,
    "cold": parts.cold,
    "changing": parts.changing,
    "correctness": parts.correctness,
    "costs": parts.costs,
    "scan": _scan,
    "serving": _serving,
}


@contextmanager
def _progress(total: int) -> Iterator[OnRun]:
    """Show a bar on standard error, or where that is a file a line as each part begins."""
    from bandstand_lab.speed.table import progress  # noqa: PLC0415  (needs a screen)

    if sys.stderr.isatty():
        with progress(total) as on_run:
            yield on_run
        return
    began = time.perf_counter()

    def tell(what: str) -> None:
        sys.stderr.write(f"{time.perf_counter() - began:5.0f} s  {what}\n")
        sys.stderr.flush()

    yield tell


def main(order: str) -> None:
    """Measure, and print or write what the order (JSON) asks for."""
    from benchmarks.scale.table import print_tables  # noqa: PLC0415  (needs a screen)

    asked: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in json.loads(order).items()
    }
    json_file, plot_file = asked.pop("json", None), asked.pop("plot", None)
    request = (quick_request if asked.pop("quick", False) else whole_request)(**asked)
    if plot_file and "growth" not in request.only:
        msg = f"a figure shows the part growth, got only {', '.join(request.only)}"
        raise InvalidInputError(msg)
    with _progress(_EXPECTED_REPORTS * len(request.only) // len(PARTS)) as on_run:
        document = measure(request, on_run)
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    if json_file == "-":
        sys.stdout.write(text)
    else:
        print_tables(document)
        if json_file:
            Path(json_file).write_text(text, encoding="utf-8")
    if plot_file:
        from benchmarks.scale.plot import plot  # noqa: PLC0415

        plot(document, Path(plot_file))


if __name__ == "__main__":
    run_as_program(main)

"""A Dask cluster on this machine for as long as a measurement: each part a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from bandstand.errors import BandstandError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Nothing that other machines could see.
_LOCAL: Final = ("--host", "127.0.0.1", "--no-dashboard")
_PATIENCE: Final = 60.0  # seconds


@contextmanager
def private_cluster(*, workers: int) -> Iterator[str]:
    """Give the address of a scheduler that will have so many workers of one thread each."""
    with TemporaryDirectory() as folder:
        scheduler_file = Path(folder, "scheduler.json")
        processes = [_started("scheduler", folder, "--port", "0")]
        try:
            one = ("--nthreads", "1", "--no-nanny", "--local-directory", folder)
            processes += [_started("worker", folder, *one) for _ in range(workers)]
            yield _address(scheduler_file, processes[0])
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                _ended(process)


def _started(what: str, folder: str, *options: str) -> subprocess.Popen[bytes]:
    file = ("--scheduler-file", str(Path(folder, "scheduler.json")))
    return subprocess.Popen(  # noqa: S603 - our own words only
        [sys.executable, "-m", f"distributed.cli.dask_{what}", *_LOCAL, *options, *file],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _address(file: Path, scheduler: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and scheduler.poll() is None:
        try:
            return str(json.loads(file.read_text())["address"])
        except (FileNotFoundError, ValueError):  # not there, or not yet written to its end
            time.sleep(0.05)
    msg = "a Dask scheduler must start on this machine, but it did not; install bandstand[dask]"
    raise BandstandError(msg)


def _ended(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_PATIENCE / 4)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

"""A real Dask cluster on this machine: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tests.children import started
from tests.cli.running import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCAL = ("--host", "127.0.0.1", "--no-dashboard")
_PATIENCE = 60.0  # seconds for a scheduler to start on a busy machine


class Cluster:
    """A scheduler at `address`, and its workers, which are not restarted when they end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "scheduler.json"
        # A port that is free, and nothing that other machines could see.
        self.scheduler = self._start("scheduler", "--port", "0")
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        """Where the scheduler listens, once it does."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                return str(json.loads(self._file.read_text())["address"])
            except (FileNotFoundError, ValueError):
                assert time.monotonic() < until, "the scheduler must start"
                time.sleep(0.05)

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker, with one thread; it waits for the scheduler by itself."""
        options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(self._folder))
        worker = self._start("worker", *options)
        self.workers.append(worker)
        return worker

    def stop(self) -> None:
        """End all processes."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait(_PATIENCE)

    def _start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        file = ("--scheduler-file", str(self._file))
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{what}", *_LOCAL, *options, *file],
            env=environment(OPENBLAS_NUM_THREADS="1"),
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextmanager
def cluster(*, workers: int) -> Iterator[Cluster]:
    """Give a cluster, and end it afterwards."""
    with TemporaryDirectory() as folder:
        started = Cluster(Path(folder))
        try:
            for _ in range(workers):
                started.add_worker()
            yield started
        finally:
            started.stop()


_LONELY = """
from distributed import LocalCluster

if __name__ == "__main__":
    options = {"n_workers": 0, "threads_per_worker": 1, "processes": False}
    with LocalCluster(host="tcp://127.0.0.1", dashboard_address=None, **options) as cluster:
        print(cluster.scheduler_address, flush=True)
        input()
        cluster.scale(1)
        input()
"""


@contextmanager
def lonely_scheduler() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Give a scheduler and its address; it gets a worker, in its own process, for a line."""
    with started(
        [sys.executable, "-c", _LONELY],
        env=environment(OPENBLAS_NUM_THREADS="1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()


def children_of(process: subprocess.Popen[Any]) -> set[int]:
    """Return the ids of the processes that a process has started."""
    found = set()
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        with suppress(OSError):  # a thread that has ended meanwhile
            found |= {int(number) for number in (task / "children").read_text().split()}
    return found

"""Children end with the process that started them, however it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.child_processes import PATIENCE, started
from tests.fixtures.music.sandbox_children import eventually, living

# Starts a child that would sleep for ever, tells its number, and waits with it.
PARENT = """
import sys
sys.path[:] = {path!r}
from bandstand.music.sandbox import Limits
from tests.fixtures.music import sandbox_children as running
if __name__ == "__main__":
    with running.pool("sleep", workers=2, limits=Limits(may_start_programs={programs})) as made:
        run = made.run([(0, {{"seconds": 0}}), (1, {{"seconds": 600}}), (2, {{"seconds": 600}})])
        next(run)
        print(*made.groups, flush=True)
        next(run)
"""
# Inherits whatever its children leave behind, as the first process of a container does.
HEIR = """
import ctypes, sys
sys.path[:] = {path!r}
from bandstand.music.sandbox import Limits
from tests.fixtures.music import sandbox_children as running
if __name__ == "__main__":
    assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0
    if {blind}:
        running.Worker._reap_orphans = lambda worker: None
    jobs = [(number, {{"how": "refusal", "count": 2}}) for number in range(3)]
    with running.pool("start_and_forget", limits=Limits(may_start_programs=True)) as made:
        assert all(running.failure(result) for _, result in made.run(jobs))
    running.eventually(lambda: not any(map(running.living, made.groups)))
    print(len(running.zombies()))
"""
IDLE_PARENT = """
import sys, time
sys.path[:] = {path!r}
from tests.fixtures.music import sandbox_children as running
if __name__ == "__main__":
    with running.pool("who") as made:
        print(running.value(running.outcomes(made, [{{}}])[0])["process"], flush=True)
        time.sleep(600)
"""


@pytest.mark.parametrize("script", [PARENT, IDLE_PARENT], ids=["busy", "idle"])
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_children_end_with_their_parent(
    script: str, ending: signal.Signals, tmp_path: Path
) -> None:
    file = tmp_path / "parent.py"
    path = [str(Path(entry).absolute()) for entry in sys.path]
    file.write_text(script.format(path=path, programs=False))
    with started(
        [sys.executable, file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout is not None
        groups = [int(word) for word in parent.stdout.readline().split()]
        assert groups
        assert all(map(living, groups))
        os.kill(parent.pid, ending)
        assert parent.wait() != 0
        assert eventually(lambda: not any(map(living, groups)))


@pytest.mark.parametrize(("blind", "left"), [(False, "0"), (True, "6")])
def test_what_children_leave_behind_is_waited_for_by_who_inherits_it(
    tmp_path: Path, left: str, *, blind: bool
) -> None:
    file = tmp_path / "heir.py"
    path = [str(Path(entry).absolute()) for entry in sys.path]
    file.write_text(HEIR.format(path=path, blind=blind))
    heir = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert heir.stdout.strip() == left

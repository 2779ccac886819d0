"""A process gives up, for good, what it does not need in order to answer requests."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bandstand.music.sandbox import privileges, rlimits, seccomp

if TYPE_CHECKING:
    from bandstand.music.sandbox.limits import Limits


def confine(limits: Limits, *, parent: int, filtered: bool = True) -> list[str]:
    """Return the measures that are in force from now on; `filtered` is for tests alone."""
    _leave_for_nowhere()
    # Rights first: among them may be that of exceeding the limits.
    measures = ["rights"] if privileges.drop_capabilities() and privileges.hide_memory() else []
    measures += rlimits.apply(limits)
    if privileges.refuse_new_privileges():
        measures.append("new rights")
    if filtered and _filter_calls(limits, parent):
        measures.append("calls")
    return measures


def _filter_calls(limits: Limits, parent: int) -> bool:
    machine = seccomp.this_machine()
    if machine is None:
        return False
    steps = seccomp.program(
        machine,
        may_write=limits.written_bytes > 0,
        may_start_programs=limits.may_start_programs,
        own=os.getpid(),
        parent=parent,
    )
    with contextlib.suppress(OSError):
        seccomp.install(steps, machine)
        return True
    return False


def _leave_for_nowhere() -> None:
    """Work in a folder that exists no more: empty, and nothing can be put there."""
    # Where no folder can be made, the place stays what it was: the root folder.
    with contextlib.suppress(OSError):
        folder = tempfile.mkdtemp(prefix="bandstand-")
        os.chdir(folder)
        Path(folder).rmdir()

"""System calls that fail, as strace lets them."""

from __future__ import annotations

from tests.programs import require_program


def failing(fault: str, path: str) -> list[str]:
    """Return a command that runs another one, in which calls on a file fail.

    The command it runs has the number of the process, and may be killed as usual (`-D`). Calls
    are counted for each thread.
    """
    strace = require_program("strace")
    return [strace, "-D", "-f", "-qq", "-o", "/dev/null", "-P", path, "-e", f"inject={fault}"]

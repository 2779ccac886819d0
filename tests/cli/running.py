"""Running the command line, in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from bandstand.cli import main
from tests.children import PATIENCE

SOURCE = Path(__file__).resolve().parent.parent.parent / "src"


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def run(*args: str | Path) -> Outcome:
    """Run a command in this process, which is quick."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(arg) for arg in args])
    return Outcome(code, out.getvalue(), err.getvalue())


def run_apart(*args: str | Path, **variables: str) -> Outcome:
    """Run a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bandstand", *args],
        env=environment(**variables),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a process of its own, with the package on its path."""
    paths = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": paths, **variables}


def assert_refused(outcome: Outcome, *words: str, code: int = 2) -> None:
    """Check that one sentence on standard error, with these words in it, is all that came."""
    assert outcome.code == code, outcome
    assert not outcome.out
    assert outcome.err.endswith("\n")
    assert len(outcome.err.splitlines()) == 1, outcome.err
    assert "Traceback" not in outcome.err
    assert len(outcome.err) < 500
    for word in words:
        assert word in outcome.err, outcome.err

"""Two scans of one library into one store at the same time end as one would."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tests.fixtures.child_processes import started
from tests.fixtures.cli.run_command import environment
from tests.fixtures.music.killed_scans import make_library
from tests.fixtures.music.scan_command import command, contents, matrix, scanned

if TYPE_CHECKING:
    from pathlib import Path


def test_two_scans_at_once_end_as_one_would(tmp_path: Path) -> None:
    library, whole, shared = tmp_path / "library", tmp_path / "whole.db", tmp_path / "shared.db"
    make_library(library, files=40)
    scanned(library, store=whole)
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    reports = []
    with ExitStack() as running:
        both = [
            running.enter_context(
                started(command(library, store=shared), env=environment(), text=True, **options)
            )
            for _ in range(2)
        ]
        for process in both:
            out, err = process.communicate()
            assert process.returncode == 0, err
            reports.append(json.loads(out))
    found = contents(shared)
    assert found.facts == contents(whole).facts
    assert matrix(shared) == matrix(whole)
    assert sum(report["added"] for report in reports) == len(found.songs)

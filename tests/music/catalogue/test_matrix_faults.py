"""Crashes and crowds: there is always one whole catalogue, the old or the new."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from bandstand.music.catalogue.matrix import open_latest
from tests.fixtures.child_processes import PATIENCE, started
from tests.fixtures.music.small_catalogues import mark, write_marked

FIXTURES = Path(__file__).parents[2] / "fixtures" / "music"
WRITERS, TIMES = 3, 12


def test_a_crash_at_any_line_leaves_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    script = FIXTURES / "crash_everywhere.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
    )
    outcomes = json.loads(done.stdout)
    assert set(outcomes) == {"old", "new"}
    # First the old one, and from one line on the new one.
    assert outcomes == sorted(outcomes, reverse=True)
    assert min(outcomes.count("old"), outcomes.count("new")) > 20


def test_processes_that_write_at_once_never_show_a_reader_a_mixture(tmp_path: Path) -> None:
    write_marked(tmp_path, 1.0, 3)
    values = [1_000 * (number + 1) for number in range(WRITERS)]
    script, seen = FIXTURES / "write_often.py", set()
    with ExitStack() as ending:
        writers = [
            ending.enter_context(
                started([sys.executable, script, tmp_path, str(value), str(TIMES)])
            )
            for value in values
        ]
        while any(writer.poll() is None for writer in writers):
            catalogue = open_latest(tmp_path)
            assert catalogue is not None
            seen.add(mark(catalogue))
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    last = open_latest(tmp_path)
    assert last is not None
    assert mark(last) in {value + TIMES - 1 for value in values}
    assert len(seen) > 1
    number = 1 + WRITERS * TIMES
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", f"{number:012d}"]

"""Writes a catalogue again and again, and dies one line later each time.

Usage: python crash_everywhere.py FOLDER

Prints, as JSON, what a reader found after each death: "old", "new" or what was wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bandstand._util import atomic_files
from bandstand.music.catalogue import array_file, matrix
from tests.music.catalogue.small_catalogues import mark, write_marked

if TYPE_CHECKING:
    from types import FrameType

WATCHED = {array_file.__file__, atomic_files.__file__, matrix.__file__, shutil.__file__}


def dying_after(lines: int) -> Any:
    """Return a tracer that ends the process, without any farewell, at a line of the writer."""
    left = lines

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os._exit(9)
        return trace

    return trace


def written_by_a_child(folder: Path, lines: int) -> bool:
    """Return whether the child lived to the end."""
    child = os.fork()
    if not child:
        sys.settrace(dying_after(lines))
        write_marked(folder, 2.0, 5)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def found(folder: Path) -> str:
    catalogue = matrix.open_latest(folder)
    if catalogue is None:
        return "nothing"
    return {1.0: "old", 2.0: "new", 3.0: "newest"}[mark(catalogue)]


def main(folder: Path) -> list[str]:
    # A process that dies leaves what it wrote to the kernel, so there is no need to wait for
    # the disk here.
    os.fsync = lambda _: None  # type: ignore[assignment]
    write_marked(folder / "start", 1.0, 3)
    outcomes = []
    for lines in count():
        place = shutil.copytree(folder / "start", folder / "trial")
        done = written_by_a_child(place, lines)
        outcome = found(place)
        write_marked(place, 3.0, 4)
        left = sorted(path.name for path in place.iterdir())
        if found(place) != "newest" or len(left) != 2:
            outcome = f"{outcome}, and then {found(place)} with {left}"
        outcomes.append(outcome)
        shutil.rmtree(place)
        if done:
            return outcomes
    raise AssertionError


if __name__ == "__main__":
    json.dump(main(Path(sys.argv[1])), sys.stdout)

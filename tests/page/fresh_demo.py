"""How long a newcomer waits for music: from `./run demo` in a fresh clone to the first sound.

    python -m tests.page.fresh_demo [--working-tree]

Nothing of this user's environment is passed on but the PATH, so everything is installed and
composed anew. What counts is that the clock of a song moves in a real browser. A clone holds what
was committed; with --working-tree it is what the next commit could hold.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.web.live import browser, open_context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

PROJECT: Final = Path(__file__).resolve().parents[2]
PROMISED: Final = 60.0  # seconds
_PATIENCE: Final = 300.0
_ADDRESS: Final = re.compile(r"^Bandstand plays at (\S+)$", re.MULTILINE)
_IS_PLAYING: Final = "[...document.querySelectorAll('audio')].some((each) => each.currentTime > 0)"


def cloned(to: Path) -> None:
    """Clone what was committed."""
    subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(to)], check=True)  # noqa: S607


def copied(to: Path) -> None:
    """Copy what the next commit could hold."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=PROJECT,
        check=True,
        capture_output=True,
    ).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (PROJECT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, to / name)


@contextmanager
def demo(folder: Path, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Give `./run demo`, with nothing but a PATH and an empty place for its data."""
    # The port is one that nobody has, so that a demo that runs already is left alone.
    with (home / "out").open("wb") as out:
        process = subprocess.Popen(
            ["./run", "demo", "--no-browser", "--port", "0"],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "XDG_DATA_HOME": str(home / "data")},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def measured(chromium: Browser, folder: Path, home: Path) -> dict[str, float]:
    """Return the seconds from the command to its address, and to the first sound."""
    began = time.monotonic()
    with demo(folder, home) as process, open_context(chromium) as context:
        page = context.new_page()
        address = _address(home / "out", process, until=began + _PATIENCE)
        there = time.monotonic() - began
        page.goto(address)
        while not page.evaluate(_IS_PLAYING):
            assert time.monotonic() < began + _PATIENCE, "the song must have begun by now"
            page.wait_for_timeout(20)
        return {"address_seconds": there, "music_seconds": time.monotonic() - began}


def _address(log: Path, process: subprocess.Popen[bytes], *, until: float) -> str:
    while not (found := _ADDRESS.search(text := log.read_text(encoding="utf-8"))):
        assert process.poll() is None, text
        assert time.monotonic() < until, text
        time.sleep(0.02)
    return found[1]


def main() -> None:
    """Measure once, and say whether that is what was promised."""
    parser = argparse.ArgumentParser(description="From ./run demo to the first sound.")
    parser.add_argument("--working-tree", action="store_true", help="also what is not committed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bandstand-") as place, browser() as chromium:
        home = Path(place)
        (copied if asked.working_tree else cloned)(home / "clone")
        found = measured(chromium, home / "clone", home)
    sys.stdout.write(json.dumps({**found, "promised_seconds": PROMISED}, indent=2) + "\n")
    if found["music_seconds"] >= PROMISED:
        sys.exit(1)


if __name__ == "__main__":
    main()

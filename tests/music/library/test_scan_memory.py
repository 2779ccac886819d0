"""A scan of very many files: how much memory the parent needs, how long a second one takes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from tests.fixtures.cli.run_command import environment
from tests.fixtures.music.audio_files import wav

if TYPE_CHECKING:
    from pathlib import Path

ALBUM, FEW, MANY = 100, 1_000, 10_000  # files
SECONDS, RATE = 0.25, 8_000
MOST = 400  # megabytes
# Megabytes, from few files to many: the projection is fitted on all descriptors of up to 50,000
# songs, which are 11 MB for those between few and many; nothing else may grow.
MOST_GROWTH = 20

# The command, and at its end what the kernel says of the largest size of this process alone.
_PROGRAM = """
import sys
from bandstand.cli import main
code = main(["scan", "--json", *sys.argv[1:]])
status = open("/proc/self/status").read()
print(status.split("VmHWM:")[1].split()[0], file=sys.stderr)
sys.exit(code)
"""


class Scan(NamedTuple):
    added: int
    unchanged: int
    songs: int
    seconds: float
    megabytes: float  # the largest that the parent ever was


def make_library(folder: Path) -> None:
    """Make very many files that are small, and all different."""
    rng = np.random.default_rng(1)
    for number in range(MANY):
        album = folder / ("few" if number < FEW else "rest") / f"{number // ALBUM:03}"
        album.mkdir(parents=True, exist_ok=True)
        pitch, loudness = rng.uniform(100, 2_000), rng.uniform(0.1, 0.8)
        wave = np.sin(2 * np.pi * pitch * np.arange(round(SECONDS * RATE)) / RATE)
        sound = loudness * wave + 0.01 * rng.standard_normal(len(wave))
        samples = np.round(32_000 * sound).astype("<i2")
        (album / f"{number:05}.wav").write_bytes(wav(samples.tobytes(), rate=RATE))


def scan(folder: Path, store: Path) -> Scan:
    """Scan in a process of its own, and return what it found and needed."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, "--store", store, folder],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=3_600,
    )
    report = json.loads(done.stdout)
    assert report["failures"] == []
    return Scan(
        added=report["added"],
        unchanged=report["unchanged"],
        songs=report["songs"],
        seconds=report["seconds"],
        megabytes=int(done.stderr.split()[-1]) / 1024,
    )


@pytest.mark.long
def test_the_parent_does_not_grow_with_the_number_of_files(tmp_path: Path) -> None:
    library = tmp_path / "library"
    make_library(library)
    few = scan(library / "few", tmp_path / "few.db")
    many = scan(library, tmp_path / "many.db")
    again = scan(library, tmp_path / "many.db")
    print(f"\n{few}\n{many}\n{again}\nagain/first: {again.seconds / many.seconds:.2%}")
    assert (few.songs, many.songs, again.songs) == (FEW, MANY, MANY)
    assert (again.added, again.unchanged) == (0, MANY)
    assert max(few.megabytes, many.megabytes, again.megabytes) < MOST
    assert many.megabytes - few.megabytes < MOST_GROWTH

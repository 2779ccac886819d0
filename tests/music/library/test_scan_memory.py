"""A scan of very many files: how much memory the parent needs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fixtures.cli.run_command import environment
from tests.fixtures.music.audio_files import wav

FEW, MANY = 1_000, 10_000  # files
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


def make_library(folder: Path) -> None:
    """Make very many files that are small, and all different."""
    rng = np.random.default_rng(1)
    for number in range(MANY):
        album = folder / ("few" if number < FEW else "rest") / f"{number // 100:03}"
        album.mkdir(parents=True, exist_ok=True)
        samples = rng.normal(0, 5_000, 2_000).astype("<i2")
        (album / f"{number:05}.wav").write_bytes(wav(samples.tobytes(), rate=8_000))


def scan(folder: Path, store: Path) -> tuple[dict[str, Any], float]:
    """Scan in a process of its own; return its report and the megabytes that it needed."""
    command = [sys.executable, "-c", _PROGRAM, "--store", str(store), str(folder)]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=True, timeout=3_600
    )
    report = json.loads(done.stdout)
    assert report["failures"] == []
    return report, int(done.stderr.split()[-1]) / 1024


@pytest.mark.long
def test_the_parent_does_not_grow_with_the_number_of_files(tmp_path: Path) -> None:
    library = tmp_path / "library"
    make_library(library)
    few, few_megabytes = scan(library / "few", tmp_path / "few.db")
    many, many_megabytes = scan(library, tmp_path / "many.db")
    again, again_megabytes = scan(library, tmp_path / "many.db")
    assert [it["songs"] for it in (few, many, again)] == [FEW, MANY, MANY]
    assert (again["added"], again["unchanged"]) == (0, MANY)
    assert max(few_megabytes, many_megabytes, again_megabytes) < MOST
    assert many_megabytes - few_megabytes < MOST_GROWTH

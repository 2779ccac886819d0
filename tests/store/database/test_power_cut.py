"""A power cut loses nothing that was acknowledged (PROMISES, A2)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.programs import require_program
from tests.fixtures.store.power_cut import (
    MODES,
    STORE,
    THREADS,
    Disk,
    File,
    Recording,
    Step,
    Verdict,
    cuts,
    judge,
    record,
    whole_lines,
)

if TYPE_CHECKING:
    from pathlib import Path


def cut_power(folder: Path, *, number: int, seed: int, synchronous: str, each: int) -> Verdict:
    """Return what becomes of some states after power cuts under load."""
    recorded, opened = folder / "recorded", folder / "opened"
    recorded.mkdir()
    opened.mkdir()
    strace = require_program("strace")
    recording = record(strace, recorded, events_each=each, synchronous=synchronous)
    verdict = judge(recording, opened, number=number, seed=seed)
    assert verdict.acknowledged == THREADS * each
    return verdict


def test_a_power_cut_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    verdict = cut_power(tmp_path, number=120, seed=1, synchronous="FULL", each=25)
    assert verdict.damaged == []
    assert verdict.lost == 0


def test_with_less_care_it_would_lose_something(tmp_path: Path) -> None:
    """The control: a store that does not wait for the disk must show losses."""
    verdict = cut_power(tmp_path, number=60, seed=2, synchronous="NORMAL", each=25)
    assert verdict.damaged == []
    assert verdict.lost > 10


def test_with_no_care_at_all_it_would_be_damaged(tmp_path: Path) -> None:
    """The other control: a store that never waits for the disk must show damage."""
    verdict = cut_power(tmp_path, number=60, seed=3, synchronous="OFF", each=25)
    assert len(verdict.damaged) > 5


@pytest.mark.long
def test_ten_thousand_power_cuts_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    verdict = cut_power(tmp_path, number=10_000, seed=seed, synchronous="FULL", each=150)
    assert verdict.damaged == []
    assert verdict.lost == 0


# ── The simulation itself ────────────────────────────────────────────────────────────────


def states(steps: list[Step], number: int = 100) -> list[dict[str, bytes]]:
    """Return what may be on the disk at the end of some steps, in many draws."""
    draw = random.Random(5)
    file = File(certain=b"....")
    disk = Disk(certain={STORE: file}, now={STORE: file})
    for step in steps:
        disk.do(step)
    return [disk.after_cut(mode, draw) for _ in range(number) for mode in MODES]


def test_what_was_synced_is_there() -> None:
    steps = [Step("write", STORE, 2, b"abcd"), Step("sync", STORE)]
    assert {state[STORE] for state in states(steps)} == {b"..abcd"}


def test_what_was_not_synced_may_be_there_or_not() -> None:
    steps = [Step("write", STORE, 510, b"abcd"), Step("write", STORE, 0, b"x")]
    gap = bytes(506)
    assert {state[STORE] for state in states(steps)} == {
        b"....",
        b"x...",
        *(start + gap + end for start in (b"....", b"x...") for end in (b"ab", b"abcd")),
        *(start + gap + b"\0\0cd" for start in (b"....", b"x...")),
    }


def test_a_new_file_is_certain_once_its_folder_was_synced() -> None:
    steps = [Step("make", "n"), Step("write", "n", 0, b"a"), Step("sync", "n")]
    assert {state.get("n") for state in states(steps)} == {None, b"a"}
    assert {state.get("n") for state in states([*steps, Step("sync folder")])} == {b"a"}
    gone = [*steps, Step("sync folder"), Step("remove", "n")]
    assert {state.get("n") for state in states(gone)} == {None, b"a"}


def test_calls_that_strace_shows_in_two_pieces_are_put_together() -> None:
    lines = [
        "7 fsync(3</a> <unfinished ...>\n",
        '8 write(1<b>, "\\x61", 1) = 1\n',
        "7 <... fsync resumed>) = 0\n",
    ]
    assert list(whole_lines(iter(lines))) == ['write(1<b>, "\\x61", 1) = 1', "fsync(3</a>) = 0"]


def test_what_was_acknowledged_counts_from_then_on() -> None:
    steps = [Step("acknowledge", data=b"stored %d\n" % number) for number in range(10)]
    seen = list(cuts(Recording(b"", steps), 50, random.Random(1)))
    counts = [len(acknowledged) for _, acknowledged in seen]
    assert counts == sorted(counts)
    assert counts[-1] == 10

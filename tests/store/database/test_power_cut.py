"""A power cut loses nothing that was acknowledged (PROMISES, A2).

A process sends events to a SQLite store while strace records what it writes, what it syncs and
what it acknowledges. From the record follows what could be on the disk at any moment: all that was
synced, and of what was written since then nothing, a beginning, any part, or any part of its
sectors. Each such state is opened as a store, as after a restart.

The memory map beside the write-ahead log is not kept: SQLite makes it again. A file that was made
or removed is so for certain only after its folder was synced.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import pytest

from bandstand.errors import StoreError
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.cli.run_command import environment
from tests.fixtures.programs import require_program
from tests.fixtures.store.send_events import prepare


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


SECTOR = 512  # bytes; what a disk writes as a whole
STORE = "radio.db"
FILES = (STORE, f"{STORE}-wal", f"{STORE}-journal")
THREADS = 4
CALLS = "pwrite64,write,fdatasync,fsync,ftruncate,openat,unlink,unlinkat,rename"
# What would escape the record; SQLite uses none of it as it is set up here.
UNKNOWN_CALLS = "pwritev,pwritev2,writev,fallocate,renameat,renameat2,truncate,sync_file_range"

Mode = Literal["dropped", "beginning", "part", "torn"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that the process did."""

    what: Literal["write", "truncate", "sync", "make", "remove", "sync folder", "acknowledge"]
    file: str = ""
    offset: int = 0
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Recording:
    """What was on the disk at first, and what the process did then."""

    start: bytes
    steps: list[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of some states: how many had lost something, and which were not whole."""

    lost: int
    damaged: list[str]
    acknowledged: int  # in the whole record


# ── Recording ────────────────────────────────────────────────────────────────────────────


def record(strace: str, folder: Path, *, events_each: int, synchronous: str) -> Recording:
    """Return the record of a process that sends events to a new store in a folder."""
    place = folder / STORE
    prepare(str(place), THREADS)
    start = place.read_bytes()
    trace = folder / "trace"
    command = f"{strace} -f --seccomp-bpf -qq -y -xx -s 100000000 -o {trace}".split()
    command += ["-e", f"trace={CALLS},{UNKNOWN_CALLS}"]
    command += [sys.executable, "-m", "tests.fixtures.store.send_events", str(place)]
    command += [str(events_each), "--threads", str(THREADS)]
    # So that the log is moved into the file, and begun again, many times within the record.
    command += ["--synchronous", synchronous, "--checkpoint", "60"]
    done = subprocess.run(
        command, env=environment(), capture_output=True, check=False, timeout=PATIENCE + events_each
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    with trace.open(encoding="ascii") as lines:
        return Recording(start, list(steps_of(lines, folder)))


def steps_of(lines: Iterator[str], folder: Path) -> Iterator[Step]:
    """Yield what the lines of strace say of the store in a folder."""
    present = {STORE}
    for line in whole_lines(lines):
        call = re.match(r"(\w+)\(", line)
        if call is None or re.search(r"\) += -1 ", line):
            continue
        for step in _steps_of_call(call[1], line, os.fsencode(folder.resolve())):
            if step.what == "make" and step.file in present:
                continue
            if step.what in {"make", "remove"}:
                present ^= {step.file}
            yield step


def whole_lines(lines: Iterator[str]) -> Iterator[str]:
    """Yield one line for each call, when it ends, without the number of its thread."""
    begun: dict[str, str] = {}
    for line in lines:
        thread, _, rest = line.rstrip("\n").partition(" ")
        rest = rest.lstrip()
        if rest.endswith(" <unfinished ...>"):
            begun[thread] = rest.removesuffix(" <unfinished ...>")
        elif resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", rest):
            yield begun.pop(thread) + resumed[1]
        else:
            yield rest


def _steps_of_call(call: str, line: str, folder: bytes) -> Iterator[Step]:
    if call in {"openat", "unlink", "unlinkat"}:
        name = _file_in(folder, re.findall(r'"([^"]*)"', line)[-1])
        if name and (call != "openat" or "O_CREAT" in line):
            yield Step("make" if call == "openat" else "remove", name)
        return
    descriptor = re.match(r"\w+\((\d+)<([^>]*)>", line)
    if descriptor is None:
        return
    number, path = descriptor.groups()
    if call == "write" and number == "1":
        yield Step("acknowledge", data=_quoted(line))
    elif call in {"fsync", "fdatasync"} and _bytes(path) == folder:
        yield Step("sync folder")
    elif name := _file_in(folder, path):
        yield _step_on_file(call, line, name)


def _step_on_file(call: str, line: str, name: str) -> Step:
    if call in {"fsync", "fdatasync"}:
        return Step("sync", name)
    if call == "pwrite64":
        size, offset, written = re.findall(r'", (\d+), (\d+)\) += (\d+)', line)[0]
        assert size == written, line[-80:]
        return Step("write", name, int(offset), _quoted(line))
    if call == "ftruncate":
        # strace writes the length of a file in the notation of the system, which is decimal.
        (length,) = re.findall(r">, (\d+)\) += 0", line)
        return Step("truncate", name, int(length))
    msg = f"the record must have no call of {call} on the store, got one"
    raise AssertionError(msg)


def _file_in(folder: bytes, path: str) -> str | None:
    head, _, name = _bytes(path).rpartition(b"/")
    return name.decode() if head == folder and name.decode() in FILES else None


def _quoted(line: str) -> bytes:
    start = line.index('"') + 1
    return _bytes(line[start : line.index('"', start)])


def _bytes(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))


# ── What may be on the disk ──────────────────────────────────────────────────────────────


@dataclass(slots=True)
class File:
    """What is certainly on the disk, and what was done since."""

    certain: bytes = b""
    since: list[Step] = field(default_factory=list)

    def sync(self) -> None:
        """Take all that was done for certain."""
        self.certain = _applied(self.certain, self.since)
        self.since = []

    def after_cut(self, mode: Mode, draw: random.Random) -> bytes:
        """Return what may be there after a power cut."""
        if mode == "dropped":
            return self.certain
        if mode == "beginning":
            return _applied(self.certain, self.since[: draw.randint(0, len(self.since))])
        pieces = self.since if mode == "part" else [it for step in self.since for it in _torn(step)]
        return _applied(self.certain, [piece for piece in pieces if draw.random() < 0.5])


def _applied(content: bytes, steps: list[Step]) -> bytes:
    image = bytearray(content)
    for step in steps:
        if step.what == "truncate":
            image[step.offset :] = bytes(max(0, step.offset - len(image)))
        else:
            image.extend(bytes(max(0, step.offset - len(image))))
            image[step.offset : step.offset + len(step.data)] = step.data
    return bytes(image)


def _torn(step: Step) -> Iterator[Step]:
    """Yield a write in pieces, one for each sector of the disk."""
    if step.what == "truncate":
        yield step
        return
    start, end = step.offset, step.offset + len(step.data)
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        yield Step("write", step.file, start, step.data[start - step.offset : stop - step.offset])
        start = stop


@dataclass(slots=True)
class Disk:
    """A folder on a disk: the names that are certain, and what was made and removed since."""

    certain: dict[str, File]
    now: dict[str, File]
    since: list[tuple[Step, File]] = field(default_factory=list)

    def do(self, step: Step) -> None:
        """Follow the process."""
        if step.what == "make":
            self.now[step.file] = File()
            self.since.append((step, self.now[step.file]))
        elif step.what == "remove":
            self.since.append((step, self.now.pop(step.file)))
        elif step.what == "sync folder":
            self.certain = dict(self.now)
            self.since = []
        elif step.what == "sync":
            self.now[step.file].sync()
        elif step.what in {"write", "truncate"}:
            self.now[step.file].since.append(step)

    def after_cut(self, mode: Mode, draw: random.Random) -> dict[str, bytes]:
        """Return what may be in the folder after a power cut."""
        names = dict(self.certain)
        kept = 0 if mode == "dropped" else draw.randint(0, len(self.since))
        for step, file in self.since[:kept]:
            if step.what == "make":
                names[step.file] = file
            else:
                names.pop(step.file, None)
        return {name: file.after_cut(mode, draw) for name, file in names.items()}


def cuts(
    recording: Recording, number: int, draw: random.Random
) -> Iterator[tuple[dict[str, bytes], set[bytes]]]:
    """Yield what may be on the disk at drawn moments, and what had been acknowledged by then."""
    steps = recording.steps
    told = [place for place, step in enumerate(steps) if step.what == "acknowledge"]
    # Half of the moments right after something was acknowledged, which is when it counts.
    moments = [
        draw.choice(told) + 1 if draw.random() < 0.5 else draw.randint(0, len(steps))
        for _ in range(number)
    ]
    file = File(certain=recording.start)
    disk = Disk(certain={STORE: file}, now={STORE: file})
    acknowledged: set[bytes] = set()
    done = 0
    for moment in sorted(moments):
        for step in steps[done:moment]:
            disk.do(step)
            if step.what == "acknowledge" and step.data.startswith(b"stored "):
                acknowledged.add(step.data)
        done = moment
        yield disk.after_cut(draw.choice(MODES), draw), set(acknowledged)


# ── After the restart ────────────────────────────────────────────────────────────────────


def judge(recording: Recording, folder: Path, *, number: int, seed: int) -> Verdict:
    """Return what becomes of some states when each is opened as a store."""
    draw = random.Random(seed)
    lost, damaged = 0, []
    for state, acknowledged in cuts(recording, number, draw):
        try:
            stored = recovered(folder, state)
        except (AssertionError, StoreError) as problem:
            damaged.append(str(problem))
        else:
            lost += not acknowledged <= stored
    told = sum(step.data.startswith(b"stored ") for step in recording.steps)
    return Verdict(lost=lost, damaged=damaged, acknowledged=told)


def recovered(folder: Path, state: dict[str, bytes]) -> set[bytes]:
    """Return the events of a store that is opened after a power cut, as they are acknowledged."""
    for name in (*FILES, f"{STORE}-shm"):
        (folder / name).unlink(missing_ok=True)
    for name, content in state.items():
        (folder / name).write_bytes(content)
    stored: set[bytes] = set()
    with open_store(str(folder / STORE)) as store, store.reading() as connection:
        said = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        assert said == ["ok"], said
        for account in accounts.all_accounts(connection):
            problems = events.check_chain(connection, account.id)
            assert problems == [], problems
            for event in events.after(connection, account.id):
                stored.add(f"stored {event.account} {event.key} {event.seq}\n".encode())
    return stored

"""One bad file never stops a scan: every good file is indexed, every bad one has its reason."""

import ctypes
import json
import math
import os
import re
import socket
import subprocess
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from bandstand.music.audio.descriptors.definition import NAMES
from bandstand.music.library.content import fingerprint
from bandstand.music.library.walk import shown
from tests.fixtures.cli.run_command import Outcome
from tests.fixtures.music.audio_files import SHORT_FORMATS, encoded, piece
from tests.fixtures.music.handmade_tags import id3, jpeg, picture, text
from tests.fixtures.music.hostile_folder import Hostile, build, playlists
from tests.fixtures.music.leftovers import Trace, adopting, children, orphans, picture_of
from tests.fixtures.music.scan_command import Contents, contents, scan_apart, scanned
from tests.fixtures.music.scanned_library import song


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What a scan of the hostile folder left behind."""

    hostile: Hostile
    store: Path
    outcome: Outcome
    contents: Contents
    before: dict[bytes, Trace]
    after: dict[bytes, Trace]
    left: set[int]
    called: bool

    @property
    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.outcome.out)
        return report


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scanned]:
    folder = tmp_path_factory.mktemp("hostile")
    store = folder / "store.db"
    with socket.create_server(("127.0.0.1", 0)) as server, adopting():
        hostile = build(folder, port=server.getsockname()[1])
        before, processes = picture_of(hostile.library), children()
        outcome = scan_apart(hostile.library, store=store)
        yield Scanned(
            hostile=hostile,
            store=store,
            outcome=outcome,
            contents=contents(store),
            before=before,
            after=picture_of(hostile.library),
            left=orphans(processes, patience=0),
            called=_was_called(server),
        )
    hostile.unlock()


def test_every_good_file_is_a_song_and_every_other_has_a_reason(scan: Scanned) -> None:
    assert scan.outcome.code == 0, scan.outcome.err
    assert "Traceback" not in scan.outcome.err
    songs, problems, hostile = scan.contents.songs, scan.contents.problems, scan.hostile
    lost = set(hostile.good) - set(songs)
    assert not lost, {shown(path): problems.get(path) for path in lost}
    assert _names(hostile.bad) <= _names(problems)
    for path in hostile.either:
        assert (path in songs) != (path in problems), shown(path)
    assert _names(songs) <= _names(hostile.good) | _names(hostile.either)
    assert not set(songs) & set(problems)


def test_every_song_has_finite_numbers_and_clean_tags(scan: Scanned) -> None:
    for path, one in scan.contents.songs.items():
        descriptors = scan.contents.descriptors[one.id]
        assert descriptors.shape == (len(NAMES),)
        assert np.isfinite(descriptors).all(), shown(path)
        assert 0 <= one.duration < 1e10, shown(path)
        for name, value in asdict(one.tags).items():
            assert value is None or is_clean(value), (shown(path), name, value)


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("claims 1193 hours.flac", 3),
        ("claims 4 GB, has a second.wav", 1),
        ("cut before its middle.wav", 6),
        ("a hundred hours.wav", 360_000),
    ],
)
def test_a_song_is_as_long_as_its_sound(scan: Scanned, name: str, seconds: int) -> None:
    one = scan.contents.songs[bytes(scan.hostile.library / "sounds" / name)]
    assert one.duration == pytest.approx(seconds, rel=0.02)


def test_every_reason_is_one_line_in_plain_words(scan: Scanned) -> None:
    for path, reason in scan.contents.problems.items():
        assert is_plain(reason), (shown(path), reason)
    for wrong in ("", " ", "two\nlines", "[Errno 22] no", "DataError: no", "a\x1b[2J", "None"):
        assert not is_plain(wrong)


@pytest.mark.parametrize("value", ["a\0b", "\x1b[31m", "\ud800", "", "x" * 501, float("nan")])
def test_a_tag_that_is_not_clean_would_be_noticed(value: str | float) -> None:
    assert not is_clean(value)


def test_titles_keep_what_is_good_in_them(scan: Scanned) -> None:
    titles = {path.split(b"/")[-1]: one.tags.title for path, one in scan.contents.songs.items()}
    assert (titles[b"a title with nul.mp3"] or "").startswith("one")
    assert "red" in (titles[b"a title with control characters.mp3"] or "")
    assert (titles[b"a title in latin-1.mp3"] or "").startswith("Étude")
    assert "<script>" in (titles[b"a title that is code.mp3"] or "")
    assert (titles[b"a title of a megabyte.mp3"] or "").startswith("long long")


def test_nothing_changed_is_left_was_read_outside_or_called(scan: Scanned) -> None:
    assert scan.after == scan.before
    assert not scan.left
    with scan.hostile.outside.open("rb") as file:
        secret = fingerprint(file)
    assert secret not in {one.fingerprint for one in scan.contents.songs.values()}
    assert not scan.called


def test_the_report_lists_what_the_store_knows(scan: Scanned) -> None:
    listed = {failure["path"]: failure["reason"] for failure in scan.report["failures"]}
    assert listed == {shown(path): reason for path, reason in scan.contents.problems.items()}
    assert scan.report["failed"] == len(scan.contents.problems)
    assert scan.report["added"] == len(scan.contents.songs) == scan.report["songs"]


def test_a_second_scan_finds_nothing_new(scan: Scanned) -> None:
    report = scanned(scan.hostile.library, store=scan.store)
    assert {name: report[name] for name in ("added", "changed", "moved", "missing")} == {
        "added": 0,
        "changed": 0,
        "moved": 0,
        "missing": 0,
    }
    assert report["unchanged"] + report["failed"] == report["found"] == scan.report["found"]
    assert contents(scan.store).facts == scan.contents.facts


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_the_report_in_words_is_safe_to_print(scan: Scanned, encoding: str) -> None:
    outcome = scan_apart(
        scan.hostile.library, store=scan.store, options=(), PYTHONIOENCODING=encoding
    )
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert all(line.isprintable() for line in lines)
    assert sum(line.startswith("    ") for line in lines) == len(scan.contents.problems)


def _names(paths: tuple[bytes, ...] | dict[bytes, Any]) -> set[str]:
    return {shown(path) for path in paths}


def _was_called(server: socket.socket) -> bool:
    server.setblocking(False)  # noqa: FBT003
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


# ── Broken files by the thousand ─────────────────────────────────────────────────────────


QUICK = 40  # files
BATCH, BATCHES = 250, 20
_CRASHED = re.compile(r"crashed|ended without|ended from outside")


def test_the_seeds_are_good_files(tmp_path: Path) -> None:
    for number, (extension, content) in enumerate(seeds()):
        (tmp_path / f"{number}.{extension}").write_bytes(content)
    report = scanned(tmp_path, store=tmp_path / "store.db")
    assert report["added"] == len(seeds()), report["failures"]


def test_some_broken_files_do_no_harm(tmp_path: Path) -> None:
    _assert_harmless(tmp_path, range(QUICK))


@pytest.mark.long
def test_thousands_of_broken_files_do_no_harm(tmp_path: Path) -> None:
    kinds: Counter[str] = Counter()
    for batch in range(BATCHES):
        folder = tmp_path / str(batch)
        folder.mkdir()
        numbers = range(QUICK + batch * BATCH, QUICK + (batch + 1) * BATCH)
        kinds += _assert_harmless(folder, numbers)
    print("\n" + "\n".join(f"{count:6,} {kind}" for kind, count in kinds.most_common()))


def _assert_harmless(folder: Path, numbers: range) -> Counter[str]:
    """Scan broken files, and return how many became songs, failed, or crashed their child."""
    library, store = folder / "library", folder / "store.db"
    library.mkdir()
    for number in numbers:  # `mutated(number)` makes each of them again
        extension, content = mutated(number)
        (library / f"{number}.{extension}").write_bytes(content)
    before = picture_of(library)
    with adopting():
        processes = children()
        scanned(library, store=store)
        assert not orphans(processes, patience=0)
    assert picture_of(library) == before
    found = contents(store)
    _assert_reported_all(found, library)
    return Counter({"songs": len(found.songs)}) + Counter(map(_kind, found.problems.values()))


def _assert_reported_all(found: Contents, library: Path) -> None:
    """Check that each file is a song with finite numbers or has a reason in plain words."""
    there = {bytes(path) for path in library.iterdir()}
    assert found.songs.keys() | found.problems.keys() == there
    assert found.songs.keys().isdisjoint(found.problems)
    for one in found.songs.values():
        assert np.isfinite(found.descriptors[one.id]).all(), one.path
        assert all(is_clean(getattr(one.tags, name) or 0.0) for name in one.tags.__slots__)
    for path, reason in found.problems.items():
        assert is_plain(reason), (path, reason)


def _kind(reason: str) -> str:
    """Return a reason without what differs from file to file, for counting."""
    return ("CHILD CRASHED: " if _CRASHED.search(reason) else "") + re.sub(r"[\d.,]+", "#", reason)


HEADER = 256  # bytes; where lengths, rates and counts are in most formats
EXTREMES = tuple(
    value.to_bytes(4, order)
    for value in (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
    for order in ("big", "little")
)


@cache
def seeds() -> tuple[tuple[str, bytes], ...]:
    """Return some twenty good files with their extensions, two of each format."""
    plain = [
        (_extension(kind), encoded(kind, piece(10 * number, seconds=seconds)))
        for number, kind in enumerate(SHORT_FORMATS)
        for seconds in (0.5, 1.5)
    ]
    tag = id3(text(b"TIT2", "A title"), text(b"TPE1", "Artist"), picture(jpeg(9, 9)))
    return (*plain, ("mp3", tag + encoded("mp3", piece(1))))


def mutated(number: int, *, seed: int = 1) -> tuple[str, bytes]:
    """Return file `number` of an endless row of broken ones, with its extension."""
    rng = np.random.default_rng([seed, number])
    extension, content = seeds()[rng.integers(len(seeds()))]
    for _ in range(rng.integers(1, 4)):
        change = _CHANGES[rng.integers(len(_CHANGES))]
        content = change(content, rng)
    return extension, content


def _flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the content with some bits flipped, few or many, anywhere."""
    changed = np.frombuffer(content, dtype=np.uint8).copy()
    if changed.size:
        count = int(10 ** rng.uniform(0, 3))
        places = rng.integers(changed.size, size=count)
        changed[places] ^= (1 << rng.integers(8, size=count)).astype(np.uint8)
    return changed.tobytes()


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.uniform() * len(content))]


def _headless(content: bytes, rng: np.random.Generator) -> bytes:
    return content[int(rng.uniform() ** 4 * len(content)) :]


def _spliced(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the start of one file and the end of another, perhaps of another format."""
    other = seeds()[rng.integers(len(seeds()))][1]
    return _cut(content, rng) + other[int(rng.uniform() * len(other)) :]


def _repeated(content: bytes, rng: np.random.Generator) -> bytes:
    start, length = _stretch(content, rng)
    return content[: start + length] + content[start:]


def _zeroed(content: bytes, rng: np.random.Generator) -> bytes:
    start, length = _stretch(content, rng)
    return content[:start] + bytes(length) + content[start + length :]


def _edited(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the content with a number near its start made extreme."""
    place = int(rng.integers(min(HEADER, len(content)) + 1))
    extreme = EXTREMES[rng.integers(len(EXTREMES))][: rng.integers(1, 5)]
    return content[:place] + extreme + content[place + len(extreme) :]


def _stretch(content: bytes, rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.uniform() * len(content)), int(10 ** rng.uniform(0, 4))


def _extension(kind: str) -> str:
    return "m4a" if kind == "alac" else kind


# Headers are where decoders are weak, so they are edited more often.
_CHANGES = (_flipped, _cut, _headless, _spliced, _repeated, _zeroed, _edited, _edited, _edited)


# ── The traps work ───────────────────────────────────────────────────────────────────────


SECONDS = 1.0


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    path = tmp_path / "outside" / "secret.wav"
    path.write_bytes(encoded("wav", piece(1, seconds=SECONDS)))
    return path


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("a script", "concat", {"safe": "0"}),
        ("segments", "hls", {"allowed_extensions": "ALL", "extension_picky": "0"}),
        ("segments by address", "hls", {"allowed_extensions": "ALL", "extension_picky": "0"}),
    ],
)
def test_a_careless_decoder_reads_the_secret(
    tmp_path: Path, secret: Path, name: str, kind: str, options: dict[str, str]
) -> None:
    trap = tmp_path / "trap.mp3"
    trap.write_bytes(playlists(secret, port=9)[name])
    with av.open(str(trap), format=kind, options=options) as container:
        assert sum(frame.samples for frame in container.decode(audio=0)) == SECONDS * 16_000


def test_a_careless_decoder_calls_the_server(tmp_path: Path, secret: Path) -> None:
    trap = tmp_path / "trap.mp3"
    with socket.create_server(("127.0.0.1", 0)) as server:
        called = threading.Thread(target=_hang_up, args=(server,))
        called.start()
        trap.write_bytes(playlists(secret, server.getsockname()[1])["segments from a server"])
        options = {"protocol_whitelist": "file,http,tcp", "extension_picky": "0"}
        with pytest.raises((av.FFmpegError, IndexError)):
            next(av.open(str(trap), format="hls", options=options).decode(audio=0))
        called.join(timeout=10)
        assert not called.is_alive()


def _change_one_byte(path: Path) -> None:
    """Change a byte in the middle of a hole, and set the times back as a clever program would."""
    times = path.stat()
    with path.open("r+b") as file:
        file.seek(1 << 29)
        file.write(b"\x01")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize(
    "meddle",
    [
        lambda path: path.touch(),
        lambda path: path.chmod(0o600),
        lambda path: path.rename(path.with_name("other")),
        lambda path: path.with_name("new").touch(),
        lambda path: path.with_name("link").hardlink_to(path),
        _change_one_byte,
    ],
)
def test_any_change_of_the_library_is_seen(tmp_path: Path, meddle: Callable[[Path], None]) -> None:
    song = tmp_path / "song.mp3"
    song.write_bytes(b"sound")
    os.truncate(song, 1 << 30)
    before = picture_of(tmp_path)
    assert picture_of(tmp_path) == before
    meddle(song)
    assert picture_of(tmp_path) != before


def test_a_process_that_is_left_is_noticed() -> None:
    with adopting():
        before = children()
        subprocess.run(["sh", "-c", "sleep 60 &"], check=True)
        left = orphans(before, patience=0)
        assert len(left) == 1
        for process in left:
            os.kill(process, 9)
        assert not orphans(before)


def _hang_up(server: socket.socket) -> None:
    server.accept()[0].close()


# ── Folders that may not be read ─────────────────────────────────────────────────────────


# From prctl(2) and capabilities(7): what lets root read whatever it wants.
_DROP, _READ_ALL, _ENTER_ALL = 24, 1, 2


@pytest.fixture
def library(tmp_path: Path) -> Path:
    library = tmp_path / "library"
    library.mkdir()
    (library / "song.wav").write_bytes(song(1))
    return library


def test_what_is_locked_has_a_reason_and_keeps_its_songs(tmp_path: Path, library: Path) -> None:
    store, folder = tmp_path / "store.db", library / "folder"
    folder.mkdir()
    (folder / "song.wav").write_bytes(song(2))
    scanned(library, store=store)
    before = contents(store)
    (library / "new.wav").write_bytes(song(3))
    locked = [library / "new.wav", folder]
    with _locked(locked):
        outcome = scan_apart(library, store=store, prepare=_become_as_weak_as_others)
    assert outcome.code == 0, outcome.err
    found = contents(store)
    assert list(found.songs) == [bytes(library / "song.wav")]
    assert set(found.problems) == {bytes(path) for path in locked}
    assert all(is_plain(reason) for reason in found.problems.values())
    assert before.known <= found.known
    report = scanned(library, store=store)
    assert (report["added"], report["changed"]) == (1, 0)
    assert before.ids.items() <= contents(store).ids.items()


def test_a_root_that_may_not_be_read_is_refused(tmp_path: Path, library: Path) -> None:
    with _locked([library]):
        outcome = scan_apart(
            library, store=tmp_path / "store.db", prepare=_become_as_weak_as_others
        )
    assert outcome.code == 2
    assert "permission" in outcome.err


@contextmanager
def _locked(paths: Sequence[Path]) -> Iterator[None]:
    for path in paths:
        path.chmod(0)
    try:
        yield
    finally:
        for path in paths:
            path.chmod(0o700)


def _become_as_weak_as_others() -> None:
    """Give up what lets root read everything; others have nothing to give up."""
    if os.getuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (_READ_ALL, _ENTER_ALL):
            assert libc.prctl(_DROP, capability, 0, 0, 0) == 0


LONGEST_TAG = 500  # characters
LONGEST_REASON = 500
# What a person should not have to read: names of exceptions, numbers of errors, addresses.
_JARGON = re.compile(
    r"Traceback|Errno|[A-Za-z]Error\b|Exception|0x[0-9a-f]{4,}|<[a-z]+[ .>]|\bNone\b|\\x|\bb'"
)


def is_plain(reason: str) -> bool:
    """Tell whether a reason is one line that a person can read."""
    return (
        0 < len(reason.strip()) <= LONGEST_REASON
        and reason.isprintable()
        and not _JARGON.search(reason)
    )


def is_clean(value: str | float) -> bool:
    """Tell whether a tag is valid Unicode, visible and bounded, or a finite number."""
    if not isinstance(value, str):
        return math.isfinite(value)
    return 0 < len(value) <= LONGEST_TAG and not any(
        unicodedata.category(letter) in {"Cc", "Cs"} for letter in value
    )

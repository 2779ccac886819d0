"""One bad file never stops a scan: every good file is indexed, every bad one has its reason."""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bandstand.music.audio.descriptors.definition import NAMES
from bandstand.music.library.content import fingerprint
from bandstand.music.library.walk import shown
from tests.fixtures.music.hostile_folder import Hostile, build
from tests.fixtures.music.leftovers import adopting, children, orphans, picture_of
from tests.fixtures.music.plain_words import is_clean, is_plain
from tests.fixtures.music.scan_command import Contents, contents, scan_apart, scanned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fixtures.cli.run_command import Outcome
    from tests.fixtures.music.leftovers import Trace


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


def test_the_scan_ends_well(scan: Scanned) -> None:
    assert scan.outcome.code == 0, scan.outcome.err
    assert "Traceback" not in scan.outcome.err


def test_every_good_file_is_indexed(scan: Scanned) -> None:
    lost = set(scan.hostile.good) - set(scan.contents.songs)
    assert not lost, {shown(path): scan.contents.problems.get(path) for path in lost}


def test_every_bad_file_has_a_reason(scan: Scanned) -> None:
    assert _names(scan.hostile.bad) <= _names(scan.contents.problems)


def test_every_other_file_is_a_song_or_has_a_reason(scan: Scanned) -> None:
    for path in scan.hostile.either:
        assert (path in scan.contents.songs) != (path in scan.contents.problems), shown(path)


def test_nothing_else_became_a_song(scan: Scanned) -> None:
    allowed = _names(scan.hostile.good) | _names(scan.hostile.either)
    assert _names(scan.contents.songs) <= allowed
    assert not set(scan.contents.songs) & set(scan.contents.problems)


def test_every_song_is_described_by_finite_numbers(scan: Scanned) -> None:
    for path, song in scan.contents.songs.items():
        descriptors = scan.contents.descriptors[song.id]
        assert descriptors.shape == (len(NAMES),)
        assert np.isfinite(descriptors).all(), shown(path)
        assert 0 <= song.duration < 1e10, shown(path)


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
    song = scan.contents.songs[bytes(scan.hostile.library / "sounds" / name)]
    assert song.duration == pytest.approx(seconds, rel=0.02)


def test_every_reason_is_one_line_in_plain_words(scan: Scanned) -> None:
    for path, reason in scan.contents.problems.items():
        assert is_plain(reason), (shown(path), reason)


@pytest.mark.parametrize(
    "reason",
    [
        "",
        " ",
        "two\nlines",
        "[Errno 22] no",
        "InvalidDataError: no",
        "a\x1b[2J",
        "None",
    ],
)
def test_a_reason_that_is_not_plain_would_be_noticed(reason: str) -> None:
    assert not is_plain(reason)


def test_every_tag_is_clean(scan: Scanned) -> None:
    for path, song in scan.contents.songs.items():
        for name, value in asdict(song.tags).items():
            assert value is None or is_clean(value), (shown(path), name, value)


@pytest.mark.parametrize("value", ["a\0b", "\x1b[31m", "\ud800", "", "x" * 501, float("nan")])
def test_a_tag_that_is_not_clean_would_be_noticed(value: str | float) -> None:
    assert not is_clean(value)


def test_titles_keep_what_is_good_in_them(scan: Scanned) -> None:
    titles = {path.split(b"/")[-1]: song.tags.title for path, song in scan.contents.songs.items()}
    assert (titles[b"a title with nul.mp3"] or "").startswith("one")
    assert "red" in (titles[b"a title with control characters.mp3"] or "")
    assert (titles[b"a title in latin-1.mp3"] or "").startswith("Étude")
    assert "<script>" in (titles[b"a title that is code.mp3"] or "")
    assert (titles[b"a title of a megabyte.mp3"] or "").startswith("long long")


def test_nothing_in_the_library_changed(scan: Scanned) -> None:
    assert scan.after == scan.before


def test_no_process_is_left(scan: Scanned) -> None:
    assert not scan.left


def test_nothing_outside_was_read_and_no_server_was_called(scan: Scanned) -> None:
    with scan.hostile.outside.open("rb") as file:
        secret = fingerprint(file)
    assert secret not in {song.fingerprint for song in scan.contents.songs.values()}
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

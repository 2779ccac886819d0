import io
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import BandstandError, InvalidInputError, UnreadableAudioError
from bandstand.music.library.content import PASSING, fingerprint, open_beneath, open_file
from tests.fixtures.music.link_swapper import (
    INSIDE,
    OUTSIDE,
    Opener,
    careless,
    half_careful,
    make_world,
    outcomes,
    swapping,
)

MEBIBYTE = 1 << 20
SIZES = [0, 1, 65_535, 65_536, 65_537, MEBIBYTE - 1, MEBIBYTE, MEBIBYTE + 1, 10 * MEBIBYTE]


class Watched(io.FileIO):
    """A file that counts what is read of it, without a buffer."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self.taken += len(data)
        return data


def mark(path: Path) -> str:
    with path.open("rb") as file:
        return fingerprint(file)


def sparse(path: Path, size: int, *marks: int) -> Path:
    """Make a file of zeros with a one at some places; it takes no room."""
    with path.open("wb") as file:
        file.truncate(size)
        for place in marks:
            file.seek(place)
            file.write(b"\1")
    return path


@pytest.mark.parametrize("size", SIZES)
def test_a_moved_or_copied_file_has_the_same_fingerprint(tmp_path: Path, size: int) -> None:
    original = sparse(tmp_path / "a", size, *([size // 2] if size else []))
    before = mark(original)
    copy = tmp_path / "copy"
    copy.write_bytes(original.read_bytes())
    os.utime(copy, ns=(1, 1))
    assert mark(copy) == before
    assert mark(original.rename(tmp_path / "moved")) == before


@given(
    content=st.binary(min_size=1, max_size=200),
    place=st.integers(0, 199),
    change=st.integers(1, 255),
)
def test_one_byte_makes_a_difference(content: bytes, place: int, change: int) -> None:
    place %= len(content)
    other = bytearray(content)
    other[place] ^= change
    assert _of(content) != _of(bytes(other))
    assert _of(content) != _of(content + b"\0")
    assert _of(content) != _of(content[:-1])


@pytest.mark.parametrize("size", [MEBIBYTE + 1, 5 * MEBIBYTE, 1 << 33])
def test_beginning_middle_and_end_of_a_large_file_count(tmp_path: Path, size: int) -> None:
    step = (size - 65_536) / 15
    places = [0, 65_535, round(step * 7) + 30_000, size - 65_536, size - 1]
    marks = {mark(sparse(tmp_path / "a", size, place)) for place in places}
    assert len(marks | {mark(sparse(tmp_path / "a", size))}) == len(places) + 1


@pytest.mark.parametrize("size", [*SIZES, 1 << 33, 1 << 40])
def test_at_most_a_mebibyte_is_read(tmp_path: Path, size: int) -> None:
    with Watched(sparse(tmp_path / "a", size)) as file:
        fingerprint(cast("BinaryIO", file))
        assert file.taken == min(size, MEBIBYTE)


def _of(content: bytes) -> str:
    handle = os.memfd_create("content")
    with os.fdopen(handle, "r+b") as file:
        file.write(content)
        file.flush()
        return fingerprint(file)


AT_ONCE = 10  # seconds; waiting for a pipe would take for ever


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "library" / "album" / "disc").mkdir(parents=True)
    (tmp_path / "library" / "album" / "disc" / "song.mp3").write_bytes(b"sound")
    return tmp_path / "library"


@contextmanager
def at_once() -> Iterator[None]:
    """End the test process, rather than wait for ever, if something blocks."""
    signal.alarm(AT_ONCE)
    try:
        yield
    finally:
        signal.alarm(0)


def beneath(library: Path, path: bytes | str) -> bytes:
    with open_beneath(bytes(library), bytes(library) + b"/" + os.fsencode(path)) as file:
        return file.read()


def test_a_file_is_opened_whatever_slash_ends_the_root(library: Path) -> None:
    assert beneath(library, "album/disc/song.mp3") == b"sound"
    path = bytes(library / "album" / "disc" / "song.mp3")
    with open_beneath(bytes(library) + b"/", path) as file:
        assert file.read() == b"sound"
    with open_beneath(b"/", os.path.realpath(path)) as file:
        assert file.read() == b"sound"


@pytest.mark.parametrize("step", ["album", "album/disc", "album/disc/song.mp3"])
@pytest.mark.parametrize("absolute", [True, False])
def test_no_step_may_be_a_link_to_the_inside(library: Path, step: str, *, absolute: bool) -> None:
    link, kept = library / step, library / "kept"
    link.rename(kept)
    link.symlink_to(kept if absolute else os.path.relpath(kept, link.parent))
    with pytest.raises(UnreadableAudioError) as refusal:
        beneath(library, "album/disc/song.mp3")
    assert str(refusal.value) in PASSING


def test_the_root_itself_may_not_have_become_a_link(library: Path) -> None:
    library.rename(library.with_name("kept"))
    library.symlink_to("kept")
    with pytest.raises(UnreadableAudioError):
        beneath(library, "album/disc/song.mp3")


@pytest.mark.parametrize(
    "path",
    [
        b"/etc/passwd",
        b"LIBRARY",
        b"LIBRARY/",
        b"LIBRARY2/song.mp3",
        b"LIBRARY/../library/album/disc/song.mp3",
        b"LIBRARY/album/../album/disc/song.mp3",
        b"LIBRARY/./album/disc/song.mp3",
        b"LIBRARY/album//disc/song.mp3",
        b"LIBRARY//etc/passwd",
        b"album/disc/song.mp3",
        b"",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(library: Path, path: bytes) -> None:
    with pytest.raises(InvalidInputError, match="below the library's folder"):
        open_beneath(bytes(library), path.replace(b"LIBRARY", bytes(library)))


@pytest.mark.parametrize(
    "path", ["album", "album/disc", "none.mp3", "none/none.mp3", "album/disc/song.mp3/none.mp3"]
)
def test_a_folder_and_what_is_gone_are_refused(library: Path, path: str) -> None:
    for opener in (lambda: beneath(library, path), lambda: open_file(bytes(library / path))):
        with pytest.raises(UnreadableAudioError) as refusal:
            opener()
        assert str(refusal.value) in PASSING


def test_a_pipe_is_refused_without_waiting(library: Path) -> None:
    os.mkfifo(library / "pipe.mp3")
    with at_once():
        with pytest.raises(UnreadableAudioError, match="a file was expected"):
            beneath(library, "pipe.mp3")
        with pytest.raises(UnreadableAudioError, match="a file was expected"):
            open_file(bytes(library / "pipe.mp3"))


def test_a_device_is_refused(library: Path) -> None:
    (library / "zeros.mp3").symlink_to("/dev/zero")
    with pytest.raises(UnreadableAudioError):
        beneath(library, "zeros.mp3")
    with pytest.raises(UnreadableAudioError, match="a file was expected"):
        open_file(b"/dev/zero")


def test_what_the_user_names_is_opened_through_links(library: Path) -> None:
    (library / "link").symlink_to("album/disc")
    with open_file(bytes(library / "link" / "song.mp3")) as file:
        assert file.read() == b"sound"


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (PermissionError(13, "Permission denied"), "permission denied"),
        (OSError(24, "Too many open files"), "it cannot be opened: too many open files"),
        (OSError("odd"), "it cannot be opened: odd"),
    ],
)
def test_whatever_the_system_says_becomes_a_reason(
    library: Path, monkeypatch: pytest.MonkeyPatch, problem: OSError, words: str
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise problem

    monkeypatch.setattr(os, "open", refuse)
    for opener in (lambda: beneath(library, "a.mp3"), lambda: open_file(b"/a.mp3")):
        with pytest.raises(BandstandError, match=words):
            opener()


BLOCK = 1_000  # tries
PATIENCE = 1_000_000  # tries in which a careless opener must have been caught


def test_no_handle_is_left_open(tmp_path: Path) -> None:
    library, outside = make_world(tmp_path)
    (library / "link.mp3").symlink_to(outside / "album" / "song.mp3")
    os.mkfifo(library / "pipe.mp3")
    before = _handles()
    for name in ("album/song.mp3", "link.mp3", "pipe.mp3", "album", "none/none.mp3"):
        try:
            open_beneath(bytes(library), bytes(library / name)).close()
        except BandstandError:
            continue
    assert _handles() == before


@pytest.mark.parametrize("tries", [10_000, pytest.param(200_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("swapped", ["album", "album/song.mp3"])
def test_nothing_outside_is_read_while_names_are_swapped(
    tmp_path: Path, swapped: str, tries: int
) -> None:
    library, outside = make_world(tmp_path)
    with swapping(library / swapped, outside / swapped):
        counts = outcomes(open_beneath, library, tries=tries)
    assert counts[OUTSIDE] == 0
    assert counts[INSIDE] + counts[None] == tries


@pytest.mark.parametrize(
    ("opener", "swapped"), [(careless, "album/song.mp3"), (half_careful, "album")]
)
def test_a_careless_opener_would_be_caught(tmp_path: Path, opener: Opener, swapped: str) -> None:
    library, outside = make_world(tmp_path)
    with swapping(library / swapped, outside / swapped):
        blocks = range(PATIENCE // BLOCK)
        assert any(outcomes(opener, library, tries=BLOCK)[OUTSIDE] for _ in blocks)


def _handles() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))

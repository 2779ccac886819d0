"""Opening files of the library, also while names are swapped for links."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from bandstand.errors import BandstandError, InvalidInputError, UnreadableAudioError
from bandstand.music.library.content import PASSING, open_beneath, open_file
from tests.fixtures.music.link_swapper import (
    INSIDE,
    OUTSIDE,
    careless,
    half_careful,
    make_world,
    outcomes,
    swapping,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fixtures.music.link_swapper import Opener

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


def test_any_name_is_opened(library: Path) -> None:
    name = b"\xff\n-rf .mp3"
    with open(bytes(library) + b"/" + name, "wb") as file:
        file.write(b"odd")
    assert beneath(library, name) == b"odd"


@pytest.mark.parametrize("step", ["album", "album/disc", "album/disc/song.mp3"])
@pytest.mark.parametrize("absolute", [True, False])
def test_no_step_may_be_a_link_even_to_the_inside(
    library: Path, step: str, *, absolute: bool
) -> None:
    link, kept = library / step, library / "kept"
    link.rename(kept)
    link.symlink_to(kept if absolute else os.path.relpath(kept, link.parent))
    with pytest.raises(UnreadableAudioError) as refusal:
        beneath(library, "album/disc/song.mp3")
    assert str(refusal.value) in PASSING


def test_a_chain_of_links_inside_is_not_followed_either(library: Path) -> None:
    (library / "one.mp3").symlink_to("album/disc/song.mp3")
    (library / "two.mp3").symlink_to("one.mp3")
    with pytest.raises(UnreadableAudioError):
        beneath(library, "two.mp3")


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


@pytest.mark.parametrize("path", ["album", "album/disc"])
def test_a_folder_is_no_file(library: Path, path: str) -> None:
    with pytest.raises(UnreadableAudioError, match="a file was expected"):
        beneath(library, path)
    with pytest.raises(UnreadableAudioError, match="a file was expected"):
        open_file(bytes(library / path))


@pytest.mark.parametrize("path", ["none.mp3", "none/none.mp3", "album/disc/song.mp3/none.mp3"])
def test_what_is_gone_says_so(library: Path, path: str) -> None:
    with pytest.raises(UnreadableAudioError) as refusal:
        beneath(library, path)
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


# ── Names that are swapped for links ─────────────────────────────────────────────────────

BLOCK, QUICK, MANY = 1_000, 10_000, 200_000
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


@pytest.mark.parametrize("swapped", ["album", "album/song.mp3"])
def test_nothing_outside_is_read_while_names_are_swapped(tmp_path: Path, swapped: str) -> None:
    _assert_nothing_outside(tmp_path, swapped, tries=QUICK)


@pytest.mark.long
@pytest.mark.parametrize("swapped", ["album", "album/song.mp3"])
def test_nothing_outside_is_read_in_very_many_tries(tmp_path: Path, swapped: str) -> None:
    _assert_nothing_outside(tmp_path, swapped, tries=MANY)


@pytest.mark.parametrize(
    ("opener", "swapped"), [(careless, "album/song.mp3"), (half_careful, "album")]
)
def test_a_careless_opener_would_be_caught(tmp_path: Path, opener: Opener, swapped: str) -> None:
    library, outside = make_world(tmp_path)
    with swapping(library / swapped, outside / swapped):
        blocks = range(PATIENCE // BLOCK)
        assert any(outcomes(opener, library, tries=BLOCK)[OUTSIDE] for _ in blocks)


def _assert_nothing_outside(folder: Path, swapped: str, *, tries: int) -> None:
    library, outside = make_world(folder)
    with swapping(library / swapped, outside / swapped):
        counts = outcomes(open_beneath, library, tries=tries)
    assert counts[OUTSIDE] == 0
    assert counts[INSIDE] + counts[None] == tries


def _handles() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))

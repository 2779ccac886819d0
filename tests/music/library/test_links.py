from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bandstand.errors import BandstandError
from bandstand.music.library.content import open_beneath
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
    from pathlib import Path

    from tests.fixtures.music.link_swapper import Opener

BLOCK, QUICK, MANY = 1_000, 10_000, 200_000
PATIENCE = 1_000_000  # tries in which a careless opener must have been caught


def test_a_file_in_the_library_is_opened(tmp_path: Path) -> None:
    library, _ = make_world(tmp_path)
    with open_beneath(bytes(library), bytes(library / "album" / "song.mp3")) as file:
        assert file.read() == INSIDE


@pytest.mark.parametrize("swapped", ["album", "album/song.mp3"])
@pytest.mark.parametrize("absolute", [True, False])
def test_no_link_is_followed(tmp_path: Path, swapped: str, *, absolute: bool) -> None:
    library, outside = make_world(tmp_path)
    link = library / swapped
    link.rename(library / "aside")
    target = outside / swapped
    link.symlink_to(target if absolute else os.path.relpath(target, link.parent))
    with pytest.raises(BandstandError):
        open_beneath(bytes(library), bytes(library / "album" / "song.mp3"))


def test_a_chain_of_links_inside_is_not_followed_either(tmp_path: Path) -> None:
    library, _ = make_world(tmp_path)
    (library / "one.mp3").symlink_to("album/song.mp3")
    (library / "two.mp3").symlink_to("one.mp3")
    with pytest.raises(BandstandError):
        open_beneath(bytes(library), bytes(library / "two.mp3"))


@pytest.mark.parametrize(
    "path",
    ["../outside/album/song.mp3", "album/../../outside/album/song.mp3", "./album/song.mp3", ""],
)
def test_no_path_leads_out(tmp_path: Path, path: str) -> None:
    library, _ = make_world(tmp_path)
    with pytest.raises(BandstandError):
        open_beneath(bytes(library), bytes(library) + b"/" + path.encode())


def test_a_sibling_with_a_longer_name_is_outside(tmp_path: Path) -> None:
    library, outside = make_world(tmp_path)
    outside.rename(tmp_path / "library 2")
    with pytest.raises(BandstandError):
        open_beneath(bytes(library), bytes(tmp_path / "library 2" / "album" / "song.mp3"))


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

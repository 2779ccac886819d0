from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.library.content import fingerprint, modified_ns

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

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


def test_a_fingerprint_is_32_hexadecimal_digits(tmp_path: Path) -> None:
    found = mark(sparse(tmp_path / "a", 0))
    assert len(found) == 32
    assert set(found) <= set("0123456789abcdef")


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


@pytest.mark.parametrize("size", [65_536, 65_537, MEBIBYTE - 1, MEBIBYTE])
def test_every_byte_counts_up_to_a_mebibyte(tmp_path: Path, size: int) -> None:
    places = [0, 1, 65_535, 65_536, size // 2, size - 2, size - 1]
    marks = {place: mark(sparse(tmp_path / "a", size, place)) for place in places if place < size}
    assert len(set(marks.values())) == len(marks)
    assert mark(sparse(tmp_path / "a", size)) not in marks.values()


@pytest.mark.parametrize("size", [MEBIBYTE + 1, 5 * MEBIBYTE, 1 << 33])
def test_beginning_middle_and_end_of_a_large_file_count(tmp_path: Path, size: int) -> None:
    step = (size - 65_536) / 15
    places = [0, 65_535, round(step * 7) + 30_000, size - 65_536, size - 1]
    marks = {mark(sparse(tmp_path / "a", size, place)) for place in places}
    assert len(marks | {mark(sparse(tmp_path / "a", size))}) == len(places) + 1


def test_files_of_zeros_differ_by_their_size(tmp_path: Path) -> None:
    marks = {mark(sparse(tmp_path / "a", size)) for size in [*SIZES, 1 << 33, 1 << 40]}
    assert len(marks) == len(SIZES) + 2


@pytest.mark.parametrize("size", [*SIZES, 1 << 33, 1 << 40])
def test_at_most_a_mebibyte_is_read(tmp_path: Path, size: int) -> None:
    with Watched(sparse(tmp_path / "a", size)) as file:
        fingerprint(cast("BinaryIO", file))
        assert file.taken == min(size, MEBIBYTE)


def test_the_file_is_left_at_its_beginning(tmp_path: Path) -> None:
    with sparse(tmp_path / "a", 10 * MEBIBYTE).open("rb") as file:
        file.seek(77)
        fingerprint(file)
        assert file.tell() == 0


def test_a_file_that_is_cut_meanwhile_has_a_fingerprint_all_the_same(tmp_path: Path) -> None:
    path = sparse(tmp_path / "a", 10 * MEBIBYTE)

    class Cut(io.FileIO):
        def seek(self, place: int, whence: int = 0, /) -> int:
            os.truncate(path, 10)
            return super().seek(place, whence)

    with Cut(path) as file:
        assert len(fingerprint(cast("BinaryIO", file))) == 32


@pytest.mark.parametrize("moment", [0, 1_700_000_000_123_456_789, -1, -(10**18)])
def test_a_time_is_kept_to_the_nanosecond(tmp_path: Path, moment: int) -> None:
    path = sparse(tmp_path / "a", 0)
    os.utime(path, ns=(0, moment))
    assert modified_ns(path.stat()) == moment


def _of(content: bytes) -> str:
    handle = os.memfd_create("content")
    with os.fdopen(handle, "r+b") as file:
        file.write(content)
        file.flush()
        return fingerprint(file)

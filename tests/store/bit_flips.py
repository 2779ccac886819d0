"""Bytes of a SQLite file that belong to the rows of a table, and files with one bit changed.

As the file format says (sqlite.org/fileformat.html): a page of a b-tree has a header, an array of
pointers, free room, and cells at its end.
"""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

INSIDE = {2, 5}  # pages that lead to others
PAGES = {2, 5, 10, 13}


def places_of(path: Path, table: str) -> list[int]:
    """Return where in a file the b-tree of a table lies, without the free room in its pages."""
    content = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        ((size,),) = connection.execute("PRAGMA page_size").fetchall()
        named = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        ((root,),) = connection.execute(named, (table,)).fetchall()
    return [place for page in _pages(content, size, root) for place in _used(content, size, page)]


def flipped(content: bytes, place: int, draw: random.Random) -> bytes:
    """Return a file with one bit changed in the byte at a place."""
    changed = bytearray(content)
    changed[place] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _pages(content: bytes, size: int, page: int) -> Iterator[int]:
    start = (page - 1) * size
    assert content[start] in PAGES
    yield page
    if content[start] in INSIDE:
        (cells, right) = struct.unpack_from(">3xH3xI", content, start)
        pointers = struct.unpack_from(f">{cells}H", content, start + 12)
        for pointer in pointers:
            (left,) = struct.unpack_from(">I", content, start + pointer)
            yield from _pages(content, size, left)
        yield from _pages(content, size, right)


def _used(content: bytes, size: int, page: int) -> Iterator[int]:
    start = (page - 1) * size
    (cells, cell_start) = struct.unpack_from(">3xHH", content, start)
    header = 12 if content[start] in INSIDE else 8
    yield from range(start, start + header + 2 * cells)
    free = set(_free(content, start))
    yield from (place for place in range(start + cell_start, start + size) if place not in free)


def _free(content: bytes, start: int) -> Iterator[int]:
    (block,) = struct.unpack_from(">xH", content, start)
    while block:
        (after, length) = struct.unpack_from(">HH", content, start + block)
        yield from range(start + block + 4, start + block + length)  # its header must be right
        block = after

"""One array in one .npy file: written piece by piece, mapped back only if it is whole.

The header has a fixed length and follows from the type and the shape, so it can be written after
the rows, when their number is known. A file is believed if it begins with exactly the header
that was expected and has exactly the length that belongs to it: headers are never parsed.
"""

from __future__ import annotations

import math
import mmap
import os
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.types import AnyArray

# A multiple of 64, as the format asks for; the shape of any array fits.
_HEADER_BYTES: Final = 128


def leave_room(file: BinaryIO) -> None:
    """Write zeros where the header will be; the rows follow."""
    file.write(bytes(_HEADER_BYTES))


def write_header(file: BinaryIO, dtype: str, shape: tuple[int, ...]) -> None:
    """Write the header to the beginning of a file whose rows are written."""
    file.seek(0)
    file.write(_header(dtype, shape))


def mapped(path: Path, dtype: str, shape: tuple[int, ...]) -> AnyArray:
    """Return the read-only array in a file; a ValueError if it is not of this type and shape."""
    with path.open("rb") as file:
        if file.read(_HEADER_BYTES) != _header(dtype, shape):
            msg = f"{path} must hold {dtype} in shape {shape}, got something else"
            raise ValueError(msg)
        kind, size = np.dtype(dtype), os.fstat(file.fileno()).st_size
        if size != _HEADER_BYTES + math.prod(shape) * kind.itemsize:
            msg = f"{path} must hold {math.prod(shape)} numbers, got {size} bytes"
            raise ValueError(msg)
        if not math.prod(shape):
            return np.frombuffer(b"", dtype=kind).reshape(shape)  # nothing cannot be mapped
        # A plain view: slices of a `memmap` object are slow to make.
        return np.asarray(np.memmap(file, dtype=kind, mode="r", offset=_HEADER_BYTES, shape=shape))


def release_pages(array: AnyArray) -> None:
    """Let the pages of a mapped array leave this process; they come back when they are read."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)


def _header(dtype: str, shape: tuple[int, ...]) -> bytes:
    r"""Return the header of an .npy file, format 1.0: magic, length, description, newline.

    >>> _header("<f4", (7, 2)).rstrip()
    b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (7, 2), }"
    """
    description = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}"
    start = b"\x93NUMPY\x01\x00" + (_HEADER_BYTES - 10).to_bytes(2, "little")
    return start + description.ljust(_HEADER_BYTES - 11).encode() + b"\n"

"""Named arrays as bytes and back: an .npz file in memory, without pickle.

What comes back is checked before it is believed: nothing in the bytes is run, and they never
make us take more memory than they are long.
"""

import io
import math
import zipfile
from collections.abc import Mapping
from typing import Final

import numpy as np

from bandstand.types import AnyArray

_SUFFIX: Final = ".npy"
_KINDS: Final = "fiU"  # floats, integers, text


def packed(arrays: Mapping[str, AnyArray]) -> bytes:
    """Return `arrays` as the bytes of an .npz file; equal arrays give equal bytes."""
    file = io.BytesIO()
    # Members opened by name bear no date, unlike those that are added as files.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}{_SUFFIX}", "w") as member:
                np.lib.format.write_array(member, _plain(array), (1, 0), allow_pickle=False)
    return file.getvalue()


def unpacked(data: bytes) -> dict[str, AnyArray]:
    """Return the arrays that `packed` made bytes of, read-only.

    Alien bytes raise a ValueError, or whatever the parsers of zip and .npy files raise.

    >>> unpacked(packed({"a": np.arange(3), "b": np.array("text")}))
    {'a': array([0, 1, 2]), 'b': array('text', dtype='<U4')}
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            msg = "expected members without compression"
            raise ValueError(msg)
        if sum(member.file_size for member in members) > len(data):
            msg = "expected members that do not overlap"
            raise ValueError(msg)
        return {
            member.filename.removesuffix(_SUFFIX): _array(archive.read(member))
            for member in members
        }


def _plain(array: AnyArray) -> AnyArray:
    """Return `array` with its rows one after the other and its lowest byte first."""
    array = np.asarray(array, order="C")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _array(data: bytes) -> AnyArray:
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        msg = f"expected arrays of format 1.0, got {version}"
        raise ValueError(msg)
    shape, by_column, dtype = np.lib.format.read_array_header_1_0(file)
    start = file.tell()
    # Compared before anything of this size is made.
    as_long = len(data) - start == math.prod(shape) * dtype.itemsize
    if dtype.kind not in _KINDS or by_column or not as_long:
        msg = f"expected {len(data) - start} bytes of plain numbers, got {dtype} in shape {shape}"
        raise ValueError(msg)
    return np.frombuffer(data, dtype=dtype, offset=start).reshape(shape)

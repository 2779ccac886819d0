"""The songs of a study as bytes, so that later scans change nothing for anybody in it."""

from __future__ import annotations

from typing import Final

import numpy as np

from bandstand._util.array_archive import packed, unpacked
from bandstand.core.model.history import checked_features
from bandstand.errors import StoreError
from bandstand.study.records import FrozenSongs

_PARTS: Final = {"ids", "features"}


def to_bytes(songs: FrozenSongs) -> bytes:
    """Return songs as bytes; features are kept in single precision, as they were analysed."""
    ids = np.array(songs.ids, dtype=np.str_)
    return packed({"ids": ids, "features": songs.features.astype(np.float32)})


def from_bytes(content: bytes) -> FrozenSongs:
    """Return the songs that `to_bytes` wrote; StoreError for anything else."""
    try:
        return _parsed(content)
    except Exception as problem:  # the parsers of zip files raise whatever they like
        msg = f"the songs of a study must be whole, got {len(content):,} bytes: {problem}"
        raise StoreError(msg) from problem


def _parsed(content: bytes) -> FrozenSongs:
    arrays = unpacked(content)
    if set(arrays) != _PARTS or arrays["features"].dtype != np.float32:
        msg = f"ids and features were expected, got {', '.join(arrays)}"
        raise ValueError(msg)
    ids = tuple(str(song) for song in np.atleast_1d(arrays["ids"]))
    return FrozenSongs.of(ids, checked_features(arrays["features"]))

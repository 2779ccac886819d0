"""Analyses and names to put into a store, chosen or drawn."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from bandstand.types import Analysis, Tags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store
    from bandstand.types import Vector

FOLDER = b"/music"
some_examples = settings(max_examples=25)

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
integers = st.integers(-(2**63), 2**63 - 1)
numbers = st.floats(allow_nan=False, allow_infinity=False)
names = st.one_of(
    st.sampled_from([b"a\nb.ogg", b"\xff\xfe.mp3", b"-rf", b"x" * 255, "é".encode(), b"%_\\"]),
    st.binary(min_size=1, max_size=255)
    .map(lambda name: name.replace(b"/", b"_").replace(b"\0", b"_"))
    .filter(lambda name: name not in {b".", b".."}),
)
paths = st.lists(names, min_size=1, max_size=6).map(lambda parts: b"/" + b"/".join(parts))

tags = st.builds(
    Tags,
    **{name: st.none() | text for name in ("title", "artist", "album", "album_artist", "genre")},
    **{name: st.none() | integers for name in ("year", "track", "disc")},
    **{name: st.none() | text for name in ("recording_mbid", "release_mbid", "artist_mbid")},
    **{
        f"{of}_{what}": st.none() | numbers
        for of in ("track", "album")
        for what in ("gain", "peak")
    },
    cover=st.none() | text,
)


def _vector(seed: int, edge: float) -> Vector:
    vector: Vector = np.random.default_rng(seed).normal(size=159)
    vector[seed % 159] = edge
    return vector


analyses = st.builds(
    Analysis,
    tags=tags,
    duration=st.floats(0, allow_nan=False, allow_infinity=False),
    descriptors=st.builds(_vector, st.integers(0, 2**32), numbers),
    version=st.integers(0, 2**31),
    fingerprint=text,
    size=st.integers(0, 2**63 - 1),
    modified_ns=integers,
)


def analysis(seed: int = 1, **changes: Any) -> Analysis:
    """Return an analysis that differs from those with other seeds, with some fields as given."""
    tags_given = {name: changes.pop(name) for name in list(changes) if hasattr(Tags(), name)}
    fields = {
        "tags": Tags(**{"title": f"Song {seed}", "artist": "The Band", **tags_given}),
        "duration": 180.0 + seed,
        "descriptors": np.random.default_rng(seed).normal(size=159),
        "version": 1,
        "fingerprint": f"{seed:032x}",
        "size": 1_000_000 + seed,
        "modified_ns": 1_700_000_000_000_000_000 + seed,
    }
    return Analysis(**{**fields, **changes})


class _Enough(Exception):  # noqa: N818  # it is no error
    """What ends a transaction whose changes nobody wants."""


@contextmanager
def discarded(store: Store) -> Iterator[Connection]:
    """Give a connection whose changes are undone at the end."""
    with suppress(_Enough), store.writing() as connection:
        yield connection
        raise _Enough

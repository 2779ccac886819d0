"""A catalogue with some songs replaced equals the one written from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.catalogue import refresh
from bandstand.music.catalogue.matrix import FeatureMatrix, open_latest, release_pages, write
from bandstand.music.catalogue.refresh import Replaced
from tests.fixtures.music.small_catalogues import ids, write_marked

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.types import AnyArray

MOST = 20
some_ids = st.sets(st.sampled_from(ids(MOST)))


def catalogue(names: list[str], mark: float) -> FeatureMatrix:
    rows = features(names, mark)
    table = np.column_stack([rows, np.ones(len(names))]).astype(np.float32)
    return FeatureMatrix(
        ids=np.array([name.encode() for name in names], "S16"), table=table, stamp={}
    )


def features(names: list[str], mark: float) -> AnyArray:
    """Return features that tell which song they are of, and when they were made."""
    return np.array([[int(name, 16), mark] for name in names], dtype=float).reshape(-1, 2)


def merged(before: set[str], gone: set[str], new: set[str]) -> dict[str, float]:
    """Return which mark each song has in the end, having looked that all is in order."""
    rows = Replaced.of(
        catalogue(sorted(before), 1.0),
        gone=sorted(gone | new),
        new=sorted(new),
        features=features(sorted(new), 2.0),
    )
    chunks = list(rows.chunks())
    names = [name.decode() for part, _ in chunks for name in part.tolist()]
    values = np.concatenate([part for _, part in chunks])
    assert names == sorted(set(names))
    assert len(names) == len(values) == len(rows)
    assert values[:, 0].tolist() == [int(name, 16) for name in names]
    return dict(zip(names, values[:, 1].tolist(), strict=True))


@pytest.mark.parametrize("block", [1, 3, 8_192])
@given(some_ids, some_ids, some_ids)
def test_songs_come_go_and_change(
    block: int, before: set[str], gone: set[str], new: set[str]
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(refresh, "_BLOCK_SONGS", block)
        found = merged(before, gone, new)
    expected = {**dict.fromkeys(before - gone, 1.0), **dict.fromkeys(new, 2.0)}
    assert found == expected


def test_what_is_replaced_can_be_written_over_what_was(tmp_path: Path) -> None:
    before = write_marked(tmp_path, 1.0, 9)
    rows = Replaced.of(before, gone=[ids(9)[3]], new=[ids(30)[29]], features=np.full((1, 3), 2.0))
    write(tmp_path, rows.chunks(), columns=3, stamp={"made": "from the one before"})
    found = open_latest(tmp_path)
    assert found is not None
    assert len(found) == 9
    assert [found.id_of(row) for row in range(9)] == [*ids(9)[:3], *ids(9)[4:], ids(30)[29]]
    assert found.features[-1].tolist() == [2.0] * 3
    assert (found.features[:-1] == 1.0).all()
    assert (found.table[:, -1] == 1.0).all()


def test_ids_that_are_none_are_refused_as_bytes_too(tmp_path: Path) -> None:
    for wrong in (np.array([b"short"]), np.array([b"\xff" * 16]), np.array([b"x" * 17])):
        with pytest.raises(ValueError, match="ids must be 16 letters or digits"):
            write(tmp_path, [(wrong, np.ones((1, 3)))], columns=3, stamp={})


def test_pages_that_were_let_go_come_back(tmp_path: Path) -> None:
    before = write_marked(tmp_path, 1.0, 9)
    release_pages(before.features)
    release_pages(before.table)
    release_pages(np.ones(3))  # there is nothing to let go
    assert (before.features == 1.0).all()

"""One worker and two: what a measurement of the scan tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bandstand.errors import BandstandError
from benchmarks.scale import private_cluster, scanning

if TYPE_CHECKING:
    from pathlib import Path


def test_the_ratio_is_that_of_rounds_side_by_side() -> None:
    found = scanning._found({1: [8.0, 30.0, 9.0], 2: [4.0, 20.0, 6.0]}, files=12, pieces=3)
    assert found["times_as_fast"] == [2.0, 1.5, 1.5]
    assert found["times_as_fast_median"] == 1.5
    assert found["times_as_fast_undisturbed"] == 2.0
    assert found["held"] is False
    assert found["files_per_second"] == {"1": 1.33, "2": 2.0}
    assert scanning._found({1: [8.5], 2: [5.0]}, files=1, pieces=1)["held"] is True


def test_no_two_files_are_equal(tmp_path: Path) -> None:
    originals = [tmp_path / "a.opus", tmp_path / "b.opus"]
    for number, path in enumerate(originals):
        path.write_bytes(b"music %d" % number)
    scanning._fill(tmp_path / "library", originals, 45)
    contents = {path.read_bytes() for path in (tmp_path / "library").rglob("*.opus")}
    assert len(contents) == 45
    assert len(list((tmp_path / "library").iterdir())) == 3


def test_a_scheduler_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_cluster, "_LOCAL", ("--no-such-option",))
    with pytest.raises(BandstandError, match="a Dask scheduler must start"):
        private_cluster.private_cluster(workers=0).__enter__()


@pytest.mark.long
def test_a_real_library_on_real_clusters() -> None:
    told: list[str] = []
    found = scanning.measure(on_run=told.append, **scanning.SMALL)
    assert found["files"] == 10
    assert set(found["files_per_second"]) == {"1", "2"}
    assert min(found["files_per_second"].values()) > 0
    assert found["held"] is (found["times_as_fast_median"] >= scanning.ASKED)
    assert len(told) == 3

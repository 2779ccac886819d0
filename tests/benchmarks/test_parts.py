"""Memory, cold starts, changes and scans, each measured once in a tiny form."""

from __future__ import annotations

import warnings

import pytest

from benchmarks import scan
from benchmarks.cold import measure_cold
from benchmarks.memory import measure_memory


def quiet(_: str) -> None:
    """Say nothing."""


def test_an_engine_a_radio_and_listeners_have_their_memory() -> None:
    found = measure_memory(songs=60, columns=4, ratings=(5, 40), seed=1, on_run=quiet)
    assert [row["process"] for row in found["rows"]] == ["engine", "radio"]
    engine, radio = found["rows"]
    assert engine["matrix_mb"] == 60 * 4 * 4 / 1e6
    assert radio["matrix_mb"] > 0
    for row in found["rows"]:
        assert row["peak_mb"] is None or row["peak_mb"] > 10
        assert found["figures"][f"{row['process']} beyond 200 MB"] == row["matrices"]
    newcomer, known = found["more_rows"]["a listener"]
    assert (newcomer["ratings"], known["ratings"]) == (5, 40)
    assert 0 < newcomer["belief_mb"] < known["belief_mb"]
    assert 0 < newcomer["state_mb"] < known["state_mb"]


def test_a_cold_listener_is_measured_from_log_and_from_snapshot() -> None:
    found = measure_cold(sizes=(40, 80), ratings=5, rounds=1, on_run=quiet)
    sources = [(row["source"], row["songs"]) for row in found["rows"]]
    assert sources == [("log", 40), ("snapshot", 40), ("log", 80), ("snapshot", 80)]
    assert all(min(row["belief_ms"], row["first_choice_ms"]) > 0 for row in found["rows"])
    assert min(found["figures"].values()) > 0


def test_the_ratio_of_a_scan_is_that_of_rounds_side_by_side() -> None:
    found = scan.result({1: [8.0, 30.0, 9.0], 2: [4.0, 20.0, 6.0]}, files=12)
    assert found["ratios"] == [2.0, 1.5, 1.5]
    assert found["figures"] == {"one worker / two": 1.5}
    assert [row["files_a_second"] for row in found["rows"]] == [pytest.approx(12 / 9), 2.0]


@pytest.mark.long
def test_a_real_library_on_real_clusters() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's own, of ports and sockets
        found = scan.measure_scan(files=10, pieces=2, rounds=1, on_run=quiet)
    assert [row["workers"] for row in found["rows"]] == [1, 2]
    assert found["figures"]["one worker / two"] > 0

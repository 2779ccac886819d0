"""Memory, measured once in a tiny form."""

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
        assert found["figures"][f"{row['process']} beyond 150 MB"] == row["matrices"]
    newcomer, known = found["more_rows"]["a listener"]
    assert (newcomer["ratings"], known["ratings"]) == (5, 40)
    assert 0 < newcomer["belief_mb"] < known["belief_mb"]
    # So small a state is not much larger than what else the process happens to allocate.
    assert min(newcomer["state_mb"], known["state_mb"]) > 0

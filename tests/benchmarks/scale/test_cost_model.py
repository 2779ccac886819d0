"""The cost model: formulas that can be worked out by hand, and the page that shows them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from benchmarks.scale.asked import asked_lines
from benchmarks.scale.blocks import BLOCKS
from benchmarks.scale.estimate import Computer, Constants, Service, constants_of, estimate
from benchmarks.scale.page import filled, main
from tests.benchmarks.scale.invented_run import a_rate, a_step, invented_parts

DOCS = Path(__file__).parents[3] / "docs"

CONSTANTS = Constants(
    around_seconds=0.076,
    step_seconds=0.004,
    pass_seconds_per_song=1e-7,
    passes_per_turn=0.01,
    newcomer_seconds_per_song=4e-7,
    newcomer_passes_per_turn=0.9,
    cold_seconds=0.05,
    song_bytes_kept=12,
    song_bytes_stored=2_000,
    listener_bytes_here=2e6,
    listener_bytes_stored=500,
    rating_bytes_here=760,
    rating_bytes_stored=300,
)
SERVICE = Service(
    listeners=1_000,
    songs=1_000_000,
    columns=91,
    ratings=100,
    share_listening=0.36,
    seconds_between_songs=180.0,
    minutes_of_visit=60.0,
)


def test_the_formulas_give_what_a_hand_works_out() -> None:
    found = estimate(SERVICE, CONSTANTS, Computer())
    assert found.turns_per_second == pytest.approx(2.0)
    assert found.arrivals_per_second == pytest.approx(0.1)
    assert found.passes_per_second == pytest.approx(0.12)
    assert found.matrix_bytes == 364e6
    assert found.shared_bytes == 364e6 + 32 * 12e6
    assert found.listeners_bytes == pytest.approx(360 * 2.076e6)
    assert found.disk_bytes == pytest.approx(2e9 + 1_000 * 30_500)
    assert found.cores == pytest.approx(2 * 0.08 + 0.1 * 0.05 + 0.12 * 0.1)
    assert found.cores_for_turns == pytest.approx(0.16)
    assert found.cores_for_arrivals == pytest.approx(0.1 * 0.15)
    assert found.reading_bytes_per_second == pytest.approx(0.12 * 364e6)
    assert found.computers == 1
    assert found.newcomer_cores == pytest.approx(0.01 * 2 * 0.4)
    assert found.newcomer_reading == pytest.approx(0.01 * 2 * 0.9 * 364e6)
    assert found.cache_bytes == pytest.approx(360 * 2.076e6 / 32)


@given(st.floats(1.0, 50.0), st.floats(1.0, 50.0))
def test_more_listeners_and_more_songs_never_take_less(more: float, larger: float) -> None:
    grown = replace(SERVICE, listeners=round(1_000 * more), songs=round(SERVICE.songs * larger))
    before, after = (estimate(one, CONSTANTS, Computer()) for one in (SERVICE, grown))
    for name in ("turns_per_second", "cores", "disk_bytes", "listeners_bytes", "computers"):
        assert getattr(after, name) >= getattr(before, name)


def test_nobody_listening_takes_only_the_catalogue() -> None:
    quiet = estimate(replace(SERVICE, listeners=0), CONSTANTS, Computer())
    assert quiet.cores == 0
    assert quiet.disk_bytes == 2e9
    assert quiet.computers == 1


def test_a_catalogue_that_no_computer_can_hold_is_said_to_be_so() -> None:
    found = estimate(SERVICE, CONSTANTS, Computer(memory_bytes=1e8))
    assert (found.computers, found.limit) == (0, "memory")


@pytest.fixture
def parts() -> dict[str, Any]:
    """Parts of a run in which every promise holds."""
    return invented_parts()


@pytest.fixture
def document(parts: dict[str, Any]) -> dict[str, Any]:
    """A whole run."""
    told = {"cores": 2, "processor": "x", "system": "Linux", "python": "3.11", "numpy": "2"}
    return {
        "request": {"features": 91},
        "machine": told,
        "seconds": {"all": 60.0},
        "asked": [line.as_json() for line in asked_lines(parts)],
        "parts": parts,
    }


def test_around_a_step_servers_do_what_is_left_of_their_turns(document: dict[str, Any]) -> None:
    serving = document["parts"]["serving"]
    serving["verdict"]["engine_ms_per_turn"] = 50.0
    found = constants_of(document)
    assert found.around_seconds == pytest.approx(0.03)
    assert found.turn_seconds == pytest.approx(0.03 + found.step_seconds)
    told = BLOCKS["constants"](document)
    assert "(80.0 ms) less learning and choosing (50.0 ms)" in told
    assert "100,000 songs, 50 ratings in the mean, 30 turns/s" in told
    serving["highest_rate_held"] = 0.0
    assert constants_of(document).around_seconds == pytest.approx(0.04)  # of the lowest rate
    serving["verdict"]["engine_ms_per_turn"] = 500.0
    assert constants_of(document).around_seconds == 0.0


def test_the_second_load_of_a_rate_that_is_held_counts(document: dict[str, Any]) -> None:
    serving = document["parts"]["serving"]
    serving["rates"].append(a_rate(30.0, 60.0))
    assert constants_of(document).around_seconds == pytest.approx(0.06)


def test_servers_whose_engine_nobody_has_timed_count_whole(document: dict[str, Any]) -> None:
    assert constants_of(document).around_seconds == pytest.approx(0.08)
    assert "a whole turn of the servers, newcomers' choices" in BLOCKS["constants"](document)


@pytest.mark.parametrize("is_told", [True, False])
def test_without_servers_nothing_is_counted_around_a_step_and_the_page_says_so(
    document: dict[str, Any], *, is_told: bool
) -> None:
    if is_told:
        del document["parts"]["serving"]
    else:
        document["parts"]["serving"]["rates"] = [a_rate(1.0, None)]
    found = constants_of(document)
    assert found.around_seconds == 0
    assert found.turn_seconds == found.step_seconds
    assert "no servers were measured: nothing is counted" in BLOCKS["constants"](document)


def test_the_constants_come_from_the_run(document: dict[str, Any]) -> None:
    slower = a_step(steps=50, passes=3)
    slower["seconds"] = {**slower["seconds"], "upkeep": {"mean": 0.03}}
    document["parts"]["step"]["situations"].append(slower)
    found = constants_of(document)
    # Of the slowest situation, what follows the answer with it, and its passes.
    assert found.step_seconds == pytest.approx(0.04)
    assert found.passes_per_turn == 3 / 50
    assert found.pass_seconds_per_song == pytest.approx(1e-4)
    assert found.listener_bytes_here == 2_000_000
    assert found.song_bytes_kept == pytest.approx((336_000_000 - 43_600_000) / 900_000)
    assert found.rating_bytes_here == 100.0


def test_what_a_cold_belief_costs_has_no_pass_in_it(document: dict[str, Any]) -> None:
    assert constants_of(document).cold_seconds == pytest.approx(0.03)


def test_newcomers_are_those_with_the_fewest_ratings(document: dict[str, Any]) -> None:
    new = a_step(ratings=20, songs=2_000, passes=30, passes_ahead=10, steps=50)
    new["seconds"] = {**new["seconds"], "choose": {"median": 0.3, "mean": 0.4}}
    document["parts"]["growth"]["ratings"].append(new)
    found = constants_of(document)
    assert found.newcomer_seconds_per_song == pytest.approx((0.4 + 0.002) / 2_000)
    assert found.newcomer_passes_per_turn == 0.8
    assert "a choice with its upkeep, 20 ratings, per song" in BLOCKS["constants"](document)


def test_a_page_is_filled_again_and_again(document: dict[str, Any], tmp_path: Path) -> None:
    page, run = tmp_path / "page.md", tmp_path / "run.json"
    page.write_text("before\n<!-- measured: asked -->\nyesterday\n<!-- end -->\nafter\n", "utf-8")
    run.write_text(json.dumps(document), encoding="utf-8")
    for _ in range(2):
        main(json.dumps({"page": str(page), "json": str(run)}))
    text = page.read_text(encoding="utf-8")
    assert "yesterday" not in text
    assert text.startswith("before\n<!-- measured: asked -->\n\n| figure |")
    assert text.endswith("<!-- end -->\nafter\n")


def test_a_block_that_nobody_knows_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"a block must be one of .*, got 'nothing'"):
        filled("<!-- measured: nothing -->\n<!-- end -->", document)


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_can_be_made(name: str, document: dict[str, Any]) -> None:
    assert BLOCKS[name](document)


def test_the_page_shows_what_the_run_beside_it_has_measured() -> None:
    page = (DOCS / "scale.md").read_text(encoding="utf-8")
    assert all(f"<!-- measured: {name} -->" in page for name in BLOCKS)
    for file in DOCS.glob("scale.json"):
        run = json.loads(file.read_text(encoding="utf-8"))
        assert filled(page, run) == page
        assert run["asked"] == [line.as_json() for line in asked_lines(run["parts"])]

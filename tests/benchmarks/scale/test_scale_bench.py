"""`bandstand bench --scale` measures what it says; how fast anything is, is no test."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bandstand.domain import History
from bandstand.errors import BandstandError, InvalidInputError
from bandstand.radio.choice.choosing import Model
from bandstand_lab.speed.linucb_reference import PlainLinUcb
from bandstand_lab.speed.world import PAPER, STARS
from benchmarks.scale import bench
from benchmarks.scale.bench import measure
from benchmarks.scale.cold import measure_cold
from benchmarks.scale.plot import plot
from benchmarks.scale.references import ProductLinUcb, WidthsLinUcb, stream
from benchmarks.scale.request import PARTS, ScaleRequest, quick_request, whole_request
from benchmarks.scale.sitting import Library, Sitting, drawn_features
from benchmarks.scale.steps import PICKS, PRODUCT, STREAM, WIDTHS, Run, Situation
from benchmarks.scale.table import print_tables

if TYPE_CHECKING:
    from pathlib import Path

# Everything but the parts that start Dask workers and servers, which have tests of their own.
TINY = quick_request(
    only=("step", "playlist", "small", "growth", "memory", "cold", "correctness", "costs"),
    songs=120,
    features=4,
    ratings=12,
    steps=5,
    small_steps=4,
    linucb_runs=2,
    small_songs=60,
    song_sizes=(60, 120),
    memory_sizes=(60,),
    rating_sizes=(8, 16),
    newcomers=(5,),
    growth_steps=4,
    growth_songs=60,
    playlist=5,
    cases=14,
    cold_sizes=(40, 80),
    cold_ratings=10,
    rounds=1,
    stored_songs=(20, 60),
    stored_ratings=(5, 40),
)
HELD = 7


@pytest.fixture(scope="module")
def told() -> list[str]:
    """What a run has told of its parts."""
    return []


@pytest.fixture(scope="module")
def document(told: list[str]) -> dict[str, Any]:
    """A tiny run, as it is written and read again."""
    found: dict[str, Any] = json.loads(json.dumps(measure(TINY, told.append), allow_nan=False))
    return found


def test_every_part_that_was_asked_for_is_measured(
    document: dict[str, Any], told: list[str]
) -> None:
    assert document["unmeasured"] == {}
    assert set(document["parts"]) == set(TINY.only)
    assert {line["part"] for line in document["asked"]} == set(TINY.only) - {"costs"}
    assert set(document["seconds"]) == {*TINY.only, "all"}
    assert document["request"]["songs"] == 120
    assert told[-1] == "counted side by side: memory, correctness, costs"
    assert [*document["parts"]] == [part for part in PARTS if part in TINY.only]
    assert len(told) > len(TINY.only)


def test_steps_stand_beside_every_reference(document: dict[str, Any]) -> None:
    found = document["parts"]["step"]["situations"]
    assert [(one["world"], one["picks"]) for one in found] == [
        (world, picks) for world in ("stars", "paper") for picks in PICKS
    ]
    for one in found:
        assert one["steps"] == TINY.steps
        assert set(one["ratios"]) == {f"step / {name}" for name in (STREAM, PRODUCT, WIDTHS)}
        assert one["brute_force"]["agreed"] == one["brute_force"]["checked"] > 0
        assert one["passes"] >= one["steps_with_a_pass"] >= 0


def test_the_sizes_of_a_run_are_told(document: dict[str, Any]) -> None:
    request, parts = document["request"], document["parts"]
    assert (request["steps"], request["small_steps"], request["linucb_runs"]) == (5, 4, 2)
    assert {one["steps"] for one in parts["small"]["situations"]} == {4}


def test_a_playlist_stands_beside_a_step_a_pass_and_the_stream(document: dict[str, Any]) -> None:
    found = document["parts"]["playlist"]["situations"]
    assert [(one["world"], one["picks"]) for one in found] == [
        (world, picks) for world in ("stars", "paper") for picks in PICKS
    ]
    for playlist in found:
        for one in ("step", "whole_step", "stream"):
            seconds = playlist["seconds"]["median"] / playlist[f"{one}_seconds"]
            assert playlist[f"in_{one}s"]["median"] == pytest.approx(seconds)


def test_growth_has_a_point_for_every_size(document: dict[str, Any]) -> None:
    growth = document["parts"]["growth"]
    assert [one["songs"] for one in growth["songs"]] == [60, 120]
    assert [one["ratings"] for one in growth["ratings"]] == [8, 16]
    assert {one["songs"] for one in growth["ratings"]} == {60}
    assert [(one["songs"], one["ratings"]) for one in growth["newcomers"]] == [(120, 5)]


def test_choices_are_those_of_brute_force(document: dict[str, Any]) -> None:
    for engine in document["parts"]["correctness"].values():
        assert engine["cases"] == HELD
        assert engine["wrong"] == 0


def test_what_a_process_holds_is_told_with_its_parts(document: dict[str, Any]) -> None:
    for one in document["parts"]["memory"]["sizes"]:
        parts = one["parts"]
        assert parts["matrix"] == one["songs"] * TINY.features * 4
        assert one["peak"] is None or one["peak"] > parts["program"] > 10_000_000
    for one in document["parts"]["memory"]["radios"]:
        assert one["matrix"] > 0
        assert one["opening_seconds"] > 0
        assert one["peak"] is None or one["peak"] > one["program"]


def test_a_cold_listener_is_measured_from_log_and_from_snapshot(document: dict[str, Any]) -> None:
    sizes = document["parts"]["cold"]["sizes"]
    assert [size["songs"] for size in sizes] == [40, 80]
    for size, name in product(sizes, ("from_log", "from_snapshot")):
        for times in (size[name][each] for each in ("usable", "first_choice", "next")):
            assert len(times["wall_seconds"]["runs"]) == TINY.rounds
            assert times["wall_seconds"]["minimum"] > 0


def test_a_belief_is_usable_before_the_first_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still but for choices, which take five seconds each."""
    clock, honest = [0.0], Model.choose

    def choose(self: Model, **options: Any) -> Any:
        clock[0] += 5
        return honest(self, **options)

    monkeypatch.setattr(Model, "choose", choose)
    still = SimpleNamespace(perf_counter=lambda: clock[0], process_time=lambda: clock[0])
    monkeypatch.setattr("benchmarks.scale.cold.time", still)
    (size,) = measure_cold(sizes=(40,), ratings=5, rounds=1)["sizes"]
    for name in ("from_log", "from_snapshot"):
        assert size[name]["usable"]["wall_seconds"]["median"] == 0
        assert size[name]["first_choice"]["wall_seconds"]["median"] == 5
        assert size[name]["next"]["wall_seconds"]["median"] >= 5


def test_bytes_grow_with_songs_and_ratings(document: dict[str, Any]) -> None:
    costs = document["parts"]["costs"]
    assert costs["songs"][0]["matrix"] < costs["songs"][1]["matrix"]
    assert costs["ratings"][0]["snapshot"] < costs["ratings"][1]["snapshot"]
    assert costs["each"]["song_in_matrix"] > 0
    assert costs["each"]["rating_in_snapshot"] > 0
    # Features, and what the log says of each.
    assert costs["each"]["rating_in_memory"] > 8 * 91
    for one in costs["ratings"]:
        assert one["held"] == one["belief"] + one["shortlist"] + one["history"]
        assert min(one["belief"], one["history"]) > 0


def test_what_was_measured_is_printed_and_drawn(document: dict[str, Any], tmp_path: Path) -> None:
    screen = io.StringIO()
    print_tables(document, Console(file=screen, width=80))
    text = screen.getvalue()
    for line in document["asked"]:
        assert line["measured"] in text
    picture = tmp_path / "scale.png"
    plot(document, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_figure_needs_the_part_that_it_shows(document: dict[str, Any], tmp_path: Path) -> None:
    without = {**document, "parts": {"step": document["parts"]["step"]}}
    with pytest.raises(InvalidInputError, match="the figure shows the part growth"):
        plot(without, tmp_path / "scale.png")


def test_a_figure_of_other_parts_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []
    monkeypatch.setattr(bench, "measure", lambda *_: measured.append("something"))
    order = {"quick": True, "only": ["costs"], "plot": str(tmp_path / "scale.png")}
    with pytest.raises(InvalidInputError, match="a figure shows the part growth, got only costs"):
        bench.main(json.dumps(order))
    assert measured == []


def test_the_program_writes_where_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scale.json"
    order = {"quick": True, "only": ["correctness"], "cases": 2, "json": str(file)}
    bench.main(json.dumps(order))
    written = json.loads(file.read_text(encoding="utf-8"))
    assert list(written["parts"]) == ["correctness"]
    printed = capsys.readouterr()
    assert "choices unlike brute force's, of 2" in printed.out
    assert "s  counted side by side: correctness" in printed.err
    bench.main(json.dumps({**order, "json": "-"}))
    assert list(json.loads(capsys.readouterr().out)["parts"]) == ["correctness"]


def test_a_part_that_cannot_be_measured_does_not_cost_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(**_: Any) -> dict[str, Any]:
        msg = "expected PostgreSQL [programs], found none"
        raise BandstandError(msg)

    monkeypatch.setattr("benchmarks.scale.serving.measure", absent)
    found = measure(replace(TINY, only=("serving", "correctness"), cases=2), lambda _: None)
    assert list(found["parts"]) == ["correctness"]
    assert found["unmeasured"] == {"serving": "expected PostgreSQL [programs], found none"}
    print_tables(found)
    assert (
        "serving could not be measured: expected PostgreSQL [programs]" in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"only": ("stepp",)}, "a part must be one of step, .*, got stepp"),
        ({"only": ()}, "got none"),
        ({"songs": 49}, "songs must be at least 50, got 49"),
        ({"steps": 3}, "steps must be at least 4, got 3"),
        ({"linucb_runs": 0}, "linucb_runs must be at least 1, got 0"),
        ({"features": 1}, "features must be at least 2, got 1"),
    ],
)
def test_a_request_that_cannot_be_measured_is_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ScaleRequest(**changes)


def test_a_small_request_has_all_parts_and_few_songs() -> None:
    request = quick_request()
    assert request.only == tuple(PARTS)
    assert request.small
    assert max(request.song_sizes) == request.songs < ScaleRequest().songs


@pytest.mark.parametrize("songs", [100, 500, 2_000])
def test_no_size_of_a_cold_radio_is_measured_twice(songs: int) -> None:
    for request in (quick_request(songs=songs), whole_request(songs=songs)):
        assert list(request.cold_sizes) == sorted(set(request.cold_sizes))
        assert request.cold_sizes[-1] == songs


def test_songs_are_drawn_in_single_precision_whatever_the_block() -> None:
    features = drawn_features(STARS, 70_000, 3, np.random.default_rng(5))
    assert features.dtype == np.float32
    assert (features[:, -1] == 1).all()
    assert not (drawn_features(PAPER, 10, 3, np.random.default_rng(5))[:, -1] == 1).any()
    assert abs(float(features[:, 0].mean())) < 0.02


def test_the_stream_reads_everything() -> None:
    assert stream(np.ones((300, 7), dtype=np.float32)) == 2_100.0


@given(st.integers(0, 2**32), st.sampled_from([np.float32, np.float64]))
def test_both_linucbs_choose_as_the_plain_one(seed: int, kind: type) -> None:
    rng = np.random.default_rng(seed)
    catalogue = rng.normal(size=(40, 3))
    rivals = [
        PlainLinUcb(catalogue, History.empty(3)),
        ProductLinUcb(catalogue.astype(kind), History.empty(3)),
        WidthsLinUcb(catalogue.astype(kind), History.empty(3)),
    ]
    for _ in range(5):
        features, rating = catalogue[rng.integers(40)], float(rng.normal())
        for rival in rivals:
            rival.absorb(features, rating)
        scores = _scores(rivals[0])
        for rival in rivals[1:]:
            # In single precision another song may be chosen, if it is as good.
            assert scores[rival.choose()] == pytest.approx(scores.max(), abs=1e-4)


def test_widths_that_were_not_kept_up_would_be_noticed() -> None:
    rng = np.random.default_rng(8)
    catalogue = rng.normal(size=(40, 3))
    stale = WidthsLinUcb(catalogue, History.empty(3))
    kept, plain = stale.variances.copy(), PlainLinUcb(catalogue, History.empty(3))
    for row in (3, 4, 5, 6):
        for one in (stale, plain):
            one.absorb(catalogue[row], 0.0)
    stale.variances = kept
    scores = _scores(plain)
    assert scores[stale.choose()] < scores.max() - 1e-2


def _scores(linucb: PlainLinUcb) -> np.ndarray[Any, np.dtype[np.float64]]:
    mean = linucb.catalogue @ (linucb.covariance @ linucb.evidence)
    width = ((linucb.catalogue @ linucb.covariance) * linucb.catalogue).sum(axis=1)
    found: np.ndarray[Any, np.dtype[np.float64]] = mean + np.sqrt(width)
    return found


@pytest.fixture
def run() -> Run:
    """A listener with a past, before its first step."""
    features = drawn_features(STARS, 200, 5, np.random.default_rng(2))
    situation = Situation(world=STARS, picks="own", ratings=10, steps=4, seed=3)
    return Run(situation, Library.of(features))


def test_each_step_learns_one_answer_and_hears_one_song(run: Run) -> None:
    before = run.sitting.step
    run.step()
    run.step()
    assert run.sitting.step == before + 2
    assert len(run.result().steps) == 2
    assert run.result().seconds.minimum > 0


def test_a_choice_that_is_not_the_best_is_noticed(run: Run) -> None:
    sitting = run.sitting
    best = sitting.choose()
    assert sitting.agrees(best)
    assert not all(sitting.agrees(row) for row in range(10) if row != best)


def test_the_same_seed_gives_the_same_listener() -> None:
    features = drawn_features(STARS, 60, 4, np.random.default_rng(2))
    sittings = [Sitting(STARS, Library.of(features), ratings=9, seed=4) for _ in range(2)]
    assert (sittings[0].history.ratings == sittings[1].history.ratings).all()
    assert sittings[0].playlist(3) == sittings[1].playlist(3)

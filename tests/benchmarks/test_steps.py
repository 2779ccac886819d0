"""Steps and playlists of simulated listeners, beside references; no time is judged."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from bandstand.core.engines.ridge import Ridge
from bandstand.core.model.history import History
from bandstand.errors import InvalidInputError
from bandstand_lab.speed.training import PAPER, STARS
from benchmarks import scale, speed
from benchmarks.scale import PARTS, ScaleRequest, request_of
from benchmarks.speed import SpeedRequest
from benchmarks.steps import PICKS, LinUcb, Session, drawn_features, stream
from benchmarks.targets import TARGETS

TINY = request_of(
    quick=True, songs=120, features=3, ratings=(5, 500), steps=4, small_steps=4, playlist=3
)
KINDS = [(world, picks) for world in ("stars", "paper") for picks in PICKS]


@pytest.fixture(scope="module")
def parts() -> dict[str, dict[str, Any]]:
    """The parts with steps, each measured once."""
    request = replace(TINY, small_songs=(60, 120))
    return {
        name: scale._MEASURES[name](request, lambda _: None)
        for name in ("step", "small", "playlist")
    }


def test_every_kind_of_listening_is_measured_for_every_number_of_ratings(
    parts: dict[str, dict[str, Any]],
) -> None:
    rows = parts["step"]["rows"]
    found = [(row["world"], row["picks"], row["ratings"]) for row in rows]
    assert found == [(*kind, ratings) for kind in KINDS for ratings in (5, 500)]
    for row in rows:
        assert (row["steps"], row["songs"]) == (4, 120)
        assert 0 < row["median_streams"] <= row["p99_streams"] <= row["slowest_streams"]
        assert 0 <= row["behind_streams"] <= row["slowest_behind"]


def test_choices_are_those_of_brute_force(parts: dict[str, dict[str, Any]]) -> None:
    for name in ("step", "small"):
        assert all(row["right"] == row["checked"] == 2 for row in parts[name]["rows"])
        assert parts[name]["figures"]["choices unlike brute force"] == 0


def test_fewer_songs_stand_beside_linucb_in_both_precisions(
    parts: dict[str, dict[str, Any]],
) -> None:
    rows = parts["small"]["rows"]
    assert {row["songs"] for row in rows} == {60, 120}
    assert all(min(row["per_linucb"], row["per_linucb_float32"]) > 0 for row in rows)
    worst = max(row["per_linucb"] for row in rows if (row["songs"], row["ratings"]) == (60, 500))
    assert parts["small"]["figures"]["median step, 500 ratings or more"] == worst


def test_playlists_of_every_kind_stand_beside_the_stream(
    parts: dict[str, dict[str, Any]],
) -> None:
    rows = parts["playlist"]["rows"]
    assert [(row["world"], row["picks"]) for row in rows] == KINDS
    for row in rows:
        assert (row["length"], row["playlists"]) == (3, 3)
        assert row["median_streams"] == pytest.approx(row["median_ms"] / row["stream_ms"])
        assert 1 <= row["fewest_different_songs"] <= 3


def test_every_target_has_its_figure(parts: dict[str, dict[str, Any]]) -> None:
    for name, part in parts.items():
        wanted = {target.name for target in TARGETS if target.part == name}
        assert wanted <= {key for key, value in part["figures"].items() if value is not None}


def test_a_choice_that_is_not_the_best_is_noticed() -> None:
    """Planted: any song in place of the chosen one."""
    features = drawn_features(STARS, 200, 5, np.random.default_rng(2))
    session = Session(STARS, features, ratings=10, seed=3)
    best = session.choose()
    assert session.is_best(best)
    assert not all(session.is_best(row) for row in range(10) if row != best)


def test_a_step_learns_one_rating() -> None:
    features = drawn_features(PAPER, 60, 4, np.random.default_rng(2))
    session = Session(PAPER, features, ratings=9, seed=4, again=False)
    assert len({answer.song for answer in session.recommender.answers}) == 9
    session.learn(session.rate(session.choose()))
    assert session.recommender.step == 11


def test_the_same_seed_gives_the_same_listener() -> None:
    features = drawn_features(STARS, 60, 4, np.random.default_rng(2))
    one, other = (Session(STARS, features, ratings=9, seed=4) for _ in range(2))
    assert one.recommender.answers == other.recommender.answers
    assert one.playlist(3) == other.playlist(3)


def test_songs_are_drawn_in_single_precision_whatever_the_block() -> None:
    features = drawn_features(STARS, 70_000, 3, np.random.default_rng(5))
    assert features.dtype == np.float32
    assert (features[:, -1] == 1).all()
    assert not (drawn_features(PAPER, 10, 3, np.random.default_rng(5))[:, -1] == 1).any()
    assert stream(np.ones((300, 7), dtype=np.float32)) == 2_100.0


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_linucb_is_the_ridge_regression_of_the_package(kind: type) -> None:
    rng = np.random.default_rng(5)
    catalogue, ratings = rng.standard_normal((60, 4)), rng.standard_normal(9)
    history = History.of(features=catalogue[:8], elapsed=0.0, ratings=ratings[:8])
    longer = history.append(features=catalogue[8], elapsed=0.0, rating=ratings[8])
    belief = Ridge(regularisation=1.0).fit(longer)
    scores = catalogue @ belief.coefficients + np.sqrt(
        np.einsum("sp,pq,sq->s", catalogue, belief.covariance(), catalogue)
    )
    linucb = LinUcb(catalogue.astype(kind), history)
    linucb.learn(catalogue[8], float(ratings[8]))
    assert linucb.covariance == pytest.approx(belief.covariance(), rel=1e-9)
    assert linucb.choose() == int(np.argmax(scores))


def test_the_whole_request_is_what_was_promised() -> None:
    request = ScaleRequest()
    assert (request.songs, request.features, request.steps) == (1_000_000, 91, 200)
    assert request.ratings == (5, 20, 100, 500, 5_000)
    assert (request.listeners, request.serving_songs, request.cases) == (1_000, 100_000, 10_000)


@pytest.mark.parametrize("songs", [100, 500, 50_000])
def test_no_catalogue_is_larger_than_asked_nor_measured_twice(songs: int) -> None:
    for request in (request_of(songs=songs), request_of(quick=True, songs=songs)):
        for sizes in (request.small_songs, request.cold_songs):
            assert list(sizes) == sorted(set(sizes))
            assert max(sizes) <= songs
        assert max(request.changing_songs, request.serving_songs) <= songs


@pytest.mark.parametrize(
    ("make", "changes", "message"),
    [
        (ScaleRequest, {"only": ("stepp",)}, "a part must be one of step, .*, got stepp"),
        (ScaleRequest, {"only": ()}, "got none"),
        (ScaleRequest, {"songs": 49}, "songs must be at least 50, got 49"),
        (ScaleRequest, {"steps": 3}, "steps must be at least 4, got 3"),
        (SpeedRequest, {"repeats": 0}, "repeats must be at least 1, got 0"),
        (SpeedRequest, {"sizes": ()}, "each at least 5, got none"),
        (SpeedRequest, {"sizes": (100, 100)}, "different numbers of ratings, each at least 5"),
        (speed.request_of, {"quick": True, "sizes": (4,)}, "each at least 5, got 4"),
    ],
)
def test_a_request_that_cannot_be_measured_is_refused(
    make: Any, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make(**changes)


def test_every_part_can_be_measured() -> None:
    assert tuple(scale._MEASURES) == PARTS


def test_the_speed_benchmark_has_all_of_its_figures() -> None:
    request = SpeedRequest(
        sizes=(20, 40),
        repeats=1,
        features=3,
        songs=60,
        step_ratings=(6,),
        steps=4,
        imports=1,
        sampler_steps=50,
    )
    document = speed.measure(request)
    assert list(document["parts"]) == ["online", "training", "import"]
    assert all(target["measured"] is not None for target in document["targets"])
    assert len(document["parts"]["training"]["times"]) == 2 * 9 + 3
    assert [row["picks"] for row in document["parts"]["online"]["rows"]] == [*PICKS, *PICKS]
    first, *_ = document["parts"]["training"]["rows"]
    assert first["method"] == "metropolis (scaled)"


def test_frameworks_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: an engine has loaded JAX."""
    monkeypatch.setattr(speed, "frameworks_among", partial(lambda *_: ["jax"]))
    found = speed.import_time(1, lambda _: None)
    assert found["figures"]["frameworks loaded"] == 1

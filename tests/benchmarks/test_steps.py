"""Steps and playlists of simulated listeners, beside references; no time is judged."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from bandstand.core.engines.ridge import Ridge
from bandstand.core.model.history import History
from bandstand.errors import InvalidInputError
from bandstand_lab.speed.training import STARS
from benchmarks import scale
from benchmarks.program import TARGETS
from benchmarks.radio import RadioRequest
from benchmarks.scale import ScaleRequest, request_of
from benchmarks.serving import measure_serving
from benchmarks.steps import PICKS, LinUcb, Session, drawn_features

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


def test_choices_are_those_of_brute_force(parts: dict[str, dict[str, Any]]) -> None:
    for name in ("step", "small"):
        assert all(row["right"] == row["checked"] == 2 for row in parts[name]["rows"])
        assert parts[name]["figures"]["choices unlike brute force"] == 0


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


@pytest.mark.parametrize(
    ("make", "changes", "message"),
    [
        (ScaleRequest, {"only": ("stepp",)}, "a part must be one of step, .*, got stepp"),
        (ScaleRequest, {"only": ()}, "got none"),
        (RadioRequest, {"listeners": 0}, "listeners must be at least"),
        (
            partial(measure_serving, songs=50, listeners=1, turns=1, on_run=print),
            {"rates": (0.0,)},
            "rates must be positive",
        ),
        (ScaleRequest, {"songs": 49}, "songs must be at least 50, got 49"),
        (ScaleRequest, {"steps": 3}, "steps must be at least 4, got 3"),
    ],
)
def test_a_request_that_cannot_be_measured_is_refused(
    make: Any, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make(**changes)

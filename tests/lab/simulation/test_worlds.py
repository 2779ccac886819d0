"""Worlds: what they draw, from what, and how often."""

import json
import pickle
from typing import Any, Final

import numpy as np
import pytest
from scipy import stats

from bandstand.errors import InvalidInputError
from bandstand.types import frozen
from bandstand_lab.simulation.listener import SimulatedListener
from bandstand_lab.simulation.worlds import GaussianWorld, Meeting, TableWorld, World

FAILURE_RATE: Final = 1e-4

TABLE = frozen([[1.0, 200.0, 7.0], [3.0, 100.0, 7.0], [2.0, 400.0, 7.0], [9.0, 0.0, 7.0]])
WORLDS: list[World] = [GaussianWorld(songs=6, features=3), TableWorld(features=TABLE)]


def everything(meeting: Meeting) -> list[Any]:
    """Return all numbers of a meeting."""
    listener = meeting.listener
    assert isinstance(listener, SimulatedListener)
    noise = listener.noise_standard_deviation
    taste = [listener.preference.tolist(), listener.recovery_time, noise]
    return [meeting.features.tolist(), *taste]


# ── What all worlds have in common ───────────────────────────────────────────────────────


@pytest.mark.parametrize("world", WORLDS)
def test_a_meeting_follows_from_seed_and_run(world: World) -> None:
    assert everything(world.meeting(2, 7)) == everything(world.meeting(2, 7))
    others = [world.meeting(run, seed) for run, seed in ((2, 7), (3, 7), (2, 8))]
    times = {meeting.listener.recovery_time for meeting in others}
    assert len(times) == 3


@pytest.mark.parametrize("world", WORLDS)
def test_a_world_is_the_same_in_another_process(world: World) -> None:
    copy = pickle.loads(pickle.dumps(world))  # noqa: S301 - our own
    assert everything(copy.meeting(1, 5)) == everything(world.meeting(1, 5))


@pytest.mark.parametrize("world", WORLDS)
def test_the_listener_knows_the_songs_as_the_radio_sees_them(world: World) -> None:
    meeting = world.meeting(0, 1)
    with np.errstate(all="raise"):
        radio = meeting.radio("random", seed=3)
        expected = meeting.listener.expected_rating(radio.songs())
    assert expected.shape == (len(meeting.features),)


@pytest.mark.parametrize("world", WORLDS)
def test_a_description_is_json(world: World) -> None:
    described = world.describe()
    assert json.loads(json.dumps(described)) == described
    assert described["songs"] == len(world.meeting(0, 0).features)


# ── Drawn songs ──────────────────────────────────────────────────────────────────────────


def scale_p_value(world: GaussianWorld, variance: float) -> float:
    features = np.concatenate([world.meeting(run, 11).features.ravel() for run in range(5)])
    return float(stats.kstest(features / np.sqrt(variance), "norm").pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("columns", [2, 9])
def test_the_scale_says_how_far_features_spread(columns: int) -> None:
    entries = GaussianWorld(songs=500, features=columns, scale="entries")
    norm = GaussianWorld(songs=500, features=columns, scale="norm")
    assert scale_p_value(entries, 1.0) > FAILURE_RATE
    assert scale_p_value(norm, 1 / columns) > FAILURE_RATE
    # Planted error: a standard deviation of 1/p where the variance is meant.
    assert scale_p_value(norm, 1 / columns**2) < FAILURE_RATE


def test_scale_and_noise_change_neither_the_songs_nor_the_taste() -> None:
    plain = GaussianWorld(songs=5, features=4).meeting(0, 2)
    scaled = GaussianWorld(songs=5, features=4, scale="norm", noise_standard_deviation=0.1)
    other = scaled.meeting(0, 2)
    np.testing.assert_allclose(other.features, plain.features / 2)
    assert everything(other)[1:3] == everything(plain)[1:3]


# ── Songs of a table ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("scale", "norm"), [("entries", 2.0), ("norm", 2 / 3)])
def test_the_columns_of_a_table_have_no_units(scale: Any, norm: float) -> None:
    features = TableWorld(features=TABLE, scale=scale).meeting(0, 0).features
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-15)
    # Two columns vary; the third is constant and says nothing.
    assert np.square(features).sum(axis=1).mean() == pytest.approx(norm)
    assert not features[:, 2].any()


def test_units_do_not_matter() -> None:
    ours = TableWorld(features=TABLE).meeting(0, 0).features
    other = TableWorld(features=frozen(TABLE * [60.0, 1e-3, 2.0] + 5.0)).meeting(0, 0).features
    np.testing.assert_allclose(ours, other, atol=1e-12)


# ── What is refused ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"songs": 0}, "number of songs must be a whole number of at least 1, got 0"),
        ({"features": 0}, "number of features must be a whole number of at least 1, got 0"),
        ({"songs": 2.5}, r"number of songs .* got 2\.5"),
        ({"scale": "huge"}, "scale must be one of entries, norm, got 'huge'"),
        ({"noise_standard_deviation": -1.0}, "finite and not negative, got -1"),
        ({"noise_standard_deviation": float("nan")}, "finite and not negative, got nan"),
    ],
)
def test_worlds_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        GaussianWorld(**settings)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3,)])
def test_a_table_without_songs_or_features_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInputError, match="must be a whole number of at least 1, got 0"):
        TableWorld(features=np.zeros(shape))

"""Songs that are known follow a belief: the same numbers as from its matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from bandstand.domain import History, Songs
from bandstand.inference.exact import Exact
from bandstand.inference.known_songs import Known, KnownSongs
from bandstand.inference.thinking import Thinking
from bandstand.model.priors import paper_prior
from tests.simulated import MONTH, simulated_history

if TYPE_CHECKING:
    from bandstand.inference.exact_belief import ExactBelief

COLUMNS = 5
FEATURES = np.random.default_rng(4).normal(size=(40, COLUMNS))
ENGINE = Exact(prior=paper_prior(COLUMNS))


def known_of(belief: ExactBelief, rows: list[int]) -> Known:
    """Return what a belief says of some songs."""
    features = FEATURES[rows]
    return Known(
        rows=np.array(rows),
        features=features,
        content=features @ belief.means.T,
        variances=belief.variances_of(features),
    )


def begun(count: int = 30) -> tuple[History, ExactBelief, KnownSongs]:
    """Return a history, what is believed after it, and some songs that are known."""
    history = simulated_history(np.random.default_rng(1), count=count, columns=COLUMNS)
    belief = ENGINE.fit(history)
    songs = KnownSongs()
    songs.join(belief, known_of(belief, [3, 8, 21]), np.array([1.0, 2.0, 3.0]))
    return history, belief, songs


def check(songs: KnownSongs, belief: ExactBelief) -> None:
    """Assert that all numbers are those of the belief."""
    wanted = known_of(belief, songs.rows.tolist())
    scale = float(np.abs(wanted.variances).max())
    np.testing.assert_array_equal(songs.features, wanted.features)
    np.testing.assert_allclose(songs.content, wanted.content, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(songs.variances, wanted.variances, rtol=1e-9, atol=1e-12 * scale)


def answered(history: History, rng: np.random.Generator) -> History:
    """Return a history with another answer."""
    return history.append(
        features=rng.normal(size=COLUMNS),
        elapsed=float(rng.choice([5.0, 600.0, MONTH])),
        rating=float(rng.normal()),
        weight=float(rng.choice([0.2, 1.0])),
    )


def test_nothing_known_follows_anything() -> None:
    songs = KnownSongs()
    songs.follow(ENGINE.fit(History.empty(COLUMNS)))
    assert len(songs) == 0


@pytest.mark.parametrize("together", [1, 3])
def test_answers_are_followed(together: int) -> None:
    """One by one or several at a time, past the point where covariances are written out anew."""
    history, belief, songs = begun()
    rng = np.random.default_rng(7)
    for _ in range(120 // together):
        for _ in range(together):
            history = answered(history, rng)
            belief = ENGINE.update(belief, history)
        songs.follow(belief)
        check(songs, belief)


def test_an_answer_taken_back_and_a_moved_grid_are_followed() -> None:
    history, belief, songs = begun()
    for changed in (history.without(4), history):
        belief = ENGINE.fit(changed)
        songs.follow(belief)
        check(songs, belief)


def test_songs_join_in_order_and_once() -> None:
    _, belief, songs = begun()
    songs.join(belief, known_of(belief, [2, 8, 30]), np.array([5.0, 6.0, 7.0]))
    assert songs.rows.tolist() == [2, 3, 8, 21, 30]
    assert songs.promise.tolist() == [5.0, 1.0, 2.0, 3.0, 7.0]
    check(songs, belief)


def test_those_that_promise_least_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bandstand.inference.known_songs._MOST", 4)
    _, belief, songs = begun()
    songs.join(belief, known_of(belief, [2, 30]), np.array([2.5, 7.0]))
    assert songs.rows.tolist() == [2, 8, 21, 30]
    check(songs, belief)


def planned(belief: ExactBelief, row: int, elapsed: float = MONTH) -> ExactBelief:
    """Return a belief as if a song had been heard."""
    return ENGINE.plan(belief, Songs.of(features=FEATURES[[row]], elapsed=elapsed))


def test_thoughts_are_followed_and_forgotten() -> None:
    """Songs that are known or not, heard lately or never; then other thoughts; then none."""
    _, belief, songs = begun()
    one = belief
    for row, elapsed in ((8, MONTH), (3, 30.0), (17, MONTH), (8, 4.0), (21, 0.0)):
        one = planned(one, row, elapsed)
        songs.follow(one)
        check(songs, one)
    other = planned(planned(belief, 21), 3)
    songs.follow(other)
    check(songs, other)
    thinking = songs.nbytes
    songs.follow(belief)
    check(songs, belief)
    assert 0 < songs.nbytes < thinking


def test_many_thoughts_are_followed() -> None:
    _, belief, songs = begun()
    for row in range(40):
        belief = planned(belief, row)
    songs.follow(belief)
    check(songs, belief)


def test_thoughts_that_take_nothing_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Thinking, "go_on", lambda *_: None)
    with pytest.raises(AssertionError):
        test_thoughts_are_followed_and_forgotten()

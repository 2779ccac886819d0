"""Of many songs few are looked at, and the choice is that of looking at all."""

import inspect
from functools import cache
from typing import Any

import numpy as np
import pytest

from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.history import SongsAt
from bandstand.music.catalogue.catalogue import Catalogue, catalogue_of
from bandstand.radio.selection.exploration_dial import NOVELTY_BONUS, policy_with
from bandstand.radio.selection.filters import Station, Years
from bandstand.radio.selection.select import RadioListener, minutes_at
from bandstand.types import Indices, Vector
from tests.fixtures.radio.catalogues import features, matrix, model, rated, record, song_id
from tests.fixtures.radio.logs import HOUR, MINUTE, Log

SONGS = 20_000
REQUESTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "familiar": {"dial": -0.7},
    "discover": {"dial": 1.0},
    "queued": {"after": [song_id(5), song_id(6)]},
    "years": {"station": Station(years=Years(first=1960, last=2000))},
}


@cache
def large_catalogue() -> Catalogue:
    records = [record(row, year=1950 + row // 3 % 70) for row in range(SONGS)]
    return catalogue_of(records, matrix(features(SONGS, 12)))


def listener() -> tuple[RadioListener, Log]:
    """Return a listener who has heard some songs, some again, and wants no jazz."""
    rng = np.random.default_rng(4)
    rows = rng.integers(0, SONGS, 60)
    log = rated([*rows.tolist(), *rows[:30].tolist()], apart=7 * HOUR)
    log.add("ban", scope="genre", target="Jazz")
    log.add("ban", scope="artist", target="Artist 3")
    return model(large_catalogue(), log), log


def refused(*_: object) -> Any:
    pytest.fail("every song was looked at")


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_no_choice_looks_at_every_song(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, log = listener()
    all_rows = CandidateSet.rows

    def rows(allowed: CandidateSet) -> Indices:
        # An engine may pass over all of them now and then; the radio never does.
        caller = str(inspect.stack()[1].filename)
        is_engine = "engines" in caller
        return all_rows(allowed) if allowed.upper_count <= 4_096 or is_engine else refused()

    monkeypatch.setattr(CandidateSet, "rows", rows)
    monkeypatch.setattr(SongsAt, "elapsed", property(refused))
    planned = one.playlist(4, now=log.clock + MINUTE, **REQUESTS[name])
    assert len({each.song for each in planned}) == 4
    newcomer = model(large_catalogue(), Log())
    assert newcomer.next(now=0).how == "random"
    with pytest.raises(pytest.fail.Exception):  # the guard itself
        CandidateSet.everything(SONGS).rows()


def scores(one: RadioListener, now: int, dial: float) -> Vector:
    """Return the score of every song, all of them looked at."""
    policy = policy_with(one.policy, step=one.step, dial=dial)
    prediction = one.engine.predict(one.belief, one.songs(minutes_at(now)))
    found = policy.scores(prediction, step=one.step, rng=np.random.default_rng(0))
    found = found.copy()
    found[np.isneginf(one.play_times.last_heard_of(slice(None)))] += NOVELTY_BONUS * dial
    return found

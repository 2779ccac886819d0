from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bandstand.music.catalogue.refresh import refreshed
from bandstand.radio import demo_history as made_up_history
from bandstand.store import accounts
from bandstand.store.database.connection import Store, open_store
from bandstand.store.events import events
from bandstand.store.events.append import append
from bandstand.store.events.values import NewEvent
from bandstand.store.songs import songs
from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.store.examples import analysis

NOW = 1_700_000_000_000
DAY = 86_400_000
LIKING = {"Jazz": 4.8, "House": 1.5}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with ten songs of two genres."""
    with open_store(str(tmp_path / "radio.db"), now=NOW) as found:
        added = [
            (f"/{n:02}.ogg".encode(), analysis(n, genre=("Jazz", "House")[n % 2]))
            for n in range(1, 11)
        ]
        with found.writing() as connection:
            record_analyses(connection, added, scan=1, now=NOW)
        refreshed(found, now=NOW)
        yield found


def start(store: Store) -> str:
    with store.writing() as connection:
        there = sorted(songs.present(connection), key=lambda song: song.path)
        return made_up_history.start_with_history(
            connection, "Ann", there, LIKING, now=NOW, rng=np.random.default_rng(1)
        )


def test_a_made_up_history_is_an_ordinary_log_of_the_weeks_before(store: Store) -> None:
    account = start(store)
    with store.reading() as connection:
        log = list(events.after(connection, account))
        genre = {song.id: song.tags.genre for song in songs.present(connection)}
        assert events.check_chain(connection, account) == []
    times = [event.at for event in log]
    assert times == sorted(times)
    assert NOW - 26 * DAY < times[0] < times[-1] < NOW - DAY / 2
    assert {event.kind for event in log} == {"rating", "skip", "listen"}
    assert any(event.since_heard_ms is not None for event in log)  # songs come back
    jazz, house = (
        [event.stars for event in log if event.stars and genre[str(event.song)] == name]
        for name in LIKING
    )
    assert np.mean(jazz) > np.mean(house) + 1.5
    heard = [event.song for event in log]
    assert all(one != other for one, other in pairwise(heard))


def test_what_is_made_up_is_known_as_such_until_it_is_erased(store: Store) -> None:
    account = start(store)
    with store.writing() as connection:
        own = accounts.create(
            connection, name="Bob", role="listener", password_hash=None, now=NOW
        ).id
        new = NewEvent(account=own, key="k", kind="listen", song=next(songs.present(connection)).id)
        append(connection, new, now=NOW)
        assert made_up_history.is_made_up(connection, account)
        assert not made_up_history.is_made_up(connection, own)
        made_up_history.start_afresh(connection, account, now=NOW)
        assert accounts.get(connection, account) is None
        fresh = accounts.by_name(connection, "Ann")
        assert fresh is not None
        assert not made_up_history.is_made_up(connection, fresh.id)
        assert events.end(connection, fresh.id).seq == 0
        assert events.end(connection, own).seq == 1

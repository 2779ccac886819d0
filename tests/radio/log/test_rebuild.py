"""What is kept beside the log can always be made again, and is checked against it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, text

from bandstand.errors import StoreError
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.catalogue.refresh import current, refreshed
from bandstand.radio.log import snapshots as ledger_store
from bandstand.radio.log.fold import Ledger, fold
from bandstand.radio.log.snapshots import check, rebuild, to_bytes
from bandstand.store.database.connection import Store
from bandstand.store.events import events
from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.radio.listeners import set_snapshot, snapshot_of, stored
from tests.fixtures.radio.logs import SONGS, Log, same
from tests.fixtures.store.examples import analysis
from tests.radio.log.test_fold_anywhere import calendar_log


def add(connection: Connection, account: str, now: int, key: str, **event: Any) -> None:
    events.append(connection, events.NewEvent(account=account, key=key, **event), now=now)


def loaded(connection: Connection, account: str) -> Ledger:
    return ledger_store.load(connection, account)[0]


def short_log() -> Log:
    log = Log()
    log.add("listen", SONGS[0])
    log.add("rating", SONGS[0], stars=5)
    log.add("skip", SONGS[1], played_ms=9_000)
    return log


def test_an_empty_store_has_nothing_to_rebuild(store: Store) -> None:
    rebuilt = rebuild(store, catalogue=True)
    assert (rebuilt.listeners, rebuilt.events, dict(rebuilt.digests)) == (0, 0, {})
    assert check(store) == []


def test_a_rebuilt_store_says_what_its_logs_say(store: Store) -> None:
    accounts = stored(store, calendar_log(), short_log(), Log())
    told: list[tuple[int, int | None]] = []
    rebuilt = rebuild(store, progress=lambda done, total: told.append((done, total)))
    assert (rebuilt.listeners, rebuilt.events) == (3, len(calendar_log().events) + 3)
    assert told[-1] == (rebuilt.events, rebuilt.events)
    with store.reading() as connection:
        for account in accounts:
            whole = fold(events.after(connection, account))
            assert rebuilt.digests[account] == whole.digest()
            kept = ledger_store.saved(connection, account)
            assert kept is not None
            assert same(kept, whole)
            assert same(loaded(connection, account), whole)
    assert rebuild(store).digest == rebuilt.digest
    assert check(store) == []


def test_the_store_s_own_log_folds_as_the_tests_log_does(store: Store) -> None:
    # The log that the tests make in memory is written by the store's rules.
    (account,) = stored(store, calendar_log())
    with store.reading() as connection:
        mine = [event.since_heard_ms for event in events.after(connection, account)]
    assert mine == [event.since_heard_ms for event in calendar_log().events]


def test_a_ledger_catches_up_with_its_log(store: Store) -> None:
    log = short_log()
    (account,) = stored(store, log)
    with store.reading() as connection:
        ledger = loaded(connection, account)
    with store.writing() as connection:
        add(connection, account, log.clock, "undo", kind="retract", retracts=2)
    with store.reading() as connection:
        later = ledger_store.catch_up(connection, account, ledger)
        assert same(later, fold(events.after(connection, account)))
    assert [play.kind for play in later.plays] == ["listen", "skip"]


@pytest.mark.parametrize(("taken_back", "asked"), [(4, [4, 3]), (2, [4, 3, 0])])
def test_an_undo_reads_no_more_of_the_log_than_it_must(
    store: Store, monkeypatch: pytest.MonkeyPatch, taken_back: int, asked: list[int]
) -> None:
    log = short_log()
    (account,) = stored(store, log)
    rebuild(store)
    song, seen = _song(store), []

    def counted(connection: Connection, account: str, seq: int = 0) -> Iterator[events.Event]:
        seen.append(seq)
        yield from after(connection, account, seq)

    with store.writing() as connection:
        add(connection, account, log.clock + 1_000, "new", kind="listen", song=song)
        ledger = loaded(connection, account)
        add(connection, account, log.clock + 2_000, "undo", kind="retract", retracts=taken_back)
        after = events.after
        monkeypatch.setattr(events, "after", counted)
        later = ledger_store.catch_up(connection, account, ledger)
        assert seen == asked
        assert same(later, fold(after(connection, account)))


def _song(store: Store) -> str:
    with store.reading() as connection:
        return str(connection.execute(text("SELECT min(id) FROM song")).scalar_one())


def test_a_snapshot_that_is_not_whole_is_reported_and_passed_over(store: Store) -> None:
    (account,) = stored(store, short_log())
    rebuild(store)
    with store.writing() as connection:
        content = snapshot_of(connection, account)
        set_snapshot(connection, account, content[:10] + b"?" + content[11:])
    (problem,) = check(store)
    assert account in problem
    assert "must be whole" in problem
    with store.reading() as connection:
        assert loaded(connection, account).seq == 3
    rebuild(store)
    assert check(store) == []


@pytest.mark.parametrize("seq", [1, 2])
def test_a_snapshot_of_another_event_is_reported_and_passed_over(store: Store, seq: int) -> None:
    (account,) = stored(store, short_log())
    rebuild(store)
    with store.writing() as connection:
        earlier = fold(list(events.after(connection, account))[:seq])
        set_snapshot(connection, account, to_bytes(earlier))
    (problem,) = check(store)
    assert f"must be of event 3, in a log of 3, got one of {seq}" in problem
    with store.reading() as connection:
        assert loaded(connection, account).seq == 3


def test_a_snapshot_that_says_something_else_is_reported(store: Store) -> None:
    # The planted error: whole, of the right event, and wrong.
    one, other = stored(store, short_log(), short_log())
    rebuild(store)
    with store.writing() as connection:
        wrong = replace(loaded(connection, other), last_kind="listen")
        set_snapshot(connection, other, to_bytes(wrong))
    (problem,) = check(store)
    assert other in problem
    assert one not in problem
    assert "must say what the log says" in problem
    rebuild(store)
    assert check(store) == []


def test_a_log_with_a_hole_is_refused_and_reported(store: Store) -> None:
    (account,) = stored(store, short_log())
    rebuild(store)
    with store.writing() as connection:
        _make_hole(connection, account)
    (problem,) = check(store)
    assert "expected number 2, got 3" in problem
    with pytest.raises(StoreError, match="must be whole, see `bandstand verify`"):
        rebuild(store)


def test_the_catalogue_is_made_anew_and_nothing_else_goes(store: Store) -> None:
    with store.writing() as connection:
        found = [(b"/songs/%d" % seed, analysis(seed, version=VERSION)) for seed in range(5)]
        record_analyses(connection, found, scan=1, now=1)
    before = refreshed(store, now=1)
    assert before is not None
    features, folder = before.features.copy(), store.location.data_folder
    (folder / "something else").write_text("stays", encoding="utf-8")
    (file,) = folder.glob("*/features.npy")
    content = file.read_bytes()
    # Of the right length, and wrong: the last feature, before the one that ends every row.
    file.write_bytes(content[:-8] + bytes(4) + content[-4:])
    rebuild(store, catalogue=False)
    damaged = current(store)
    assert damaged is not None
    assert not np.array_equal(damaged.features, features)
    rebuild(store, catalogue=True)
    again = current(store)
    assert again is not None
    assert np.array_equal(again.features, features)
    assert np.array_equal(again.ids, before.ids)
    assert (folder / "something else").read_text(encoding="utf-8") == "stays"


def _make_hole(connection: Connection, account: str) -> None:
    """Delete the second event of a log, against all that guards it."""
    if connection.dialect.name == "sqlite":
        connection.execute(text("DROP TRIGGER event_goes_with_its_account"))
    else:
        connection.execute(text("ALTER TABLE event DISABLE TRIGGER USER"))
    statement = text("DELETE FROM event WHERE account_id = :account AND seq = 2")
    assert connection.execute(statement, {"account": account}).rowcount == 1

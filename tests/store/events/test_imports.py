"""An import is one thing: there or not, once, whole, and taken back as a whole."""

import pytest
from sqlalchemy import func, select, text

from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.store import accounts
from bandstand.store.database.connection import Store
from bandstand.store.database.schema import IMPORT
from bandstand.store.events import events, imports
from bandstand.store.transfer.verify import verify
from tests.fixtures.radio.imports import played, segment
from tests.fixtures.store.sample_log import NOW, account_and_songs


def test_an_import_is_kept_as_it_was_read(store: Store) -> None:
    account, songs = account_and_songs(store)
    made = segment([played(song, NOW - at * 1_000, ms=at) for at, song in enumerate(songs, 1)])
    with store.writing() as connection:
        appended = imports.save(connection, account, made, now=NOW)
        kept = imports.segment(connection, account, made.digest)
        (one,) = imports.all_of(connection, account)
    assert appended.is_new
    assert (one.seq, one.at, one.digest) == (appended.event.seq, NOW, made.digest)
    assert one.report == kept.report == made.report
    assert (kept.rows == made.rows).all()
    assert (kept.songs == made.songs).all()
    assert verify(store).is_whole


def test_the_same_import_again_is_the_same_one_until_it_is_taken_back(store: Store) -> None:
    account, songs = account_and_songs(store)
    made = segment([played(songs[0], NOW - 1_000)])
    with store.writing() as connection:
        first = imports.save(connection, account, made, now=NOW)
        again = imports.save(connection, account, made, now=NOW)
        assert (again.event, again.is_new) == (first.event, False)
        for _ in range(2):  # a request may come twice
            imports.undo(connection, account, first.event.seq, now=NOW)
        assert imports.all_of(connection, account) == []
        later = imports.save(connection, account, made, now=NOW)
        assert (later.event.seq, later.is_new) == (3, True)
        assert connection.scalar(select(func.count()).select_from(IMPORT)) == 1
        assert events.end(connection, account).seq == 3
    assert verify(store).is_whole


def test_an_import_that_fails_half_way_leaves_nothing(store: Store) -> None:
    account, songs = account_and_songs(store)
    made = segment([played(songs[0], NOW - 1_000)])

    def save_and_stop() -> None:
        with store.writing() as connection:
            imports.save(connection, account, made, now=NOW)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_and_stop()
    with store.writing() as connection:
        assert connection.scalar(select(func.count()).select_from(IMPORT)) == 0
        assert imports.save(connection, account, made, now=NOW).event.seq == 1


def test_imports_go_with_their_account(store: Store) -> None:
    account, songs = account_and_songs(store)
    with store.writing() as connection:
        imports.save(connection, account, segment([played(songs[0], NOW - 1_000)]), now=NOW)
        accounts.delete(connection, account)
        assert connection.scalar(select(func.count()).select_from(IMPORT)) == 0


def test_what_is_not_there_cannot_be_taken_back(store: Store) -> None:
    account, songs = account_and_songs(store)
    with store.writing() as connection:
        rated = events.NewEvent(account=account, key="a", kind="rating", song=songs[0], stars=4)
        events.append(connection, rated, now=NOW)
        for seq in (1, 2):
            with pytest.raises(NotFoundError, match="which none has"):
                imports.undo(connection, account, seq, now=NOW)


def test_plays_of_the_future_are_refused(store: Store) -> None:
    account, songs = account_and_songs(store)
    with store.writing() as connection, pytest.raises(InvalidInputError, match="must be before"):
        imports.save(connection, account, segment([played(songs[0], NOW + 2_000)]), now=NOW)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("UPDATE history_import SET report = '{}'", "must fit its digest"),
        ("UPDATE history_import SET content = substr(content, 2)", "must fit its digest"),
        ("UPDATE history_import SET songs = 0", "must fit its digest"),
        ("DELETE FROM history_import", "must have its plays, got none"),
        ("UPDATE history_import SET digest = '{other}'", "must have an event, got none"),
    ],
)
def test_verify_finds_what_was_changed(store: Store, change: str, sentence: str) -> None:
    account, songs = account_and_songs(store)
    made = segment([played(songs[0], NOW - 1_000)])
    with store.writing() as connection:
        imports.save(connection, account, made, now=NOW)
    assert verify(store).is_whole
    with store.writing() as connection:
        connection.execute(text(change.replace("{other}", 64 * "0")))
    assert any(sentence in problem for problem in verify(store).problems)


def test_verify_finds_songs_that_no_store_has(store: Store) -> None:
    account, _ = account_and_songs(store)
    with store.writing() as connection:
        imports.save(connection, account, segment([played(16 * "f", NOW - 1_000)]), now=NOW)
    (problem,) = verify(store).problems
    assert problem.endswith("has 1 songs of no store")

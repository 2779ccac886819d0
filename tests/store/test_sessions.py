import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.store import accounts, sessions
from bandstand.store.database.connection import Store, open_store
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.sample_store import NOW, add_account

LATER = NOW + 60_000


def log_in(connection: Connection, account: str, client: str = "Firefox") -> str:
    return sessions.create(connection, account=account, now=NOW, expires_at=LATER, client=client)


def test_a_token_stands_for_its_account_until_it_expires(connection: Connection) -> None:
    ann = add_account(connection, "Ann")
    token = log_in(connection, ann.id)
    assert sessions.account_of(connection, token, now=NOW) == ann
    assert sessions.account_of(connection, token, now=LATER - 1) == ann
    assert sessions.account_of(connection, token, now=LATER) is None


@given(st.text())
@some_examples
def test_what_is_no_token_stands_for_nobody(shared: Store, text: str) -> None:
    with discarded(shared) as connection:
        log_in(connection, add_account(connection, "Ann").id)
        assert sessions.account_of(connection, text, now=NOW) is None
        sessions.delete(connection, text)


def test_all_sessions_but_one_can_be_ended_and_only_ones_own(connection: Connection) -> None:
    ann, bob = add_account(connection, "Ann"), add_account(connection, "Bob")
    mine, elsewhere, of_bob = (log_in(connection, who.id) for who in (ann, ann, bob))
    sessions.delete_all(connection, ann.id, keep=mine)
    found = [sessions.account_of(connection, it, now=NOW) for it in (mine, elsewhere, of_bob)]
    assert found == [ann, None, bob]
    # The token of another account keeps nothing of mine.
    sessions.delete_all(connection, ann.id, keep=of_bob)
    assert sessions.account_of(connection, mine, now=NOW) is None
    sessions.delete_all(connection, bob.id)
    assert sessions.account_of(connection, of_bob, now=NOW) is None


def test_who_is_disabled_or_deleted_is_out_at_once(connection: Connection) -> None:
    add_account(connection, "Admin", "admin")
    ann = add_account(connection, "Ann")
    token = log_in(connection, ann.id)
    accounts.set_disabled(connection, ann.id, disabled=True)
    assert sessions.account_of(connection, token, now=NOW) is None
    accounts.set_disabled(connection, ann.id, disabled=False)
    assert sessions.account_of(connection, token, now=NOW) is None, "the session is over"
    token = log_in(connection, ann.id)
    accounts.delete(connection, ann.id)
    assert sessions.account_of(connection, token, now=NOW) is None


def test_the_places_where_one_is_logged_in_are_listed(connection: Connection) -> None:
    ann, bob = add_account(connection, "Ann"), add_account(connection, "Bob")
    assert sessions.of(connection, ann.id) == []
    token = log_in(connection, ann.id, "Firefox\n\0\ud800" + "x" * 500)
    log_in(connection, bob.id)
    (one,) = sessions.of(connection, ann.id, current=token)
    assert (one.created_at, one.expires_at, one.is_current) == (NOW, LATER, True)
    assert one.client.startswith("Firefox\N{REPLACEMENT CHARACTER}")
    assert len(one.client) == 200
    assert not sessions.of(connection, ann.id)[0].is_current


def test_sessions_that_are_over_are_forgotten(connection: Connection) -> None:
    ann = add_account(connection, "Ann")
    log_in(connection, ann.id)
    assert sessions.prune(connection, LATER - 1) == 0
    assert sessions.prune(connection, LATER) == 1
    assert sessions.of(connection, ann.id) == []


def test_a_session_needs_an_account_and_an_end(connection: Connection) -> None:
    ann = add_account(connection, "Ann")
    with pytest.raises(NotFoundError):
        log_in(connection, "0123456789abcdef")
    with pytest.raises(InvalidInputError):
        sessions.create(connection, account=ann.id, now=NOW, expires_at=NOW, client="")


def files_hold(folder: Path, word: bytes) -> bool:
    return any(word in file.read_bytes() for file in folder.iterdir() if file.is_file())


def test_a_token_is_in_no_file_of_the_store(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "radio.db")) as store:
        with store.writing() as connection:
            ann = add_account(connection, "Ann")
            token = log_in(connection, ann.id, client="a planted client")
        raw = base64.urlsafe_b64decode(token + "=")
        assert len(raw) == 32
        assert files_hold(tmp_path, b"a planted client"), "the search is blind"
        assert not files_hold(tmp_path, token.encode())
        assert not files_hold(tmp_path, raw)
    assert not files_hold(tmp_path, token.encode())
    assert not files_hold(tmp_path, raw)

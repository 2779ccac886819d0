from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError
from bandstand.store import accounts, sessions
from bandstand.store.database import schema
from bandstand.store.database.connection import Store
from bandstand.store.events import events
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.sample_store import NOW, add_account, add_life

Item = TypeVar("Item")

UNKNOWN = "0123456789abcdef"
HASHED = "hash"


def at_once(work: Callable[[Item], str], items: Sequence[Item]) -> list[str]:
    """Return what a thread for each item answers, sorted."""
    with ThreadPoolExecutor(len(items)) as pool:
        return sorted(pool.map(work, items))


def test_a_new_account_is_found_by_id_and_by_name(store: Store) -> None:
    with store.writing() as connection:
        made = accounts.create(
            connection, name="  Åsa ", role="admin", password_hash=HASHED, now=NOW
        )
    assert (made.name, made.role, made.disabled, made.created_at) == ("Åsa", "admin", False, NOW)
    assert made.has_password
    assert 0 <= made.seed < 2**63
    with store.reading() as connection:
        assert accounts.get(connection, made.id) == made
        assert accounts.by_name(connection, "ÅSA") == made
        assert accounts.by_name(connection, " A\N{COMBINING RING ABOVE}sa ") == made
        assert accounts.all_accounts(connection) == [made]
        assert accounts.count(connection) == 1
        assert accounts.password_hash(connection, made.id) == "hash"
        assert accounts.settings(connection, made.id) == {}
        assert events.end(connection, made.id).digest == bytes(32)


@pytest.mark.parametrize("name", ["", "  ", "x" * 65, "a\nb", "a\0b", "\ud800", "\u202eevil", 7])
def test_a_name_that_cannot_be_one_is_refused(connection: Connection, name: Any) -> None:
    ann = add_account(connection, "Ann")
    with pytest.raises(InvalidInputError):
        add_account(connection, name)
    with pytest.raises(InvalidInputError):
        accounts.rename(connection, ann.id, name)


def test_a_name_is_taken_once(connection: Connection) -> None:
    add_account(connection, "Ann")
    bob = add_account(connection, "Bob")
    with pytest.raises(ConflictError, match="taken"):
        add_account(connection, "ANN")
    with pytest.raises(ConflictError, match="taken"):
        accounts.rename(connection, bob.id, "ann")
    accounts.rename(connection, bob.id, "BOB")
    found = accounts.by_name(connection, "bob")
    assert found is not None
    assert found.name == "BOB"


def test_threads_that_want_one_name_get_it_once(store: Store) -> None:
    def work(_number: int) -> str:
        try:
            with store.writing() as connection:
                add_account(connection, "Ann")
        except ConflictError:
            return "taken"
        return "made"

    assert at_once(work, range(4)) == ["made", "taken", "taken", "taken"]


def test_admins_who_remove_each_other_leave_one(store: Store) -> None:
    with store.writing() as connection:
        admins = [add_account(connection, name, "admin") for name in ("Ann", "Bob")]

    def work(account: str) -> str:
        try:
            with store.writing() as connection:
                accounts.delete(connection, account)
        except ConflictError:
            return "kept"
        return "removed"

    assert at_once(work, [admin.id for admin in admins]) == ["kept", "removed"]


CHANGES: dict[str, Callable[[Connection, str], None]] = {
    "delete": accounts.delete,
    "off": lambda connection, account: accounts.set_disabled(connection, account, disabled=True),
    "down": lambda connection, account: accounts.set_role(connection, account, "listener"),
    "bare": lambda connection, account: accounts.set_password(connection, account, None),
    "on": lambda connection, account: accounts.set_disabled(connection, account, disabled=False),
    "up": lambda connection, account: accounts.set_role(connection, account, "admin"),
}


@pytest.mark.parametrize("change", ["delete", "off", "down", "bare"])
def test_the_last_admin_who_can_log_in_stays(connection: Connection, change: str) -> None:
    ann = add_account(connection, "Ann", "admin")
    # None of these can look after the others.
    add_account(connection, "Listener")
    disabled = add_account(connection, "Disabled", "admin")
    accounts.set_disabled(connection, disabled.id, disabled=True)
    accounts.create(connection, name="Bare", role="admin", password_hash=None, now=NOW)
    with pytest.raises(ConflictError, match="another admin"):
        CHANGES[change](connection, ann.id)
    before = accounts.get(connection, ann.id)
    assert before == ann
    add_account(connection, "Bob", "admin")
    CHANGES[change](connection, ann.id)
    assert accounts.get(connection, ann.id) != before


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(sorted(CHANGES))),
        max_size=12,
    )
)
@some_examples
def test_one_admin_can_always_log_in(shared: Store, changes: list[tuple[int, str]]) -> None:
    with discarded(shared) as connection:
        people = [
            add_account(connection, f"p{number}", "admin" if number < 2 else "listener").id
            for number in range(4)
        ]
        for who, what in changes:
            with suppress(ConflictError, NotFoundError):
                CHANGES[what](connection, people[who])
            assert any(one.is_working_admin for one in accounts.all_accounts(connection))


def test_a_change_of_no_account_is_refused(store: Store) -> None:
    changes: list[Callable[[Connection], object]] = [
        lambda it: accounts.delete(it, UNKNOWN),
        lambda it: accounts.set_role(it, UNKNOWN, "admin"),
        lambda it: accounts.set_disabled(it, UNKNOWN, disabled=True),
        lambda it: accounts.set_password(it, UNKNOWN, "hash"),
        lambda it: accounts.rename(it, UNKNOWN, "Ann"),
        lambda it: accounts.settings(it, UNKNOWN),
        lambda it: accounts.change_settings(it, UNKNOWN, {}),
        lambda it: accounts.delete(it, "\0"),
    ]
    for change in changes:
        with discarded(store) as connection, pytest.raises((NotFoundError, InvalidInputError)):
            change(connection)


def test_another_password_ends_the_other_sessions(connection: Connection) -> None:
    life = add_account(connection, "Ann")
    other = add_account(connection, "Bob")

    def session(account: str) -> str:
        return sessions.create(connection, account=account, now=NOW, expires_at=NOW + 9, client="")

    mine, elsewhere, of_bob = session(life.id), session(life.id), session(other.id)
    accounts.set_password(connection, life.id, "new", keep=mine)
    assert sessions.account_of(connection, elsewhere, now=NOW) is None
    assert sessions.account_of(connection, mine, now=NOW) is not None
    assert sessions.account_of(connection, of_bob, now=NOW) == other
    accounts.set_password(connection, life.id, "newer")
    assert sessions.account_of(connection, mine, now=NOW) is None
    assert accounts.password_hash(connection, life.id) == "newer"


def test_a_hash_is_renewed_without_a_logout(connection: Connection) -> None:
    ann = add_account(connection, "Ann")
    token = sessions.create(connection, account=ann.id, now=NOW, expires_at=NOW + 9, client="")
    accounts.renew_hash(connection, ann.id, old="another", new="never")
    assert accounts.password_hash(connection, ann.id) == "argon2id-of-Ann"
    accounts.renew_hash(connection, ann.id, old="argon2id-of-Ann", new="stronger")
    assert accounts.password_hash(connection, ann.id) == "stronger"
    assert sessions.account_of(connection, token, now=NOW) is not None


def test_nothing_is_left_of_an_account_that_is_deleted(store: Store) -> None:
    life = add_life(store)
    with store.writing() as connection:
        add_account(connection, "Carl", "admin")
        accounts.delete(connection, life.ann.id)
    owned = [table for table in schema.METADATA.sorted_tables if "account_id" in table.c]
    assert len(owned) > 5
    with store.reading() as connection:
        for table in owned:
            mine = select(func.count()).where(table.c.account_id == life.ann.id)
            assert connection.scalar(mine) == 0
        assert connection.scalar(select(func.count()).select_from(schema.PLAYLIST_SONG)) == 0
        assert accounts.get(connection, life.ann.id) is None
        assert events.end(connection, life.bob.id).seq == 20
        assert events.check_chain(connection, life.bob.id) == []


json_values = st.recursive(
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inside, max_size=3)
    ),
    max_leaves=5,
)
setting_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)


@given(st.lists(st.dictionaries(setting_names, st.none() | json_values, max_size=4), max_size=4))
@some_examples
def test_settings_are_what_changes_make(shared: Store, changes: list[dict[str, Any]]) -> None:
    expected: dict[str, Any] = {}
    with discarded(shared) as connection:
        ann, bob = add_account(connection, "Ann"), add_account(connection, "Bob")
        for change in changes:
            expected |= change
            expected = {name: value for name, value in expected.items() if value is not None}
            assert accounts.change_settings(connection, ann.id, change) == expected
        assert accounts.settings(connection, ann.id) == expected
        assert accounts.settings(connection, bob.id) == {}


@pytest.mark.parametrize(
    "changes",
    [{"a": float("nan")}, {"a": object()}, {1: 2}, {"a": "x" * 70_000}, {"a": "\ud800"}],
)
def test_what_is_no_json_is_refused(connection: Connection, changes: dict[Any, Any]) -> None:
    ann = add_account(connection, "Ann")
    with pytest.raises(InvalidInputError):
        accounts.change_settings(connection, ann.id, changes)
    assert accounts.settings(connection, ann.id) == {}


def test_settings_changed_by_threads_lose_nothing(store: Store) -> None:
    with store.writing() as connection:
        ann = add_account(connection, "Ann").id

    def work(name: str) -> str:
        for number in range(10):
            with store.writing() as connection:
                accounts.change_settings(connection, ann, {f"{name}{number}": number})
        return name

    at_once(work, "abc")
    with store.reading() as connection:
        assert len(accounts.settings(connection, ann)) == 30


def test_a_role_that_is_none_is_refused(connection: Connection) -> None:
    with pytest.raises(InvalidInputError, match="listener or admin"):
        add_account(connection, "Ann", "king")  # type: ignore[arg-type]
    ann = add_account(connection, "Ann")
    with pytest.raises(InvalidInputError, match="listener or admin"):
        accounts.set_role(connection, ann.id, "king")  # type: ignore[arg-type]

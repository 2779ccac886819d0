"""An app password opens its account to its app, until it is revoked, and nothing else does."""

from hashlib import md5
from typing import Any

import pytest
from sqlalchemy import Connection

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError
from bandstand.store import accounts, app_passwords
from bandstand.store.app_passwords import SCOPES, App, allows
from bandstand.store.database.schema import APP_PASSWORD
from tests.fixtures.store.sample_store import NOW, add_account

UNKNOWN = "0123456789abcdef"


def token(secret: str, salt: str) -> str:
    return md5((secret + salt).encode(), usedforsecurity=False).hexdigest()


def made(connection: Connection, account: str, name: str = "Phone", scope: Any = "play") -> Any:
    return app_passwords.create(connection, account=account, name=name, scope=scope, now=NOW)


def test_a_secret_and_every_token_of_it_are_its_own(connection: Connection) -> None:
    ann, bob = add_account(connection, "Ann"), add_account(connection, "Bob")
    (phone, secret), (_, other) = made(connection, ann.id), made(connection, ann.id, "Desk", "read")
    _, of_bob = made(connection, bob.id)
    expected = App(account=ann, password=phone)
    assert app_passwords.of_secret(connection, secret) == expected
    assert app_passwords.of_secret(connection, secret, name=" ANN ") == expected
    for salt in ("", "c19b2d", "ключ", "\ud800"):
        mark = md5((secret + salt).encode(errors="surrogatepass"), usedforsecurity=False)
        found = app_passwords.of_token(connection, "ann", token=mark.hexdigest().upper(), salt=salt)
        assert found == expected
    assert app_passwords.of_secret(connection, secret, name="Bob") is None
    for wrong in (token(secret, "d"), token(of_bob, "c"), "", "ключ", "\ud800"):
        assert app_passwords.of_token(connection, "Ann", token=wrong, salt="c") is None
    for wrong in ("", secret[:-1], secret.upper(), "argon2id-of-Ann", "\0", "\ud800"):
        assert app_passwords.of_secret(connection, wrong) is None
    assert len({secret, other, of_bob}) == 3


def test_a_secret_has_130_random_bits() -> None:
    signs, length = app_passwords._SIGNS, app_passwords._SECRET_SIGNS
    assert len(set(signs)) == len(signs) == 32
    assert 5 * length == 130


def test_a_scope_contains_those_before_it() -> None:
    assert SCOPES == ("read", "play", "rate")
    able = [(scope, wanted) for scope in SCOPES for wanted in SCOPES if allows(scope, wanted)]
    assert able == [
        ("read", "read"),
        *(("play", it) for it in SCOPES[:2]),
        *(("rate", it) for it in SCOPES),
    ]


def test_a_revoked_one_opens_nothing_and_only_its_owner_revokes_it(connection: Connection) -> None:
    ann, bob = add_account(connection, "Ann"), add_account(connection, "Bob")
    phone, secret = made(connection, ann.id)
    for who, which in ((bob.id, phone.id), (ann.id, UNKNOWN), (ann.id, "\0")):
        with pytest.raises(NotFoundError):
            app_passwords.delete(connection, who, which)
    assert app_passwords.all_of(connection, ann.id) == [phone]
    app_passwords.delete(connection, ann.id, phone.id)
    assert app_passwords.of_secret(connection, secret) is None
    assert app_passwords.of_token(connection, "Ann", token=token(secret, "c"), salt="c") is None
    assert app_passwords.all_of(connection, ann.id) == []


def test_it_rests_while_its_account_is_disabled_and_ends_with_the_password(
    connection: Connection,
) -> None:
    ann, bob = add_account(connection, "Ann"), add_account(connection, "Bob")
    (_, secret), (_, of_bob) = made(connection, ann.id), made(connection, bob.id)
    accounts.set_disabled(connection, ann.id, disabled=True)
    assert app_passwords.of_secret(connection, secret) is None
    assert app_passwords.of_token(connection, "Ann", token=token(secret, "c"), salt="c") is None
    accounts.set_disabled(connection, ann.id, disabled=False)
    assert app_passwords.of_secret(connection, secret) is not None
    accounts.set_password(connection, ann.id, "new")
    assert app_passwords.of_secret(connection, secret) is None
    assert app_passwords.of_secret(connection, of_bob) is not None


def test_a_use_is_noted_of_one_that_is_still_there(connection: Connection) -> None:
    ann = add_account(connection, "Ann")
    (phone, secret), (desk, _) = made(connection, ann.id), made(connection, ann.id, "Desk")
    found = app_passwords.of_secret(connection, secret)
    assert found is not None
    app_passwords.note_use(connection, found, now=NOW + 5)
    used = {it.id: it.used_at for it in app_passwords.all_of(connection, ann.id)}
    assert used == {phone.id: NOW + 5, desk.id: None}
    app_passwords.delete(connection, ann.id, phone.id)
    app_passwords.note_use(connection, found, now=NOW + 6)
    assert app_passwords.all_of(connection, ann.id) == [desk]


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 65, "\0", "\ud800", None])
def test_a_name_that_cannot_be_one_is_refused(connection: Connection, name: Any) -> None:
    ann = add_account(connection, "Ann").id
    with pytest.raises(InvalidInputError):
        made(connection, ann, name)


def test_they_are_of_an_account_that_exists_and_few(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_passwords, "MAX_APP_PASSWORDS", 2)
    ann = add_account(connection, "Ann").id
    with pytest.raises(NotFoundError):
        made(connection, UNKNOWN)
    with pytest.raises(InvalidInputError, match="read, play, rate"):
        made(connection, ann, scope="admin")
    for _ in range(2):
        made(connection, ann)
    with pytest.raises(ConflictError, match="2 app passwords"):
        made(connection, ann)


def test_the_store_keeps_the_secret_for_tokens(connection: Connection) -> None:
    _, secret = made(connection, add_account(connection, "Ann").id)
    row = connection.execute(APP_PASSWORD.select()).mappings().one()
    assert row["secret"] == secret
    assert row["secret_hash"] == accounts.token_hash(secret)

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bandstand.store import accounts, app_passwords, scrobble_targets, sessions
from bandstand.store.database.connection import open_store
from bandstand.web.security.passwords import check
from tests.fixtures.cli.run_command import Outcome, assert_refused, on_a_terminal, python_apart, run

SECRET = "correct horse battery"
OTHER = "another staple entirely"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "radio.db")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what puts text on standard input."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def listed(store: str) -> list[dict[str, Any]]:
    outcome = run("user", "list", "--json", "--store", store)
    assert outcome.code == 0, outcome.err
    found: list[dict[str, Any]] = json.loads(outcome.out)
    return found


def add(typed: Any, store: str, name: str, *options: str, password: str = SECRET) -> Outcome:
    typed(f"{password}\n")
    return run("user", "add", name, "--password-stdin", "--store", store, *options)


def matches(store: str, name: str, password: str) -> bool:
    with open_store(store) as opened, opened.reading() as connection:
        account = accounts.by_name(connection, name)
        assert account is not None
        return check(accounts.password_hash(connection, account.id), password).matches


def test_an_account_is_added_and_listed(store: str, typed: Any) -> None:
    assert add(typed, store, " Ann ", "--admin").out == "Added the admin Ann.\n"
    assert add(typed, store, "Bob").out == "Added the listener Bob.\n"
    ann, bob = listed(store)
    assert (ann["name"], ann["role"], ann["has_password"]) == ("Ann", "admin", True)
    assert (bob["name"], bob["role"], bob["disabled"]) == ("Bob", "listener", False)
    assert "seed" not in ann
    assert matches(store, "ann", SECRET)
    assert SECRET.encode() not in Path(store).read_bytes()
    table = run("user", "list", "--store", store).out
    assert table.splitlines()[0] == f"{ann['id']}  admin     Ann"


def test_a_store_without_accounts_says_how_to_add_one(store: str) -> None:
    assert "user add NAME --admin" in run("user", "list", "--store", store).out
    assert listed(store) == []


@pytest.mark.parametrize("password", ["", "short", "password123", "\0" * 20])
def test_a_bad_password_is_refused(store: str, typed: Any, password: str) -> None:
    outcome = add(typed, store, "Ann", password=password)
    assert_refused(outcome, "password")
    assert password == "" or password not in outcome.err
    assert listed(store) == []


@pytest.mark.parametrize("name", ["", "x" * 65, "a\nb"])
def test_a_bad_name_is_refused_before_a_password_is_asked_for(store: str, name: str) -> None:
    assert_refused(run("user", "add", name, "--store", store), "a name must")


def test_a_name_that_is_taken_is_refused(store: str, typed: Any) -> None:
    add(typed, store, "Ann")
    assert_refused(add(typed, store, "ANN"), "taken")


def test_bytes_that_are_no_text_are_no_password(store: str) -> None:
    outcome = python_apart(
        b"\xff\xfe secret bytes\n",
        *("-m", "bandstand", "user", "add", "A", "--password-stdin", "--store", store),
        PYTHONUTF8="1",
        PYTHONIOENCODING="utf-8:strict",
    )
    assert outcome == (2, "", "Error: a password must be text in UTF-8, got other bytes\n")


def test_without_a_terminal_a_password_must_come_otherwise(store: str, typed: Any) -> None:
    typed(f"{SECRET}\n")
    assert_refused(run("user", "add", "Ann", "--store", store), "--password-stdin")


def test_another_password_logs_out(store: str, typed: Any) -> None:
    add(typed, store, "Ann")
    with open_store(store) as opened, opened.writing() as connection:
        account = accounts.by_name(connection, "Ann")
        assert account is not None
        token = sessions.create(connection, account=account.id, now=1, expires_at=9, client="")
    typed(f"{OTHER}\nand more")
    assert run("user", "password", "ann", "--password-stdin", "--store", store).code == 0
    assert matches(store, "Ann", OTHER)
    assert not matches(store, "Ann", SECRET)
    with open_store(store) as opened, opened.reading() as connection:
        assert sessions.account_of(connection, token, now=2) is None


def test_accounts_are_renamed_promoted_disabled_and_removed(store: str, typed: Any) -> None:
    add(typed, store, "Ann", "--admin")
    add(typed, store, "Bob")
    ann, bob = (one["id"] for one in listed(store))
    for words in (
        ("rename", "bob", "Robert"),
        ("role", "Robert", "admin"),
        ("disable", bob),
        ("enable", "robert"),
        ("role", "Ann", "listener"),
        ("disable", "Ann"),
    ):
        outcome = run("user", *words, "--store", store)
        assert outcome.code == 0, outcome
        assert len(outcome.out.splitlines()) == 1
    assert [(one["name"], one["role"], one["disabled"]) for one in listed(store)] == [
        ("Ann", "listener", True),
        ("Robert", "admin", False),
    ]
    assert "(disabled)" in run("user", "list", "--store", store).out
    assert run("user", "remove", ann, "--yes", "--store", store).code == 0
    assert [one["id"] for one in listed(store)] == [bob]


def test_the_last_admin_stays(store: str, typed: Any) -> None:
    add(typed, store, "Ann", "--admin")
    for words in (("remove", "Ann", "--yes"), ("disable", "Ann"), ("role", "Ann", "listener")):
        assert_refused(run("user", *words, "--store", store), "another admin")


@pytest.mark.parametrize(
    "words",
    [
        ("password", "Carl", "--password-stdin"),
        ("rename", "Carl", "Ann"),
        ("role", "Carl", "admin"),
        ("disable", "Carl"),
        ("enable", "Carl"),
        ("remove", "Carl", "--yes"),
    ],
)
def test_who_is_not_there_is_refused(store: str, words: tuple[str, ...]) -> None:
    assert_refused(run("user", *words, "--store", store), "a store was expected")
    assert not Path(store).exists()
    open_store(store).close()
    assert_refused(run("user", *words, "--store", store), "Carl", "no account has")


def test_a_role_that_is_none_is_refused(store: str, typed: Any) -> None:
    add(typed, store, "Ann")
    assert_refused(run("user", "role", "Ann", "king", "--store", store), "king")


def test_a_password_is_asked_for_twice_and_never_shown(store: str) -> None:
    code, shown = on_a_terminal("user", "add", "Ann", "--store", store, answers=[SECRET] * 2)
    assert code == 0, shown
    assert SECRET not in shown
    assert matches(store, "Ann", SECRET)


def test_a_password_that_differs_is_asked_for_again(store: str) -> None:
    answers = [SECRET, OTHER, OTHER, OTHER]
    code, shown = on_a_terminal("user", "add", "Ann", "--store", store, answers=answers)
    assert code == 0, shown
    assert matches(store, "Ann", OTHER)


def test_removal_is_asked_for_first(store: str, typed: Any) -> None:
    add(typed, store, "Ann")
    code, _ = on_a_terminal("user", "remove", "Ann", "--store", store, answers=["n"])
    assert code == 130
    assert len(listed(store)) == 1
    code, _ = on_a_terminal("user", "remove", "Ann", "--store", store, answers=["y"])
    assert code == 0
    assert listed(store) == []


def apps(store: str, name: str) -> list[list[str]]:
    outcome = run("user", "app-password", "list", name, "--store", store)
    assert outcome.code == 0, outcome.err
    return [line.split() for line in outcome.out.splitlines()]


def test_an_app_password_is_made_listed_and_revoked(store: str, typed: Any) -> None:
    add(typed, store, "Ann")
    made = run(
        "user", "app-password", "add", "ann", "My phone", "--scope", "play", "--store", store
    )
    run("user", "app-password", "add", "Ann", "Desk", "--store", store)
    (identity, scope, _, day, *words), (_, second, *_) = apps(store, "Ann")
    assert (scope, second, words) == ("play", "rate", ["never", "used", "My", "phone"])
    assert len(day) == len("2026-11-19")
    secret = made.out.strip()
    with open_store(store) as opened, opened.writing() as connection:
        app = app_passwords.of_secret(connection, secret, name="Ann")
        assert app is not None
        assert app.password.id == identity
        app_passwords.note_use(connection, app, now=0)
    assert apps(store, "Ann")[0][4:6] == ["used", "1970-01-01"]
    assert run("user", "app-password", "remove", "Ann", identity, "--store", store).code == 0
    assert [it[-1] for it in apps(store, "Ann")] == ["Desk"]
    assert_refused(run("user", "app-password", "remove", "Ann", identity, "--store", store))
    assert_refused(run("user", "app-password", "add", "Bob", "Desk", "--store", store))


def test_a_server_for_plays_is_added_listed_and_removed(store: str, typed: Any) -> None:
    with open_store(store) as opened, opened.writing() as connection:
        accounts.create(connection, name="Ann", role="listener", password_hash=None, now=1)
    of_ann = ("--store", store)
    added = ("user", "scrobbling", "add", "ann", "https://a.example/1/", "--token-stdin", *of_ann)
    typed("s3cret\n")
    assert run(*added).code == 0
    line = run("user", "scrobbling", "list", "Ann", *of_ann).out
    identity, url, *words = line.split()
    assert (url, words) == ("https://a.example", ["nothing", "yet"])
    with open_store(store) as opened, opened.reading() as connection:
        [ann] = accounts.all_accounts(connection)
        assert [it.token for it in scrobble_targets.all_of(connection, ann.id)] == ["s3cret"]
    assert "s3cret" not in line
    for wrong in ("http://192.168.1.5", "nonsense"):
        typed("x")
        assert_refused(run("user", "scrobbling", "add", "Ann", wrong, "--token-stdin", *of_ann))
    assert run("user", "scrobbling", "remove", "Ann", identity, *of_ann).code == 0
    assert run("user", "scrobbling", "list", "Ann", *of_ann).out == ""
    assert_refused(run("user", "scrobbling", "remove", "Ann", identity, *of_ann))

"""Which passwords are good enough, and how they are kept (PROMISES E8)."""

from contextlib import suppress

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.low_level import Type
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.web.security.passwords import check, checked_password, hashed


def test_the_kept_string_names_argon2id_and_its_cost() -> None:
    kept = hashed("correct horse battery")
    assert kept.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    parameters = extract_parameters(kept)
    assert parameters.type is Type.ID
    assert (parameters.memory_cost, parameters.time_cost, parameters.parallelism) == (19_456, 2, 1)
    assert parameters.salt_len >= 16
    assert parameters.hash_len >= 32


def test_the_same_password_is_kept_differently_each_time() -> None:
    assert hashed("correct horse battery") != hashed("correct horse battery")


@settings(max_examples=5)
@given(st.text(min_size=10, max_size=100))
def test_only_the_password_itself_fits(password: str) -> None:
    kept = hashed(password)
    assert check(kept, password).matches
    assert not check(kept, password + " ").matches
    assert not check(kept, "").matches


@pytest.mark.parametrize("kept", [None, "", "plain", "$argon2id$v=19$m=1$broken", "$2b$12$abc"])
@pytest.mark.parametrize("password", ["", "plain", "\ud800", "x" * 2_000])
def test_what_is_no_hash_fits_nothing(kept: str | None, password: str) -> None:
    assert not check(kept, password).matches


def test_a_hash_of_lower_cost_is_said_to_be_outdated() -> None:
    old = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash("correct horse")
    assert check(old, "correct horse").is_outdated
    assert not check(hashed("correct horse"), "correct horse").is_outdated
    assert not check(old, "wrong").is_outdated


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery",
        "Tuba & Flügelhorn",
        "xK9-qq2_LmZ",
        "наш оркестр играет",
        "🎺🎷🥁🎻🎸🎹🪕🪗🪘🪇",
        "a password nobody has",
        "annabelle plays loud",
        "1972-07-14 at noon",
    ],
)
def test_good_passwords_are_taken(password: str) -> None:
    assert checked_password(password, name="Ann") == password


@pytest.mark.parametrize(
    "password",
    ["", "short", "ninechars", "password123", "Passw0rd2024!", "P@ssw0rd!!!", "1234567890",
     "0987654321", "qwertyuiop", "QWERTYUIOP123", "1q2w3e4r5t", "abcdefghijkl", "aaaaaaaaaaaa",
     "abababababab", "asdfghjkl123", "letmein12345", "iloveyou2024", "!!!welcome!!!",
     "bandstand2026", "passwordpassword", "annabelle123", "Annabelle!!!", "x" * 1_025,
     "correct horse \ud800"],
)  # fmt: skip
def test_those_that_are_tried_first_are_not(password: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        checked_password(password, name="Annabelle")
    assert not password or password not in str(caught.value)


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_is_taken_or_refused(password: str, name: str) -> None:
    with suppress(InvalidInputError):
        assert checked_password(password, name=name) == password

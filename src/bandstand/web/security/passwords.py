"""Passwords: which are good enough, how they are kept, how they are checked.

They are kept as argon2id writes them, with the parameters that OWASP's ASVS 5.0 names (19 MiB, two
passes, one lane). The string holds its own parameters, so that a later Bandstand can demand more
and renew each hash when its owner next logs in.

A check takes the same time whether there is such an account or not: for nobody, and for somebody
without a password, it is made against a hash that nothing fits.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from functools import cache
from typing import Final

from argon2 import PasswordHasher, Type
from argon2.exceptions import Argon2Error, InvalidHashError

from bandstand.errors import InvalidInputError

MEMORY_KIB: Final = 19_456
PASSES: Final = 2
LANES: Final = 1

SHORTEST: Final = 10  # characters
LONGEST: Final = 1_024  # bytes, so that nobody can keep us busy with one
_FEWEST_DISTINCT: Final = 5

_HASHER: Final = PasswordHasher(
    time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=LANES, type=Type.ID
)

# What people begin or end a password with when they are asked for a longer one.
_WORDS: Final = """
    password passwort motdepasse contrasena parola letmein welcome willkommen bienvenue admin
    administrator root login user guest master secret geheim changeme default access dragon monkey
    football baseball basketball superman batman starwars pokemon princess sunshine iloveyou
    iloveu trustno jesus michael jessica charlie shadow freedom whatever mustang corvette mercedes
    liverpool arsenal chelsea summer winter spring autumn music bandstand radio computer internet
    samsung google facebook minecraft test testing demo hello hallo bonjour abc abcd qwerty qwertz
    azerty asdf asdfgh zxcvbn iamthebest lovely family flower hannah thomas daniel killer
"""
_COMMON: Final = frozenset(_WORDS.split())
_RUNS: Final = (
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "qwertyuiopasdfghjklzxcvbnm",
    "qwertzuiopasdfghjklyxcvbnm",
    "azertyuiopqsdfghjklmwxcvbn",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
    "1q2w3e4r5t6y7u8i9o0p",
)
_LEET: Final = str.maketrans("013457@$!", "oleastasi")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a check found."""

    matches: bool
    is_outdated: bool = False  # it matches, and should be hashed anew with today's parameters


def checked_password(password: str, *, name: str = "") -> str:
    """Return a new password that is good enough for the account `name`.

    It has at least ten characters, and is not one of those that are tried first: a common word
    with some digits, a walk over the keyboard, a few characters again and again, the name itself.

    >>> checked_password("correct horse battery")
    'correct horse battery'
    >>> checked_password("Passw0rd2024!")
    Traceback (most recent call last):
    bandstand.errors.InvalidInputError: a password must not be one that is tried first
    """
    if len(password) < SHORTEST:
        msg = f"a password must have at least {SHORTEST} characters"
        raise InvalidInputError(msg)
    if not is_possible(password):
        msg = f"a password must have at most {LONGEST:,} bytes of valid Unicode"
        raise InvalidInputError(msg)
    if _is_tried_first(password.casefold(), name.casefold()):
        msg = "a password must not be one that is tried first"
        raise InvalidInputError(msg)
    return password


def is_possible(password: str) -> bool:
    """Return whether a text can be anybody's password at all."""
    try:
        return len(password.encode()) <= LONGEST
    except UnicodeEncodeError:
        return False


def hashed(password: str) -> str:
    """Return what is kept of a password; it takes some 20 to 60 ms and 19 MiB."""
    return _HASHER.hash(password)


def check(kept: str | None, password: str) -> Verdict:
    """Return whether a password is the one that `kept` was made of; None fits nothing.

    >>> check(None, "").matches
    False
    """
    if not is_possible(password):
        password, kept = "", None
    try:
        matches = _HASHER.verify(_nobodys() if kept is None else kept, password)
    except (Argon2Error, InvalidHashError):
        return Verdict(matches=False)
    if not matches or kept is None:
        return Verdict(matches=False)
    return Verdict(matches=True, is_outdated=_HASHER.check_needs_rehash(kept))


@cache
def _nobodys() -> str:
    """Return a hash of today's parameters, made of something that nobody knows."""
    return _HASHER.hash(secrets.token_urlsafe(32))


def _is_tried_first(password: str, name: str) -> bool:
    if len(set(password)) < _FEWEST_DISTINCT:
        return True
    letters = _letters(password)
    common = _COMMON | {_letters(name)}
    return any(part in common for part in (letters, _half(letters))) or _is_walk(password)


def _letters(text: str) -> str:
    """Return a text without the digits and signs at its ends, those inside read as letters.

    >>> _letters("2024p@ssw0rd!!")
    'password'
    """
    core = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", text)
    return re.sub(r"[\W_]+", "", core.translate(_LEET))


def _half(text: str) -> str:
    """Return what a text says twice, or the text."""
    half = text[: len(text) // 2]
    return half if half * 2 == text else text


def _is_walk(password: str) -> bool:
    """Return whether it is a piece of the alphabet, the digits or the keyboard, or two of them."""
    walks = [walk for run in _RUNS for walk in (run * 2, run[::-1] * 2)]
    starts = (cut for cut in range(3, len(password) + 1) if _is_in(password[:cut], walks))
    return any(_is_in(password[cut:], walks) for cut in starts)


def _is_in(text: str, walks: list[str]) -> bool:
    return any(text in walk for walk in walks)

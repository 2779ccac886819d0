"""Passwords: strength, hashing and checking; and the one-time token of the first start.

Hashes are argon2id with the parameters of OWASP's ASVS 5.0 (19 MiB, two passes, one lane). A hash
holds its own parameters, so that a later Bandstand can demand more and renew each hash when its
owner next logs in.

A check takes the same time whether there is such an account or not: without an account or a
password it is made against a hash that nothing matches.
"""

import hmac
import re
import secrets
from dataclasses import dataclass
from functools import cache
from typing import Final

from argon2 import PasswordHasher, Type
from argon2.exceptions import Argon2Error, InvalidHashError

from bandstand.errors import InvalidInputError, WeakPasswordError
from bandstand.web.http.concurrency import ThreadPool

MEMORY_KIB: Final = 19_456
PASSES: Final = 2
LANES: Final = 1

MIN_CHARS: Final = 10
MAX_BYTES: Final = 1_024  # a longer one would keep a core busy
_MIN_DISTINCT_CHARS: Final = 5
HASHING_THREADS: Final = 2
MAX_WAITING_HASHES: Final = 32

_HASHER: Final = PasswordHasher(
    time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=LANES, type=Type.ID
)

# Words that people extend when they are asked for a longer password.
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
    """The result of a check."""

    matches: bool
    is_outdated: bool = False  # it matches, and should be hashed again with today's parameters


def checked_password(password: str, *, name: str = "") -> str:
    """Return a new password that is good enough for the account `name`.

    It has at least ten characters, and is not one of those that are tried first: a common word
    with some digits, a walk over the keyboard, a few characters again and again, the name itself.

    >>> checked_password("correct horse battery")
    'correct horse battery'
    >>> checked_password("Passw0rd2024!")
    Traceback (most recent call last):
    bandstand.errors.WeakPasswordError: a password must not be one that is tried first
    """
    if len(password) < MIN_CHARS:
        msg = f"a password must have at least {MIN_CHARS} characters"
        raise InvalidInputError(msg)
    if not is_possible(password):
        msg = f"a password must have at most {MAX_BYTES:,} bytes of valid Unicode"
        raise InvalidInputError(msg)
    if _is_tried_first(password.casefold(), name.casefold()):
        msg = "a password must not be one that is tried first"
        raise WeakPasswordError(msg)
    return password


def is_possible(password: str) -> bool:
    """Return whether a text can be a password at all."""
    try:
        return len(password.encode()) <= MAX_BYTES
    except UnicodeEncodeError:
        return False


def hashed(password: str) -> str:
    """Return the hash of a password; it takes some 20 to 60 ms and 19 MiB."""
    return _HASHER.hash(password)


def check(kept: str | None, password: str) -> Verdict:
    """Compare a password with the hash `kept`; None matches nothing.

    >>> check(None, "").matches
    False
    """
    if not is_possible(password):
        password, kept = "", None
    try:
        matches = _HASHER.verify(_unmatchable_hash() if kept is None else kept, password)
    except (Argon2Error, InvalidHashError):
        return Verdict(matches=False)
    if not matches or kept is None:
        return Verdict(matches=False)
    return Verdict(matches=True, is_outdated=_HASHER.check_needs_rehash(kept))


@cache
def _unmatchable_hash() -> str:
    """Return a hash with today's parameters, of a random secret."""
    return _HASHER.hash(secrets.token_urlsafe(32))


def _is_tried_first(password: str, name: str) -> bool:
    if len(set(password)) < _MIN_DISTINCT_CHARS:
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


class PasswordPool:
    """Two threads of low priority for passwords alone.

    Each hash takes 19 MiB and a core. No other request waits behind it; 503 when the queue is full.
    """

    def __init__(self) -> None:
        self._pool = ThreadPool(HASHING_THREADS, MAX_WAITING_HASHES, "passwords", niceness=10)

    async def check(self, kept: str | None, password: str) -> Verdict:
        """Compare a password with the hash `kept`; None matches nothing."""
        return await self._pool.run(check, kept, password)

    async def hashed(self, password: str) -> str:
        """Return the hash of a password."""
        return await self._pool.run(hashed, password)

    def close(self) -> None:
        """Wait for the hashes that have begun."""
        self._pool.close()


class SetupToken:
    """The one-time token that makes the first account, printed on the console at the start."""

    def __init__(self) -> None:
        self._value: str | None = None

    def issue(self) -> str:
        """Return a new token; one that was issued before is no longer valid."""
        self._value = secrets.token_urlsafe(32)
        return self._value

    @property
    def is_open(self) -> bool:
        """Whether there is a token that may still be used."""
        return self._value is not None

    def matches(self, token: str) -> bool:
        """Compare a token in constant time."""
        return self._value is not None and hmac.compare_digest(self._value.encode(), token.encode())

    def close(self) -> None:
        """Invalidate the token."""
        self._value = None

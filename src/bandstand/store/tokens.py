"""Secrets that a browser keeps and the store only recognises."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Final

_BYTES: Final = 32


def new_token() -> str:
    """Return 256 random bits, as 43 characters that may stand in a cookie."""
    return secrets.token_urlsafe(_BYTES)


def token_hash(token: str) -> bytes:
    """Return what the store keeps of a token: who reads the store cannot use it.

    A plain hash is enough for something that nobody can guess.

    >>> token_hash("a").hex()[:16]
    'ca978112ca1bbdca'
    """
    # A request may hold anything; what no token can be, no store knows.
    return sha256(token.encode("utf-8", "surrogatepass")).digest()

"""The one-time token that makes the first account, printed on the console at the first start."""

from __future__ import annotations

import hmac
import secrets


class SetupToken:
    """A secret that is worth something until it was used."""

    def __init__(self) -> None:
        self._value: str | None = None

    def issue(self) -> str:
        """Return a new token; one that was issued before is worth nothing any more."""
        self._value = secrets.token_urlsafe(32)
        return self._value

    @property
    def is_open(self) -> bool:
        """Whether there is a token that may still be used."""
        return self._value is not None

    def fits(self, token: str) -> bool:
        """Return whether this is the token; compared in a time that does not tell how nearly."""
        return self._value is not None and hmac.compare_digest(self._value.encode(), token.encode())

    def close(self) -> None:
        """Make the token worth nothing."""
        self._value = None

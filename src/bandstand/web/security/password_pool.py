"""Where passwords are hashed and checked: two at a time, and only a few may wait.

Each takes 19 MiB and a core for some time, and stands back for those who listen. Whoever finds
the queue full hears 503 and when to come back; nobody else's request waits behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand.web.http.thread_pools import Workers
from bandstand.web.security import passwords

if TYPE_CHECKING:
    from bandstand.web.security.passwords import Verdict

AT_ONCE: Final = 2
WAITING: Final = 32


class PasswordDesk:
    """Two threads for passwords alone."""

    def __init__(self) -> None:
        self._workers = Workers(AT_ONCE, WAITING, "passwords", niceness=10)

    async def check(self, kept: str | None, password: str) -> Verdict:
        """Return whether a password is the one that is kept; None fits nothing."""
        return await self._workers.run(passwords.check, kept, password)

    async def hashed(self, password: str) -> str:
        """Return what is kept of a password."""
        return await self._workers.run(passwords.hashed, password)

    def close(self) -> None:
        """Let what was begun come to its end."""
        self._workers.close()

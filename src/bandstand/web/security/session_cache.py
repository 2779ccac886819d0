"""Whose session a token is, remembered for at most a second.

Every request asks; the store is asked once in a second for each token. Whatever ends a session in
this process is known at once (`forget`); what another process does, within that second.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand.store import sessions

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand._util.clock import Clock
    from bandstand.store.accounts import Account
    from bandstand.store.database.connection import Store
    from bandstand.web.http.thread_pools import Workers

OLDEST: Final = 1.0  # seconds
_MOST: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    account: Account
    since: float


class SessionCache:
    """Tokens, by their hash, and the accounts that they stand for."""

    def __init__(
        self,
        store: Store,
        workers: Workers,
        clock: Clock,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._workers = workers
        self._clock = clock
        self._timer = timer
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._endings = 0

    async def account_of(self, token: str) -> Account | None:
        """Return whose session it is; None if it is nobody's, or no longer."""
        key = hashlib.sha256(token.encode()).digest()
        entry = self._entries.get(key)
        if entry is not None and 0 <= self._timer() - entry.since < OLDEST:
            return entry.account
        self._entries.pop(key, None)
        # The age counts from before the question, not from the answer.
        since, endings = self._timer(), self._endings
        account = await self._workers.run(self._ask, token)
        # A session that ended while the store was asked must not come back.
        if account is not None and endings == self._endings:
            self._entries[key] = _Entry(account=account, since=since)
            if len(self._entries) > _MOST:
                self._entries.popitem(last=False)
        return account

    def forget(self, account_id: str) -> None:
        """Let the store be asked again for every session of an account."""
        self._endings += 1
        ended = [key for key, entry in self._entries.items() if entry.account.id == account_id]
        for key in ended:
            del self._entries[key]

    def forget_all(self) -> None:
        """Let the store be asked again for every session."""
        self._endings += 1
        self._entries.clear()

    def _ask(self, token: str) -> Account | None:
        with self._store.reading() as connection:
            return sessions.account_of(connection, token, now=self._clock())

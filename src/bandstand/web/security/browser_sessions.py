"""The session cookie, and a cache of the accounts that session tokens stand for.

The cookie is HttpOnly, since no script needs it, and SameSite=Strict, since the page itself is
public: a link from elsewhere opens the page, and only then is the cookie sent. Under TLS it is
Secure, and its name begins with `__Host-`, so that neither plain HTTP nor a neighbouring subdomain
can set it.
"""

import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from bandstand._util.clock import Clock
from bandstand.store import sessions
from bandstand.store.accounts import Account
from bandstand.store.database.connection import Store
from bandstand.web.http.concurrency import ThreadPool
from bandstand.web.security.access import Access

NAME: Final = "bandstand_session"
SECURE_NAME: Final = f"__Host-{NAME}"
# 256 bits in URL-safe base 64.
_TOKEN: Final = re.compile(rb"[A-Za-z0-9_-]{1,64}")
MAX_AGE_SECONDS: Final = 1.0  # of an entry of the cache
_MAX_SESSIONS: Final = 4_096


def cookie_name(access: Access) -> str:
    """Return the name of the cookie."""
    return SECURE_NAME if access.is_https else NAME


def session_token(request: Request, access: Access) -> str | None:
    """Return the token of a request, valid or not."""
    return request.cookies.get(cookie_name(access))


def strip_foreign_cookies(
    headers: Sequence[tuple[bytes, bytes]], access: Access
) -> list[tuple[bytes, bytes]]:
    """Remove every cookie but a well-formed session token from the headers of a request.

    Browsers also send the cookies of other servers on the same computer, and some versions of
    Python take seconds to parse a hostile one (CVE-2024-7592). If the token comes several times,
    the last counts: it was set for the whole server.

    >>> from bandstand.web.security.access import Access
    >>> strip_foreign_cookies([(b"cookie", b"theme=dark; bandstand_session=x")], Access())
    [(b'cookie', b'bandstand_session=x')]
    """
    kept = [(name, value) for name, value in headers if name != b"cookie"]
    brought = b";".join(value for name, value in headers if name == b"cookie")
    wanted = cookie_name(access).encode()
    pairs = [part.strip().partition(b"=") for part in brought.split(b";")]
    tokens = [token for name, _, token in pairs if name == wanted and _TOKEN.fullmatch(token)]
    return [*kept, (b"cookie", wanted + b"=" + tokens[-1])] if tokens else kept


def set_cookie(response: Response, access: Access, token: str, *, seconds: int) -> None:
    """Store a token in the browser for `seconds`."""
    response.set_cookie(
        cookie_name(access),
        token,
        max_age=seconds,
        path="/",
        secure=access.is_https,
        httponly=True,
        samesite="strict",
    )


def clear_cookie(response: Response, access: Access) -> None:
    """Delete the token from the browser."""
    response.delete_cookie(
        cookie_name(access), path="/", secure=access.is_https, httponly=True, samesite="strict"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    account: Account
    since: float


class SessionCache:
    """Accounts by the hash of their session tokens, at most a second old.

    Every request asks. A session that this process ends is gone at once (`forget`), one that
    another process ends within that second.
    """

    def __init__(
        self,
        store: Store,
        workers: ThreadPool,
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
        """Return the account of a session; None if there is no such session, or no longer."""
        key = hashlib.sha256(token.encode()).digest()
        entry = self._entries.get(key)
        if entry is not None and 0 <= self._timer() - entry.since < MAX_AGE_SECONDS:
            return entry.account
        self._entries.pop(key, None)
        # The age counts from before the query, not from its result.
        since, endings = self._timer(), self._endings
        account = await self._workers.run(self._load, token)
        # A session that ended during the query must not come back.
        if account is not None and endings == self._endings:
            self._entries[key] = _Entry(account=account, since=since)
            if len(self._entries) > _MAX_SESSIONS:
                self._entries.popitem(last=False)
        return account

    def forget(self, account_id: str) -> None:
        """Drop all sessions of an account from the cache."""
        self._endings += 1
        ended = [key for key, entry in self._entries.items() if entry.account.id == account_id]
        for key in ended:
            del self._entries[key]

    def forget_all(self) -> None:
        """Drop all sessions from the cache."""
        self._endings += 1
        self._entries.clear()

    def _load(self, token: str) -> Account | None:
        with self._store.reading() as connection:
            return sessions.account_of(connection, token, now=self._clock())

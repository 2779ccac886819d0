"""Listeners who rate over HTTP, remember what they were told, and never rate twice.

    with Listeners(server, names) as listeners:
        listeners.wait_for(100)
        server.kill()
        server.start()
        listeners.wait_for(100)
    assert problems(server.store, listeners.acknowledged) == []

Each listener is a thread with a connection of its own. What was refused, or not answered, is sent
again with the same key until it is acknowledged, as a player does.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from bandstand.store.transfer.verify import verify
from bandstand.web import cookies
from bandstand.web.access import Access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tests.web.serving import Server

PATIENCE = 60.0  # seconds
PAUSE = 0.02  # before something is sent again


class Acknowledged(NamedTuple):
    """An event of which a listener was told that it is stored."""

    account: str
    key: str
    seq: int
    song: str
    stars: int


class Refused(NamedTuple):
    """An answer that was no acknowledgement."""

    status: int
    code: str
    retry_after: str | None
    seconds: float  # until it came
    at: float  # monotonic
    name: str  # of whom it was told


class Answer(NamedTuple):
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    body: Any
    seconds: float


class Asker:
    """One connection to a server, opened again where it was cut."""

    def __init__(self, server: Server, name: str | None) -> None:
        self._port = int(server.port)
        token = None if name is None else server.tokens[name]
        self._headers = {} if token is None else {"Cookie": f"{cookies.name_of(Access())}={token}"}
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """Return the answer to a request; OSError or HTTPException if none came."""
        headers = dict(self._headers)
        content = None
        if body is not None:
            content, headers["Content-Type"] = json.dumps(body), "application/json"
        if self._connection is None:
            host = "127.0.0.1"
            self._connection = http.client.HTTPConnection(host, self._port, timeout=PATIENCE)
        began = time.monotonic()
        try:
            self._connection.request(method, path, content, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        told = {name.lower(): value for name, value in answer.getheaders()}
        is_json = told.get("content-type", "").startswith("application/json")
        seconds = time.monotonic() - began
        return Answer(answer.status, told, json.loads(text) if is_json else text, seconds)

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Listeners:
    """Threads that rate songs until the end of the `with` block."""

    def __init__(
        self, server: Server, names: Iterable[str], songs: list[str], *, pause: float = 0.0
    ) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.refused: list[Refused] = []
        self.unanswered = 0
        self._server, self._songs, self._pause = server, songs, pause
        self._leave = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._rate, args=(name,)) for name in names]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._leave.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads)

    def wait_for(self, more: int = 1) -> float:
        """Return after how many seconds so many more ratings were acknowledged."""
        began, goal = time.monotonic(), len(self.acknowledged) + more
        wait_until(lambda: len(self.acknowledged) >= goal)
        return time.monotonic() - began

    def wait_for_refusals(self, more: int = 1) -> None:
        """Return when so many more were refused."""
        goal = len(self.refused) + more
        wait_until(lambda: len(self.refused) >= goal)

    def wait_until_all_are_refused(self) -> None:
        """Return when each listener was refused: what any was told before has arrived by then."""
        begin = len(self.refused)
        names = len(self._threads)
        wait_until(lambda: len({each.name for each in self.refused[begin:]}) == names)

    @property
    def statuses(self) -> Counter[int]:
        """How often each status came that was no acknowledgement."""
        return Counter(each.status for each in self.refused)

    def _rate(self, name: str) -> None:
        asker, number = Asker(self._server, name), 0
        while not self._leave.is_set():
            song, stars = self._songs[number % len(self._songs)], 1 + number % 5
            event = {"key": f"{name}/{number}", "kind": "rating", "song": song, "stars": stars}
            if self._told(asker, name, event):
                number += 1
                self._leave.wait(self._pause)
            else:
                self._leave.wait(PAUSE)
        asker.close()

    def _told(self, asker: Asker, name: str, event: dict[str, Any]) -> bool:
        """Return whether an event was acknowledged, now or before."""
        try:
            answer = asker.ask("POST", "/api/events", event)
        except (OSError, http.client.HTTPException):
            with self._lock:
                self.unanswered += 1
            return False
        with self._lock:
            if answer.status in {200, 201}:
                assert answer.body["stored"] is True
                told = (event["key"], answer.body["seq"], event["song"], event["stars"])
                self.acknowledged.append(Acknowledged(self._server.ids[name], *told))
                return True
            self.refused.append(_refused(answer, name))
            return False


def _refused(answer: Answer, name: str) -> Refused:
    return Refused(
        status=answer.status,
        code=answer.body["error"]["code"],
        retry_after=answer.headers.get("retry-after"),
        seconds=answer.seconds,
        at=time.monotonic(),
        name=name,
    )


def tell(figures: str) -> None:
    """Print what was measured: `pytest -rP` shows it."""
    sys.stdout.write(f"{figures}\n")


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return as soon as something is so."""
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


def problems(place: str, acknowledged: Iterable[Acknowledged]) -> list[str]:
    """Return what is wrong with a store, given what listeners were told that is in it."""
    told = list(acknowledged)
    with open_store(place) as store:
        found = list(verify(store).problems)
        with store.reading() as connection:
            ids = [account.id for account in accounts.all_accounts(connection)]
            log = [event for account in ids for event in events.after(connection, account)]
    stored = {(event.account, event.seq): event for event in log}
    keys = Counter((event.account, event.key) for event in log)
    found += [f"{key} of {account} is there twice" for (account, key), n in keys.items() if n > 1]
    for each in told:
        event = stored.get((each.account, each.seq))
        if event is None or (event.key, event.song, event.stars) != (each.key, *each[3:]):
            found.append(f"{each} was acknowledged and is not there")
    twice = Counter((each.account, each.key) for each in told)
    found += [f"{key} was acknowledged twice to {who}" for (who, key), n in twice.items() if n > 1]
    return found

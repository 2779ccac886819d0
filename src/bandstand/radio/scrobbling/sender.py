"""The thread of a server that sends plays to other servers.

    sender = Sender(store, radio.write, clock=clock, hosts=settings.scrobble_hosts)

It looks at the store every few seconds, so it learns of plays that another process has stored. A
target is claimed before anything is sent to it, so that of several processes one sends. What was
delivered is noted afterwards. If the process dies in between, the same is sent again, letter for
letter: servers take a listen of the same song at the same time for the same listen.
"""

from __future__ import annotations

import logging
import threading
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import BandstandError
from bandstand.radio.scrobbling import listenbrainz, transport
from bandstand.radio.scrobbling.listenbrainz import MAX_PLAYS, Verdict
from bandstand.radio.scrobbling.outgoing import artist_of, next_delivery
from bandstand.radio.scrobbling.transport import UnreachableError
from bandstand.store import accounts
from bandstand.store import scrobble_targets as targets
from bandstand.store.events import events
from bandstand.store.songs import songs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from concurrent.futures import Future

    from sqlalchemy import Connection

    from bandstand._util.clock import Clock
    from bandstand.radio.scrobbling.outgoing import Outgoing
    from bandstand.radio.scrobbling.transport import Request
    from bandstand.store.database.connection import Store
    from bandstand.store.events.events import Event
    from bandstand.store.scrobble_targets import Target

EVERY: Final = 5.0  # seconds
_CLOSING_SECONDS: Final = 3.0
_DEAF_MS: Final = 600_000
_WINDOW: Final = 500  # events that are looked at together
LOG: Final = logging.getLogger("bandstand.scrobbling")


class Sender:
    """A thread that sends what is waiting, until `close`."""

    def __init__(
        self,
        store: Store,
        write: Callable[[Callable[[Connection], Any]], Future[Any]],
        *,
        clock: Clock,
        hosts: Collection[str],
        every: float = EVERY,
    ) -> None:
        self._store, self._clock, self._hosts, self._every = store, clock, hosts, every
        self._submit = write
        self._playing: dict[str, str] = {}  # the song that plays, by account, until it is sent
        self._deaf_until: dict[str, int] = {}  # for what plays now, by target
        self._seen: dict[str, int] = {}  # the end of a log after which nothing is to be sent yet
        self._single_until: dict[str, int] = {}  # one play at a time, up to this event
        self._closing, self._wake = threading.Event(), threading.Event()
        # As a daemon it does not keep a process alive that forgot to close it.
        self._thread = threading.Thread(target=self._run, name="bandstand-scrobbling", daemon=True)
        self._thread.start()

    def playing(self, account: str, song: str) -> None:
        """Send that a song plays now: once, and soon or never."""
        self._playing[account] = song
        self._wake.set()

    def close(self) -> None:
        """End, after the request that is under way if it is quick; the rest stays in the log."""
        self._closing.set()
        self._wake.set()
        self._thread.join(_CLOSING_SECONDS)

    def _run(self) -> None:
        while not self._closing.is_set():
            self._wake.wait(self._every)
            self._wake.clear()
            try:
                while not self._closing.is_set() and (self._send_playing() or self._send_some()):
                    pass
            except BandstandError as problem:
                LOG.warning("plays are not sent now: %s", problem)
            except Exception as problem:  # noqa: BLE001  # its text could quote a token
                LOG.error("plays are not sent now: %s", type(problem).__name__)  # noqa: TRY400

    def _send_playing(self) -> bool:
        """Send what one listener hears now; return whether there was any."""
        if not self._playing:
            return False
        account, song = self._playing.popitem()
        with self._store.reading() as connection:
            owner, record = accounts.get(connection, account), songs.get(connection, song)
            is_private = owner and accounts.settings(connection, account).get("private")
            found = targets.all_of(connection, account)
        if owner is None or owner.disabled or is_private or record is None:
            return True
        now = self._clock()
        for target in found if record.tags.title and artist_of(record) else ():
            if max(target.wait_until, self._deaf_until.get(target.id, 0)) <= now:
                verdict = self._sent(listenbrainz.now_playing(target, record))
                if verdict.outcome == "again":  # the plays of others are not to wait for it
                    self._deaf_until[target.id] = now + _DEAF_MS
        return True

    def _send_some(self) -> bool:
        """Send one request to each target with something to send; return whether there was any."""
        with self._store.reading() as connection:
            found = targets.behind(connection, self._clock())
        due = [(target, end) for target, end in found if self._seen.get(target.id) != end]
        served = [self._serve(*each) for each in due if not self._closing.is_set()]
        return any(served)

    def _serve(self, target: Target, end: int) -> bool:
        """Send one request to a target; return whether there may be more."""
        with self._store.reading() as connection:
            log = list(islice(events.after(connection, target.account_id, target.seq), _WINDOW))
            items = self._next(connection, target, log)
        if not items and len(log) < _WINDOW:
            self._seen[target.id] = end
            return False
        now = self._clock()
        if not self._write(lambda store: targets.claim(store, target, now)):
            return False
        if not items:
            self._write(lambda store: targets.settle(store, target, log[-1].seq))
            return True
        return self._deliver(target, items)

    def _next(self, connection: Connection, target: Target, log: Sequence[Event]) -> list[Outgoing]:
        account = target.account_id
        taken_back = events.retracted(connection, account, [event.seq for event in log])
        marked = events.many(connection, account, {it.retracts for it in log if it.retracts})
        # What was never sent need not be taken back.
        unmarks = {
            event.seq: it.target
            for event in log
            if (it := marked.get(event.retracts or 0)) is not None
            if it.kind == "favourite" and it.scope == "song" and it.target is not None
            if it.seq <= target.seq and not target.is_silent(it.seq)
        }
        names = {event.song or event.target for event in log if event.song or event.scope == "song"}
        named = [name for name in names | {*unmarks.values()} if name is not None]
        return next_delivery(
            log,
            unmarks=unmarks,
            silent={it.seq for it in log if it.seq in taken_back or target.is_silent(it.seq)},
            songs={record.id: record for record in songs.many(connection, named)},
            most=1 if target.seq < self._single_until.get(target.id, 0) else MAX_PLAYS,
        )

    def _deliver(self, target: Target, items: Sequence[Outgoing]) -> bool:
        """Send to a target that is claimed, and note what came of it."""
        verdict = self._sent(
            listenbrainz.delivery(target, items), is_love=items[0].is_loved is not None
        )
        now, seq = self._clock(), items[-1].seq
        news: dict[str, Any] = {"delivered_at": now}
        if verdict.outcome == "again":
            wait = listenbrainz.wait_seconds(target.failures + 1, verdict.asked_seconds)
            until = now + 1_000 * wait
            self._write(lambda store: targets.postpone(store, target, until, verdict.reason))
            return False
        if verdict.outcome == "refused" and len(items) > 1:
            # One of them is at fault, and the others are not to suffer for it.
            self._single_until[target.id], seq, news = seq, target.seq, {}
        elif verdict.outcome == "refused":
            news = {"refusal": verdict.reason}
        self._write(lambda store: targets.settle(store, target, seq, **news))
        return True

    def _write(self, work: Callable[[Connection], Any]) -> Any:
        return self._submit(work).result()

    def _sent(self, request: Request, *, is_love: bool = False) -> Verdict:
        try:
            answer = transport.send(request, self._hosts)
        except UnreachableError as problem:
            return Verdict(outcome="again", reason=str(problem))
        return listenbrainz.verdict(answer, is_love=is_love)

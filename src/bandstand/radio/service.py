"""The radio: questions and answers of all listeners over one store.

    events ─ submit ─ log (on the disk before it is acknowledged)
                       │
    question ─ catch up with the log ─ belief ─ selection ─ why
                                         └ afterwards: rebuilt for more answers

A listener's belief is a cache of the log: a request for the next song reads the end of the log
first, so it always includes every event that was acknowledged, also by another process.

A catalogue is as old as its last refresh. So a selected song is looked up in the store before it
is offered; songs that have left the library meanwhile are excluded.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from sqlalchemy import Connection

from bandstand._util.clock import Clock
from bandstand.core.registry import ALGORITHMS
from bandstand.errors import NotFoundError
from bandstand.music.catalogue.catalogue import Catalogue, load_catalogue
from bandstand.radio.background import BackgroundWorker
from bandstand.radio.explain.taste import Taste
from bandstand.radio.explain.why import (
    Why,
    explained,
    known_novelty,
    only,
    preference_of,
    rating_deviation,
)
from bandstand.radio.listener_cache import CachedListener, ListenerCache
from bandstand.radio.listener_settings import ListenerSettings, checked_changes, settings_of
from bandstand.radio.log.fold import Ledger
from bandstand.radio.selection.filters import ANY_SONG, Station
from bandstand.radio.selection.select import RadioListener, Selection
from bandstand.store import accounts
from bandstand.store.database.connection import Store
from bandstand.store.database.writer import GroupWriter
from bandstand.store.events import events
from bandstand.store.events.events import Appended, NewEvent
from bandstand.store.songs import changes as song_changes
from bandstand.store.songs import files, songs
from bandstand.store.songs.songs import SongRecord

Result = TypeVar("Result")

# The second choice knows all songs that have left; more go meanwhile only while a scan ends.
_MAX_CHOICES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A song to play, and why."""

    song: SongRecord
    why: Why
    how: str  # "model", "random" or "wish"
    note: str | None  # why it was drawn at random, where it was
    step: int  # the number of this recommendation, counted from 1
    seq: int  # the last event of the listener's log that it takes into account
    at: int  # when it begins, if all songs before it are played: UTC, in milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SongView:
    """The prediction of one song for a listener now; what is not known is None."""

    song: SongRecord
    expected: float | None  # stars
    standard_deviation: float | None  # of the expected rating, in stars
    rating_deviation: float | None  # of the rating that would be given: doubt and noise together
    novelty: float | None  # from 0, just heard, to 1, quite fresh; None before songs came again
    heard_at: int | None  # UTC, in milliseconds
    seq: int  # the last event of the listener's log that this takes into account


class Radio:
    """All listeners' radio over one store; it may be shared by threads, until `close`."""

    def __init__(self, store: Store, *, clock: Clock, listener_cache_mb: int = 256) -> None:
        self.store: Final = store
        self.clock: Final = clock
        self._writer = GroupWriter(store)
        self._cache = ListenerCache(listener_cache_mb * 1_000_000)
        self._refreshing = threading.Lock()
        self._catalogue = load_catalogue(store)
        self._rebuilding = BackgroundWorker(self._rebuild)

    def close(self) -> None:
        """Write what is waiting, then stop writing; the store stays open."""
        self._rebuilding.close()
        self._writer.close()

    # ── The library ──────────────────────────────────────────────────────────────────────

    @property
    def catalogue(self) -> Catalogue:
        """The songs that can be played."""
        return self._catalogue

    def refresh(self) -> None:
        """Load songs that have come or gone; listeners get them with their next song.

        Quiet listeners are migrated too, so that none keeps the catalogue before alive.
        """
        with self._refreshing:
            self._catalogue = load_catalogue(self.store, self._catalogue)
        for cached in self._cache.all():
            cached.migrate(self._catalogue)
            self._cache.recount(cached)

    # ── Events ───────────────────────────────────────────────────────────────────────────

    @property
    def failure(self) -> str | None:
        """Why nothing can be written any more, or None."""
        return self._writer.failure

    def write(self, work: Callable[[Connection], Result], *, order: str = "") -> Future[Result]:
        """Return the outcome of `work`, which is on the disk before it is there."""
        return self._writer.submit(work, order=order)

    def submit(self, new: NewEvent) -> Future[Appended | None]:
        """Return the event as the log has it; None if the listener is in private mode."""

        def append(connection: Connection) -> Appended | None:
            if new.kind in events.HEARD and settings_of(connection, new.account).private:
                return None
            return events.append(connection, new, now=self.clock())

        return self.write(append, order=new.account)

    def forget(self, account: str, *, start: int, end: int, key: str) -> Future[int]:
        """Retract all events from `start` up to but not including `end`; return their number."""

        def retract(connection: Connection) -> int:
            log = list(events.after(connection, account))
            retracted = {event.retracts for event in log}
            wanted = [
                event.seq
                for event in log
                if start <= event.at < end
                and event.kind in events.HEARD
                and event.seq not in retracted
            ]
            for seq in wanted:
                new = events.NewEvent(
                    account=account, key=f"{key}/{seq}", kind="retract", retracts=seq
                )
                events.append(connection, new, now=self.clock())
            return len(wanted)

        return self.write(retract, order=account)

    def drop(self, account: str) -> None:
        """Keep nothing of a listener in memory; the store still has everything."""
        self._cache.drop(account)

    # ── Settings ─────────────────────────────────────────────────────────────────────────

    def settings(self, account: str) -> ListenerSettings:
        """Return a listener's settings."""
        with self.store.reading() as connection:
            return settings_of(connection, account)

    def is_quick(self, account: str) -> bool:
        """Return whether questions about a listener take milliseconds, by the algorithm."""
        with self.store.reading() as connection:
            return ALGORITHMS[settings_of(connection, account).algorithm].is_quick

    def change_settings(self, account: str, changes: Mapping[str, Any]) -> Future[ListenerSettings]:
        """Return a listener's settings after `changes`."""
        checked = checked_changes(changes)

        def change(connection: Connection) -> ListenerSettings:
            accounts.change_settings(connection, account, checked)
            return settings_of(connection, account)

        return self.write(change)

    # ── Questions ────────────────────────────────────────────────────────────────────────

    def next(
        self, account: str, *, after: Sequence[str] = (), station: Station = ANY_SONG
    ) -> Offer:
        """Return the song to play now, or after those in `after`, which are about to be heard."""
        [offer] = self._offers(
            account,
            lambda listener, dial: [
                listener.next(now=self.clock(), after=after, station=station, dial=dial)
            ],
        )
        return offer

    def playlist(
        self,
        account: str,
        *,
        count: int,
        after: Sequence[str] = (),
        station: Station = ANY_SONG,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> list[Offer]:
        """Return the next songs, each chosen as if the ones before it had been heard.

        `is_wanted` is asked before each of them; once it says no there are no more.
        """
        return self._offers(
            account,
            lambda listener, dial: listener.playlist(
                count,
                now=self.clock(),
                after=after,
                station=station,
                dial=dial,
                is_wanted=is_wanted,
            ),
        )

    def view(self, account: str, song: str) -> SongView:
        """Return the prediction of one song for a listener now."""
        with self.store.reading() as connection:
            record = songs.get(connection, song)
        if record is None:
            msg = f"there must be a song with that id, got {song!r}"
            raise NotFoundError(msg)
        with self._cache.locked(account) as cached:
            listener = self._current(cached)
            found, learned = listener.predict_song(song, now=self.clock()), listener.learned
            spread = None if found is None else only(found.standard_deviation())
            return SongView(
                song=record,
                expected=None if found is None else only(found.mean()),
                standard_deviation=spread,
                rating_deviation=rating_deviation(spread, learned.noise),
                novelty=None if found is None else known_novelty(found, learned),
                heard_at=listener.ledger.plays.heard_at(song),
                seq=listener.ledger.seq,
            )

    def expected(self, account: str) -> dict[str, float | None]:
        """Return a listener's expected rating of each song that may be played now, in stars."""
        with self._cache.locked(account) as cached:
            return self._current(cached).expected(now=self.clock())

    def taste(self, account: str) -> Taste:
        """Return what has been learned about a listener."""
        # Imported here: only this page needs it.
        from bandstand.radio.explain.taste import taste_of  # noqa: PLC0415

        with self._cache.locked(account) as cached:
            listener = self._current(cached)
        # Without the lock: it takes a while, and all of it is values.
        taste = taste_of(listener, known=cached.known)
        self._cache.recount(cached)
        return taste

    def ledger(self, account: str) -> Ledger:
        """Return a listener's ledger, up to this moment."""
        with self._cache.locked(account) as cached:
            return cached.load_state(self.store, self.write)

    def wait_until_rebuilt(self) -> None:
        """Return when the background work for all listeners is done."""
        self._rebuilding.wait()

    # ── Catching up ──────────────────────────────────────────────────────────────────────

    def _current(self, cached: CachedListener) -> RadioListener:
        """Return the listener as of this moment's log, library and settings."""
        return cached.follow(cached.load_state(self.store, self.write), self._catalogue)

    def _offers(
        self, account: str, select: Callable[[RadioListener, float], list[Selection]]
    ) -> list[Offer]:
        """Return the songs that `select` chooses with the listener's dial, and why."""
        with self._cache.locked(account) as cached:
            listener = self._current(cached)
            chosen, records = self._present(
                listener, lambda: select(listener, cached.settings.dial)
            )
            learned, preference = listener.learned, None
            if learned.answers:
                columns = listener.history.columns
                preference = preference_of(listener.engine, listener.belief, columns)
            offers = [
                Offer(
                    song=records[each.song],
                    why=explained(each, preference, listener.reader.columns, learned),
                    how=each.how,
                    note=each.note or None,
                    step=each.step,
                    seq=listener.ledger.seq,
                    at=each.at,
                )
                for each in chosen
            ]
            is_due = listener.needs_rebuild and not cached.is_rebuilt(listener)
        if is_due:
            self._rebuilding.submit(account)
        return offers

    def _present(
        self, listener: RadioListener, select: Callable[[], list[Selection]]
    ) -> tuple[list[Selection], dict[str, SongRecord]]:
        """Return the songs of `select` with their records, once all of them can be played."""
        for _ in range(_MAX_CHOICES):
            chosen = select()
            with self.store.reading() as connection:
                found = {each.song: songs.get(connection, each.song) for each in chosen}
            records = {song: it for song, it in found.items() if it is not None and it.is_present}
            missing = [song for song in found if song not in records]
            if not missing:
                return chosen, records
            with self.store.reading() as connection:
                gone = files.gone(connection, song_changes.since_note(listener.catalogue.changes))
            listener.filter.exclude_missing([*gone, *missing])
        msg = "nothing may be played: songs are leaving the library just now; try again"
        raise NotFoundError(msg)

    def _rebuild(self, account: str) -> None:
        """Rebuild a listener for more answers, while no request waits for it."""
        cached = self._cache.get(account)
        if cached is not None:
            cached.rebuild()
            self._cache.recount(cached)

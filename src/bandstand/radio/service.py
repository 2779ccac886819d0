"""The radio: what a listener asks of it, and what a listener tells it.

    told ─ submit ─ log (on the disk before it is acknowledged)
                     │
    asked ─ next ─ catch up with the log ─ belief ─ choice ─ why
                                             └ afterwards: made ready for more answers

A listener's belief is a cache of the log: whoever asks for the next song reads the end of the
log first, so the answer always includes what was said before, also to another process.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, TypeVar

from bandstand.core.registry import algorithm_named
from bandstand.errors import NotFoundError, TakesLongError
from bandstand.music.catalogue.catalogue import load_catalogue
from bandstand.radio.background import Preparing
from bandstand.radio.listener_cache import Ready, Seat, Seats
from bandstand.radio.listener_settings import ListenerSettings, checked_changes, settings_from
from bandstand.radio.offers import Offer, SongView, offered
from bandstand.radio.replay import Standing, bring_along, caught_up, stands
from bandstand.store import accounts
from bandstand.store.database.writer import GroupWriter
from bandstand.store.events import events
from bandstand.store.songs import songs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future
    from typing import Any

    from sqlalchemy import Connection

    from bandstand._util.clock import Clock
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.explain.taste import Taste
    from bandstand.radio.log.fold import Ledger
    from bandstand.radio.selection.chosen import Chosen
    from bandstand.radio.selection.listener_recommender import ListenerRecommender
    from bandstand.radio.selection.stations import Wish
    from bandstand.store.database.connection import Store
    from bandstand.store.events.events import Appended, Event, NewEvent

Result = TypeVar("Result")


class Radio:
    """All listeners' radio over one store; it may be shared by threads, until `close`."""

    def __init__(self, store: Store, *, clock: Clock, listener_cache_mb: int = 256) -> None:
        self.store: Final = store
        self.clock: Final = clock
        self._writer = GroupWriter(store)
        self._seats = Seats(listener_cache_mb * 1_000_000)
        self._refreshing = threading.Lock()
        self._catalogue = load_catalogue(store)
        self._preparing = Preparing(self._prepare)

    def close(self) -> None:
        """Write what is waiting, then stop writing; the store stays open."""
        self._preparing.close()
        self._writer.close()

    # ── The library ──────────────────────────────────────────────────────────────────────

    @property
    def shelf(self) -> Catalogue:
        """The songs that can be played."""
        return self._catalogue

    def refresh(self) -> None:
        """Take notice of songs that have come or gone; listeners find them at their next song.

        Whoever is quiet is brought along: nobody keeps the shelf before alive.
        """
        with self._refreshing:
            self._catalogue = load_catalogue(self.store, self._catalogue)
        for seat in self._seats.all():
            bring_along(seat, self._catalogue)
            self._seats.count(seat)

    # ── What is told ─────────────────────────────────────────────────────────────────────

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
            if new.kind in events.HEARD and self._is_private(connection, new.account):
                return None
            return events.append(connection, new, now=self.clock())

        return self.write(append, order=new.account)

    def forget(self, account: str, *, start: int, end: int, key: str) -> Future[int]:
        """Take back everything from `start` up to but not including `end`; return how many."""

        def retract(connection: Connection) -> int:
            taken_back = _retracted(events.after(connection, account))
            wanted = [
                event.seq
                for event in events.after(connection, account)
                if start <= event.at < end
                and event.kind in events.HEARD
                and event.seq not in taken_back
            ]
            for seq in wanted:
                new = events.NewEvent(
                    account=account, key=f"{key}/{seq}", kind="retract", retracts=seq
                )
                events.append(connection, new, now=self.clock())
            return len(wanted)

        return self.write(retract, order=account)

    def prepared(self) -> None:
        """Return when all listeners who have asked are prepared for; nobody has to wait for it."""
        self._preparing.wait()

    def drop(self, account: str) -> None:
        """Keep nothing of a listener in memory; what the store has is found again."""
        self._seats.clear(account)

    def _is_private(self, connection: Connection, account: str) -> bool:
        return settings_from(accounts.settings(connection, account)).private

    # ── How it is wanted ─────────────────────────────────────────────────────────────────

    def settings(self, account: str) -> ListenerSettings:
        """Return a listener's settings."""
        with self.store.reading() as connection:
            return settings_from(accounts.settings(connection, account))

    def change_settings(self, account: str, changes: Mapping[str, Any]) -> Future[ListenerSettings]:
        """Return a listener's settings after `changes`."""
        checked = checked_changes(changes)

        def change(connection: Connection) -> ListenerSettings:
            accounts.change_settings(connection, account, checked)
            return settings_from(accounts.settings(connection, account))

        return self.write(change)

    # ── What is asked ────────────────────────────────────────────────────────────────────

    # Where others wait for an answer too, `only_quick` refuses to make one by an algorithm that
    # takes long: TakesLongError.

    def next(
        self,
        account: str,
        *,
        after: Sequence[str] = (),
        wish: Wish | None = None,
        only_quick: bool = False,
    ) -> Offer:
        """Return the song to play now, or after those in `after`, which are about to be heard."""
        return self._asked(
            account,
            lambda model, settings: [
                model.choose(now=self.clock(), after=after, wish=wish, dial=settings.dial)
            ],
            only_quick=only_quick,
        )[0]

    def playlist(
        self,
        account: str,
        *,
        count: int,
        after: Sequence[str] = (),
        wish: Wish | None = None,
        is_wanted: Callable[[], bool] = lambda: True,
        only_quick: bool = False,
    ) -> list[Offer]:
        """Return the next songs, each chosen as if the ones before it had been heard.

        `is_wanted` is asked before each of them; once it says no there are no more.
        """
        return self._asked(
            account,
            lambda model, settings: model.playlist(
                count=count,
                now=self.clock(),
                after=after,
                wish=wish,
                dial=settings.dial,
                is_wanted=is_wanted,
            ),
            only_quick=only_quick,
        )

    def view(self, account: str, song: str, *, only_quick: bool = False) -> SongView:
        """Return how a song stands with a listener now."""
        with self.store.reading() as connection:
            record = songs.get(connection, song)
        if record is None:
            msg = f"there must be a song with that id, got {song!r}"
            raise NotFoundError(msg)
        with self._seats.taken(account) as seat:
            model, _ = self._caught_up(seat, only_quick=only_quick)
            glimpse = model.glimpse(song, now=self.clock())
            return SongView(
                song=record,
                expected=glimpse.expected,
                standard_deviation=glimpse.standard_deviation,
                novelty=glimpse.novelty,
                heard_at=model.ledger.last_heard.get(song),
                seq=model.ledger.seq,
            )

    def expected(self, account: str, *, only_quick: bool = False) -> dict[str, float | None]:
        """Return what a listener should give each song that may be played now, in stars."""
        with self._seats.taken(account) as seat:
            model, _ = self._caught_up(seat, only_quick=only_quick)
            return model.expected(now=self.clock())

    def taste(self, account: str, *, only_quick: bool = False) -> Taste:
        """Return what has been learnt about a listener."""
        # Imported here: only this page needs it.
        from bandstand.radio.explain.taste import taste_of  # noqa: PLC0415

        with self._seats.taken(account) as seat:
            model, _ = self._caught_up(seat, only_quick=only_quick)
        # Outside the seat: it takes a while, and all of it is values.
        taste = taste_of(model, model.shelf.projection, known=seat.known)
        self._seats.count(seat)
        return taste

    def ledger(self, account: str) -> Ledger:
        """Return what a listener's log says, up to this moment."""
        with self._seats.taken(account) as seat:
            return self._stands(seat).ledger

    # ── Catching up ──────────────────────────────────────────────────────────────────────

    def _asked(
        self,
        account: str,
        ask: Callable[[ListenerRecommender, ListenerSettings], list[Chosen]],
        *,
        only_quick: bool,
    ) -> list[Offer]:
        with self._seats.taken(account) as seat:
            model, settings = self._caught_up(seat, only_quick=only_quick)
            projection = model.shelf.projection
            offers = offered(self.store, model, lambda: ask(model, settings), projection)
            is_worn = model.is_worn and not _is_ready(seat, model)
        if is_worn:
            self._preparing.soon(account)
        return offers

    def _caught_up(
        self, seat: Seat, *, only_quick: bool
    ) -> tuple[ListenerRecommender, ListenerSettings]:
        """Return the listener's model as of this moment's log, library and settings."""
        standing = self._stands(seat)
        algorithm = algorithm_named(standing.settings.algorithm)
        if only_quick and not algorithm.is_quick:
            msg = f"the algorithm must be a quick one here, got {algorithm.name}"
            raise TakesLongError(msg)
        model = caught_up(seat, standing, self._catalogue)
        seat.keep(model)
        return model, standing.settings

    def _stands(self, seat: Seat) -> Standing:
        return stands(self.store, seat, lambda work, order: self.write(work, order=order))

    def _prepare(self, account: str) -> None:
        """Make a listener's model ready for more answers, while nobody waits for it."""
        seat = self._seats.seated(account)
        model = None if seat is None else seat.model
        if seat is None or model is None or _is_ready(seat, model):
            return
        prepared = model.prepared()  # a value from a value: nobody is kept from the seat
        with seat.lock:
            if seat.model is not model:
                return  # it has gone on, and is looked at again after that
            seat.ready = Ready(model=model, prepared=prepared)
        self._seats.count(seat)


def _is_ready(seat: Seat, model: ListenerRecommender) -> bool:
    return seat.ready is not None and seat.ready.model is model


def _retracted(log: Iterable[Event]) -> set[int]:
    return {event.retracts for event in log if event.retracts is not None}

"""The radio: what a listener asks of it, and what a listener tells it.

    told ─ submit ─ log (on the disk before it is acknowledged)
                     │
    asked ─ next ─ catch up with the log ─ belief ─ choice ─ why

A listener's belief is a cache of the log: whoever asks for the next song reads the end of the
log first, so the answer always includes what was said before, also to another process.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from bandstand.errors import NotFoundError
from bandstand.radio.choice.choosing import Model
from bandstand.radio.choice.shelf import Shelf, load_shelf
from bandstand.radio.listener_settings import ListenerSettings, checked_changes, settings_from
from bandstand.radio.log import ledger_store
from bandstand.radio.offers import Offer, SongView
from bandstand.radio.reasons.why import explain
from bandstand.radio.seats import Seat, Seats
from bandstand.radio.sound import Sound, load_sound
from bandstand.store import accounts, events, songs
from bandstand.store.writer import GroupWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future
    from typing import Any

    from sqlalchemy import Connection

    from bandstand.audio.projection import Projection
    from bandstand.radio.choice.chosen import Chosen
    from bandstand.radio.choice.wishes import Wish
    from bandstand.radio.clock import Clock
    from bandstand.radio.log.ledger import Ledger
    from bandstand.radio.reasons.taste import Taste
    from bandstand.store.connection import Store
    from bandstand.store.events import Appended, Event, NewEvent
    from bandstand.store.songs import SongRecord

# A snapshot is written anew when so many events have come, or this part of all plays: reading
# fewer again takes a millisecond, and a long history is not written again for every few of them.
_SNAPSHOT_EVERY: Final = 64
_SNAPSHOT_PART: Final = 16

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Library:
    """What can be played, and how it sounds."""

    shelf: Shelf
    sound: Sound | None  # by the projection that the shelf's features were made with


def _loaded(store: Store) -> _Library:
    shelf, sound = load_shelf(store), load_sound(store)
    # A scan may have fitted another projection between the two; the next refresh brings it.
    if sound is not None and shelf.stamp.get("projection") != sound.version:
        sound = None
    return _Library(shelf=shelf, sound=sound)


class Radio:
    """All listeners' radio over one store; it may be shared by threads, until `close`."""

    def __init__(self, store: Store, *, clock: Clock, listener_cache_mb: int = 256) -> None:
        self.store: Final = store
        self.clock: Final = clock
        self._writer = GroupWriter(store)
        self._seats = Seats(listener_cache_mb * 1_000_000)
        self._refreshing = threading.Lock()
        self._library = _loaded(store)

    def close(self) -> None:
        """Write what is waiting, then stop writing; the store stays open."""
        self._writer.close()

    # ── The library ──────────────────────────────────────────────────────────────────────

    @property
    def shelf(self) -> Shelf:
        """The songs that can be played."""
        return self._library.shelf

    def refresh(self) -> None:
        """Take notice of songs that have come or gone; listeners find them at their next song."""
        with self._refreshing:
            self._library = _loaded(self.store)

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

    def next(self, account: str, *, after: Sequence[str] = (), wish: Wish | None = None) -> Offer:
        """Return the song to play now, or after those in `after`, which are about to be heard."""
        return self._asked(
            account,
            lambda model, settings: [
                model.choose(now=self.clock(), after=after, wish=wish, dial=settings.dial)
            ],
        )[0]

    def playlist(
        self,
        account: str,
        *,
        count: int,
        after: Sequence[str] = (),
        wish: Wish | None = None,
        is_wanted: Callable[[], bool] = lambda: True,
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
        )

    def view(self, account: str, song: str) -> SongView:
        """Return how a song stands with a listener now."""
        with self.store.reading() as connection:
            record = songs.get(connection, song)
        if record is None:
            msg = f"there must be a song with that id, got {song!r}"
            raise NotFoundError(msg)
        with self._seats.taken(account) as seat:
            model, _ = self._caught_up(seat)
            glimpse = model.glimpse(song, now=self.clock())
            return SongView(
                song=record,
                expected=glimpse.expected,
                standard_deviation=glimpse.standard_deviation,
                novelty=glimpse.novelty,
                heard_at=model.ledger.last_heard.get(song),
                seq=model.ledger.seq,
            )

    def expected(self, account: str) -> dict[str, float | None]:
        """Return what a listener should give each song that may be played now, in stars."""
        with self._seats.taken(account) as seat:
            model, _ = self._caught_up(seat)
            return model.expected(now=self.clock())

    def taste(self, account: str) -> Taste:
        """Return what has been learnt about a listener."""
        # Imported here: only this page needs it.
        from bandstand.radio.reasons.taste import taste_of  # noqa: PLC0415

        with self._seats.taken(account) as seat:
            model, _ = self._caught_up(seat)
            known = seat.known
        # Outside the seat: it takes a while, and all of it is values.
        return taste_of(model, self._projection(model), known=known)

    def ledger(self, account: str) -> Ledger:
        """Return what a listener's log says, up to this moment."""
        with self._seats.taken(account) as seat:
            ledger, _ = self._read(seat)
            return ledger

    # ── Catching up ──────────────────────────────────────────────────────────────────────

    def _asked(
        self, account: str, ask: Callable[[Model, ListenerSettings], list[Chosen]]
    ) -> list[Offer]:
        with self._seats.taken(account) as seat:
            model, settings = self._caught_up(seat)
            chosen = ask(model, settings)
            records = self._records(choice.song for choice in chosen)
            return [self._offer(model, choice, records[choice.song]) for choice in chosen]

    def _offer(self, model: Model, chosen: Chosen, record: SongRecord) -> Offer:
        return Offer(
            song=record,
            why=explain(model, chosen, self._projection(model)),
            how=chosen.how,
            note=chosen.note or None,
            step=chosen.step,
            seq=model.ledger.seq,
            at=chosen.at,
        )

    def _projection(self, model: Model) -> Projection | None:
        """Return what the model's features were made with, unless the library has moved on."""
        library = self._library
        if library.sound is None or library.shelf is not model.shelf:
            return None
        return library.sound.projection

    def _records(self, ids: Iterable[str]) -> dict[str, SongRecord]:
        with self.store.reading() as connection:
            found = {song: songs.get(connection, song) for song in ids}
        return {song: record for song, record in found.items() if record is not None}

    def _caught_up(self, seat: Seat) -> tuple[Model, ListenerSettings]:
        """Return the listener's model as of this moment's log, library and settings."""
        ledger, account = self._read(seat)
        library, settings = self._library, account.settings
        model = seat.model
        wanted = (settings.algorithm, settings.intercept)
        if model is not None and model.shelf is library.shelf and model.made_for == wanted:
            model = model.follow(ledger)
        else:
            model = Model.begin(
                library.shelf,
                ledger,
                algorithm=settings.algorithm,
                intercept=settings.intercept,
                seed=account.seed,
                features_of=_features_of(library.sound),
            )
        seat.model = model
        return model, settings

    def _read(self, seat: Seat) -> tuple[Ledger, _Account]:
        """Return what the listener's log says now, and how the radio is wanted."""
        with self.store.reading() as connection:
            account = accounts.get(connection, seat.account)
            if account is None:
                msg = "there must be an account with that id, got one that is gone"
                raise NotFoundError(msg)
            settings = settings_from(accounts.settings(connection, seat.account))
            ledger = self._followed(connection, seat)
        seat.ledger = ledger
        self._keep(seat, ledger)
        return ledger, _Account(seed=account.seed, settings=settings)

    def _followed(self, connection: Connection, seat: Seat) -> Ledger:
        """Return the seat's ledger, or else the snapshot's, with the end of the log."""
        if seat.ledger is not None:
            return ledger_store.caught_up(connection, seat.account, seat.ledger)
        ledger, seat.saved = ledger_store.opened(connection, seat.account)
        return ledger

    def _keep(self, seat: Seat, ledger: Ledger) -> None:
        """Let a snapshot be written now and then; nobody waits for it."""
        if ledger.seq - seat.saved >= max(_SNAPSHOT_EVERY, len(ledger.plays) // _SNAPSHOT_PART):
            account, seat.saved = seat.account, ledger.seq
            self.write(
                lambda connection: ledger_store.save(connection, account, ledger), order=account
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    seed: int
    settings: ListenerSettings


def _features_of(sound: Sound | None) -> Callable[[Sequence[str]], Mapping[str, Any]]:
    return (lambda _: {}) if sound is None else sound.features


def _retracted(log: Iterable[Event]) -> set[int]:
    return {event.retracts for event in log if event.retracts is not None}

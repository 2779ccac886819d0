"""Bringing what is kept of a listener up to date: with the log, the settings and the library.

    seat's ledger, or else a snapshot's ─ end of the log ─ ledger
    seat's model, if it is of any use ─ ledger ─ model

A snapshot of the ledger is written now and then, so that nobody reads a long log twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import NotFoundError
from bandstand.radio.listener_settings import ListenerSettings, settings_from
from bandstand.radio.log import snapshots as ledger_store
from bandstand.radio.selection.listener_recommender import ListenerRecommender
from bandstand.store import accounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.listener_cache import Seat
    from bandstand.radio.log.fold import Ledger
    from bandstand.store.database.connection import Store

# A snapshot is written anew when so many events have come, or this part of all plays: reading
# fewer again takes a millisecond, and a long history is not written again for every few of them.
_SNAPSHOT_EVERY: Final = 64
_SNAPSHOT_PART: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a listener's log says now, and how the radio is wanted."""

    ledger: Ledger
    settings: ListenerSettings
    seed: int


def stands(
    store: Store, seat: Seat, write: Callable[[Callable[[Connection], Any], str], object]
) -> Standing:
    """Return where a listener stands; `write` is for snapshots, which nobody waits for."""
    with store.reading() as connection:
        account = accounts.get(connection, seat.account)
        if account is None:
            msg = "there must be an account with that id, got one that is gone"
            raise NotFoundError(msg)
        settings = settings_from(accounts.settings(connection, seat.account))
        ledger = _followed(connection, seat)
    seat.ledger = ledger
    if _is_time_for_a_snapshot(ledger, seat.saved):
        seat.saved = ledger.seq
        write(lambda connection: ledger_store.save(connection, account.id, ledger), account.id)
    return Standing(ledger=ledger, settings=settings, seed=account.seed)


def caught_up(seat: Seat, standing: Standing, catalogue: Catalogue) -> ListenerRecommender:
    """Return a listener's model as of now, by way of an earlier one where that is of use."""
    model, settings, found = _latest(seat, standing.ledger), standing.settings, None
    if model is not None and model.made_for == (settings.algorithm, settings.intercept):
        found = _carried_over(model, standing.ledger, catalogue)
    if found is not None:
        return found
    return ListenerRecommender.begin(
        catalogue,
        standing.ledger,
        algorithm=settings.algorithm,
        intercept=settings.intercept,
        seed=standing.seed,
        features_of=catalogue.features_of,
    )


def bring_along(seat: Seat, catalogue: Catalogue) -> None:
    """Move the model of a listener, who may be quiet for long, to the songs of today.

    Otherwise each listener who asks no more would keep alive the shelf that they last asked.
    """
    with seat.lock:  # waits for whoever began with the shelf before
        model = seat.model
    if model is None or model.shelf is catalogue:
        return
    moved = model.moved(catalogue, model.ledger, catalogue.features_of)  # a value from a value
    with seat.lock:
        if seat.model is model:
            seat.keep(moved)  # None where it begins anew, which is done when they ask again


def _latest(seat: Seat, ledger: Ledger) -> ListenerRecommender | None:
    """Return the model that is kept, made ready for more answers where some have come.

    Not before: whoever asks twice is told the same, to the last digit.
    """
    model, ready = seat.model, seat.ready
    if model is None or ledger is model.ledger:
        return model
    seat.ready = None
    return (ready.prepared or model) if ready is not None and ready.model is model else model


def _carried_over(
    model: ListenerRecommender, ledger: Ledger, catalogue: Catalogue
) -> ListenerRecommender | None:
    if model.shelf is catalogue:
        return model.follow(ledger)
    return model.moved(catalogue, ledger, catalogue.features_of)


def _followed(connection: Connection, seat: Seat) -> Ledger:
    """Return the seat's ledger, or else the snapshot's, with the end of the log."""
    if seat.ledger is not None:
        return ledger_store.caught_up(connection, seat.account, seat.ledger)
    ledger, seat.saved = ledger_store.opened(connection, seat.account)
    return ledger


def _is_time_for_a_snapshot(ledger: Ledger, saved: int) -> bool:
    return ledger.seq - saved >= max(_SNAPSHOT_EVERY, len(ledger.plays) // _SNAPSHOT_PART)

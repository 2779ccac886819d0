"""What the radio answers: the song to play now and why, or how a song stands with a listener.

A shelf is as old as the last look at the library. So what is chosen from it is looked up in the
store before it is offered; what has left the library meanwhile is chosen no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand.errors import NotFoundError
from bandstand.radio.explain.why import explain
from bandstand.store.songs import changes as song_changes
from bandstand.store.songs import files, songs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bandstand.music.audio.projection import Projection
    from bandstand.radio.explain.why import Why
    from bandstand.radio.selection.chosen import Chosen
    from bandstand.radio.selection.listener_recommender import ListenerRecommender
    from bandstand.store.database.connection import Store
    from bandstand.store.songs.songs import SongRecord

# The second choice knows of all songs that have left; more go meanwhile only while a scan ends.
_CHOICES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A song that is to be played."""

    song: SongRecord
    why: Why
    how: str  # "model", "random" or "wish"
    note: str | None  # why it was drawn at random, where it was
    step: int  # the number of this recommendation, counted from 1
    seq: int  # the last event of the listener's log that it takes into account
    at: int  # when it begins, if all songs before it are played: UTC, in milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SongView:
    """How a song stands with a listener now; what is not known is None."""

    song: SongRecord
    expected: float | None  # stars
    standard_deviation: float | None  # of what is believed, in stars
    novelty: float | None  # from 0, just heard, to 1, quite fresh
    heard_at: int | None  # UTC, in milliseconds
    seq: int  # the last event of the listener's log that this takes into account


def offered(
    store: Store,
    model: ListenerRecommender,
    choose: Callable[[], list[Chosen]],
    projection: Projection | None,
) -> list[Offer]:
    """Return what `choose` has chosen by a model, once all of it can be played."""
    for _ in range(_CHOICES):
        chosen = choose()
        records = _records(store, {choice.song for choice in chosen})
        lost = [choice.song for choice in chosen if choice.song not in records]
        if not lost:
            return [_offer(model, it, records[it.song], projection) for it in chosen]
        with store.reading() as connection:
            left = files.gone(connection, song_changes.since_note(model.shelf.changes))
        model.leeway.lose([*left, *lost])
    msg = "nothing may be played: songs are leaving the library just now; try again"
    raise NotFoundError(msg)


def _records(store: Store, ids: Iterable[str]) -> dict[str, SongRecord]:
    """Return what is known of those of some songs that can be played."""
    with store.reading() as connection:
        found = {song: songs.get(connection, song) for song in ids}
    return {song: it for song, it in found.items() if it is not None and it.is_present}


def _offer(
    model: ListenerRecommender, chosen: Chosen, record: SongRecord, projection: Projection | None
) -> Offer:
    return Offer(
        song=record,
        why=explain(model, chosen, projection),
        how=chosen.how,
        note=chosen.note or None,
        step=chosen.step,
        seq=model.ledger.seq,
        at=chosen.at,
    )

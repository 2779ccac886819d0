"""Writes a store, or what one account has, as lines of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, or_, select

from bandstand.store import accounts
from bandstand.store.database.queries import in_order
from bandstand.store.database.schema import (
    ACCOUNT,
    EVENT,
    FILE,
    PLAYLIST,
    PLAYLIST_SONG,
    PROJECTION,
    SCAN,
    SONG,
    STUDY,
    STUDY_ARM,
    STUDY_PARTICIPANT,
    STUDY_SONG,
)
from bandstand.store.transfer.jsonl import entries
from bandstand.store.transfer.jsonl.lines import ONE_ACCOUNT, WHOLE, header, spell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import Connection, RowMapping, Select

    from bandstand.store.database.connection import Store

# A participant must not learn which algorithm plays. Its name, seed and response time reveal it.
# So do the study's id and the participant's number, from which the order of the arms follows.
_REVEALING: Final = {
    "study": True,
    "number": True,
    "arms": {"__all__": {"algorithm": True, "seed": True, "songs": {"__all__": {"choose_ms"}}}},
}


def export_lines(store: Store, *, account: str | None = None) -> Iterator[str]:
    """Yield the lines of an export of a store, or of what an account has, as of one moment.

    Raises NotFoundError where there is no such account.
    """
    if account is None:
        with store.reading(limit=None) as connection:
            yield from spell(_whole(connection))
        return
    # One account's lines are few, and a slow reader of them must not hold up the store.
    with store.reading() as connection:
        accounts.existing(connection, account)
        lines = list(spell(_of_account(connection, account)))
    yield from lines


def _whole(connection: Connection) -> Iterator[dict[str, Any]]:
    yield header(WHOLE)
    for row in in_order(connection, select(SCAN), SCAN.c.number):
        yield _line("scan", row)
    for row in in_order(connection, select(PROJECTION), PROJECTION.c.version, page=10):
        yield _line("projection", row)
    joined = select(SONG, *(c for c in FILE.c if c.name not in SONG.c))
    for row in in_order(connection, joined.join(FILE, FILE.c.song_id == SONG.c.id), SONG.c.id):
        yield _line("song", row, tags=entries.SongTags.of(row), file=entries.File.of(row))
    unreadable = select(FILE).where(FILE.c.song_id.is_(None))
    for row in in_order(connection, unreadable, FILE.c.path):
        yield _line("file", row)
    for row in in_order(connection, select(STUDY), STUDY.c.id, page=1):
        yield _line("study", row)
    for row in in_order(connection, select(ACCOUNT), ACCOUNT.c.id):
        yield from _account(connection, row)
        for one in _participations(connection, row["id"]):
            yield _line("participation", one, arms=_arms(connection, one))


def _of_account(connection: Connection, account: str) -> Iterator[dict[str, Any]]:
    yield header(ONE_ACCOUNT)
    known = or_(*(SONG.c.id.in_(ids) for ids in _known_songs(account)))
    for row in in_order(connection, select(SONG).where(known), SONG.c.id):
        song = entries.Song.of(row, tags=entries.SongTags.of(row))
        yield {"type": "song", **song.written(include={"id", "tags", "duration"})}
    row = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == account)).mappings().one()
    yield from _account(connection, row)
    for one in _participations(connection, account):
        # A song that is not rated yet is left out: it would reveal when it was chosen.
        arms = _arms(connection, one, is_rated=True)
        own = entries.Participation.of(one, arms=arms).written(exclude=_REVEALING)
        yield {"type": "participation", "title": one["title"], **own}


def _known_songs(account: str) -> Iterator[Select[Any]]:
    """Yield selections of the songs that an account has heard, banned, saved or rated."""
    own = EVENT.c.account_id == account
    yield select(EVENT.c.song_id).where(own)
    yield select(EVENT.c.target).where(own, EVENT.c.scope == "song")
    saved = select(PLAYLIST_SONG.c.song_id).join(PLAYLIST)
    yield saved.where(PLAYLIST.c.account_id == account)
    offered = select(STUDY_SONG.c.song_id).join(STUDY_ARM)
    yield offered.where(STUDY_ARM.c.account_id == account, STUDY_SONG.c.stars.is_not(None))


def _account(connection: Connection, row: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    yield _line("account", row)
    own = select(EVENT).where(EVENT.c.account_id == row["id"])
    for event in in_order(connection, own, EVENT.c.seq):
        yield _line("event", event)
    theirs = select(PLAYLIST).where(PLAYLIST.c.account_id == row["id"])
    for playlist in _rows(connection, theirs.order_by(PLAYLIST.c.created_at, PLAYLIST.c.id)):
        inside = select(PLAYLIST_SONG.c.song_id).order_by(PLAYLIST_SONG.c.position)
        songs = connection.scalars(inside.where(PLAYLIST_SONG.c.playlist_id == playlist["id"]))
        yield _line("playlist", playlist, songs=list(songs))


def _participations(connection: Connection, account: str) -> Iterable[RowMapping]:
    """Return an account in each study, with its title, in the order in which they were opened."""
    joined = select(STUDY_PARTICIPANT, STUDY.c.title).join(STUDY)
    theirs = joined.where(STUDY_PARTICIPANT.c.account_id == account)
    return _rows(connection, theirs.order_by(STUDY.c.created_at, STUDY.c.id))


def _arms(
    connection: Connection, participant: RowMapping, *, is_rated: bool = False
) -> list[entries.Arm]:
    """Return the arms of a participant with their songs, or with those that are rated."""
    keys = (STUDY_ARM.c.study_id, STUDY_ARM.c.account_id)
    own = and_(*(key == participant[key.name] for key in keys))
    arms = []
    for arm in _rows(connection, select(STUDY_ARM).where(own).order_by(STUDY_ARM.c.place)):
        offered = select(STUDY_SONG).where(STUDY_SONG.c.arm_id == arm["id"])
        if is_rated:
            offered = offered.where(STUDY_SONG.c.rated_at.is_not(None))
        rows = _rows(connection, offered.order_by(STUDY_SONG.c.number))
        arms.append(entries.Arm.of(arm, songs=[entries.StudySong.of(song) for song in rows]))
    return arms


def _rows(connection: Connection, statement: Select[Any]) -> Iterable[RowMapping]:
    return connection.execute(statement).mappings().all()


def _line(kind: str, row: Mapping[Any, Any], **parts: Any) -> dict[str, Any]:
    return {"type": kind, **entries.ENTRIES[kind].of(row, **parts).written()}

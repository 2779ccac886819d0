"""What happens in an arm of a study: it is begun, songs are offered one by one, each is rated.

The next song can be offered when the one before is rated, and a rating is never changed. Both
hold whichever process asks: whoever is second gets a ConflictError, and can read what is there.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, insert, select, update

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError
from bandstand.store.database.schema import SONG, STUDY, STUDY_ARM, STUDY_SONG
from bandstand.store.events.values import checked_id
from bandstand.store.songs.songs import is_storable
from bandstand.store.study_participants import claim, participants
from bandstand.store.study_reading import ARMS, arm_of, is_closed, song_of
from bandstand.store.values import checked_integer, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from bandstand.store.study_values import ArmRow, ParticipantRow, SongRow


def arms(connection: Connection, study: str, account: str) -> list[ArmRow]:
    """Return the arms of a participant in their order; none before they have joined."""
    if not (is_storable(study) and is_storable(account)):
        return []
    own = ARMS.where(STUDY_ARM.c.study_id == study, STUDY_ARM.c.account_id == account)
    rows = connection.execute(own.order_by(STUDY_ARM.c.place)).mappings()
    return [arm_of(row) for row in rows]


def arm_by_id(connection: Connection, arm: str) -> ArmRow | None:
    """Return an arm, whoever has it; None where there is none."""
    if not is_storable(arm):
        return None
    row = connection.execute(ARMS.where(STUDY_ARM.c.id == arm)).mappings().one_or_none()
    return None if row is None else arm_of(row)


def songs_of(connection: Connection, arm: str) -> list[SongRow]:
    """Return what was offered in an arm, in order."""
    if not is_storable(arm):
        return []
    wanted = select(STUDY_SONG).where(STUDY_SONG.c.arm_id == arm).order_by(STUDY_SONG.c.number)
    return [song_of(row) for row in connection.execute(wanted).mappings()]


def rows(
    connection: Connection, study: str
) -> Iterator[tuple[ParticipantRow, ArmRow, list[SongRow]]]:
    """Yield every arm of a study with its participant and its songs, by number and place."""
    for one in participants(connection, study):
        for arm in arms(connection, study, one.account):
            yield one, arm, songs_of(connection, arm.id)


def begin(connection: Connection, arm: str, now: int) -> None:
    """Note that an arm was begun; ConflictError if it was before, or the study is closed."""
    checked_integer(now, "now")
    if _claimed(connection, arm).begun_at is not None:
        msg = "an arm that is not begun was expected, got one that is"
        raise ConflictError(msg)
    connection.execute(update(STUDY_ARM).where(STUDY_ARM.c.id == arm).values(begun_at=now))


def offer(
    connection: Connection, arm: str, *, number: int, song: str, choose_ms: int, now: int
) -> None:
    """Put the song that an arm plays as its `number`-th.

    Raises ConflictError where there is one with that number, the one before is not rated, the arm
    is not begun or the study closed; NotFoundError where there is no such arm or song.
    """
    row = {
        "arm_id": arm,
        "number": checked_integer(number, "number", least=1),
        "song_id": checked_id(song, "song"),
        "offered_at": checked_integer(now, "now"),
        "choose_ms": checked_integer(choose_ms, "choose_ms", least=0),
    }
    if _claimed(connection, arm).begun_at is None:
        msg = "an arm that is begun was expected, got one that is not"
        raise ConflictError(msg)
    _check_next(connection, arm, number)
    _check_song(connection, song)
    connection.execute(insert(STUDY_SONG).values(row))


def offer_instead(
    connection: Connection,
    arm: str,
    *,
    number: int,
    instead_of: str,
    song: str,
    choose_ms: int,
    now: int,
) -> None:
    """Put another song in place of `instead_of`, offered as the `number`-th and not rated yet.

    For a song whose file has gone meanwhile. Raises ConflictError where that number has another
    song, is rated, or the study is closed; NotFoundError where there is no such arm or song.
    """
    values = {
        "song_id": checked_id(song, "song"),
        "offered_at": checked_integer(now, "now"),
        "choose_ms": checked_integer(choose_ms, "choose_ms", least=0),
    }
    checked_integer(number, "number", least=1)
    _claimed(connection, arm)
    _check_song(connection, song)
    offered = and_(
        STUDY_SONG.c.arm_id == arm,
        STUDY_SONG.c.number == number,
        STUDY_SONG.c.song_id == checked_id(instead_of, "instead_of"),
        STUDY_SONG.c.stars.is_(None),
    )
    if connection.execute(update(STUDY_SONG).where(offered).values(values)).rowcount == 0:
        msg = f"song {instead_of} must be waiting as number {number} to be replaced, got another"
        raise ConflictError(msg)


def rate(
    connection: Connection,
    arm: str,
    *,
    number: int,
    stars: int,
    known: bool,
    played_ms: int | None,
    now: int,
) -> None:
    """Rate the song that an arm played as its `number`-th.

    Raises ConflictError where it is rated already, whatever the stars, or the study is closed;
    NotFoundError where there is no such arm or number.
    """
    if type(known) is not bool:
        msg = f"known must be true or false, got {shown(known)}"
        raise InvalidInputError(msg)
    said: dict[str, Any] = {
        "stars": checked_integer(stars, "stars", least=1, most=5),
        "known": known,
        "played_ms": None
        if played_ms is None
        else checked_integer(played_ms, "played_ms", least=0),
        "rated_at": checked_integer(now, "now"),
    }
    checked_integer(number, "number", least=1)
    _claimed(connection, arm)
    offered = and_(STUDY_SONG.c.arm_id == arm, STUDY_SONG.c.number == number)
    unrated = STUDY_SONG.c.stars.is_(None)
    if connection.execute(update(STUDY_SONG).where(offered, unrated).values(said)).rowcount == 0:
        _check_offered(connection, arm, number)
        msg = f"a song that is not rated was expected, got number {number}, which is"
        raise ConflictError(msg)


class _Claimed(NamedTuple):
    begun_at: int | None


def _claimed(connection: Connection, arm: str) -> _Claimed:
    """Wait until no other transaction changes what the arm's participant does; say what is true."""
    row = None
    if is_storable(arm):
        # Whose it is never changes, and nobody changes the arm without a claim to them.
        owned = select(STUDY_ARM.c.study_id, STUDY_ARM.c.account_id).where(STUDY_ARM.c.id == arm)
        for owner in connection.execute(owned).all():
            with suppress(NotFoundError):  # the arm has gone with them
                claim(connection, owner.study_id, owner.account_id)
        # Asked again: they, or the study's end, may have changed while we waited.
        joined = select(STUDY_ARM.c.begun_at, STUDY.c.closed_at).join(
            STUDY, STUDY.c.id == STUDY_ARM.c.study_id
        )
        row = connection.execute(joined.where(STUDY_ARM.c.id == arm)).one_or_none()
    if row is None:
        msg = "an arm that exists was expected, got another id"
        raise NotFoundError(msg)
    if row.closed_at is not None:
        raise is_closed()
    return _Claimed(begun_at=row.begun_at)


def _check_next(connection: Connection, arm: str, number: int) -> None:
    """Refuse a number that is not the one after the last song, which must be rated."""
    last = (
        select(STUDY_SONG.c.number, STUDY_SONG.c.stars)
        .where(STUDY_SONG.c.arm_id == arm)
        .order_by(STUDY_SONG.c.number.desc())
        .limit(1)
    )
    row = connection.execute(last).one_or_none()
    if row is not None and row.stars is None:
        msg = f"song {row.number} must be rated before the next one is offered, got none"
        raise ConflictError(msg)
    expected = 1 if row is None else row.number + 1
    if number != expected:
        msg = f"the next song must have the number {expected}, got {number}"
        raise ConflictError(msg)


def _check_song(connection: Connection, song: str) -> None:
    if connection.scalar(select(SONG.c.id).where(SONG.c.id == song)) is None:
        msg = f"song must be one of this store, got {song}"
        raise NotFoundError(msg)


def _check_offered(connection: Connection, arm: str, number: int) -> None:
    offered = and_(STUDY_SONG.c.arm_id == arm, STUDY_SONG.c.number == number)
    if connection.scalar(select(STUDY_SONG.c.number).where(offered)) is None:
        msg = f"a song that was offered was expected, got number {number}"
        raise NotFoundError(msg)

"""Studies: people compare algorithms on the same songs, without knowing which one plays.

    study         what was agreed, and the songs as they were at its opening; at most one is open
    participant   an account that takes part, or is invited to
    arm           one algorithm for one participant, at one place of their order
    song          what was offered in an arm, and then rated: 1, 2, 3, … without a gap

Changes of one participant are serialised, also between processes. A change that does not fit the
present state raises ConflictError and changes nothing: an arm is begun once, the next song is
offered when the one before is rated, and a rating is never changed. A participant who withdraws is
erased, and the number is free again.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import and_, func, insert, select, text, update
from sqlalchemy import delete as delete_from

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError
from bandstand.store import accounts
from bandstand.store.database.schema import (
    ACCOUNT,
    SONG,
    STUDY,
    STUDY_ARM,
    STUDY_PARTICIPANT,
    STUDY_SONG,
    checked_id,
    checked_integer,
    checked_short_text,
    checked_text,
    json_to_text,
    shown,
)
from bandstand.store.database.secure_erase import request_erase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _typeshed import DataclassInstance
    from sqlalchemy import ColumnElement, Connection, Select, Table


Value = TypeVar("Value", bound="DataclassInstance")

MAX_TITLE_CHARS: Final = 200
MAX_ALGORITHM_CHARS: Final = 100
_MAX_DESIGN_CHARS: Final = 1_000_000
_NO_STUDY: Final = "a study that exists was expected, got another id"
_IS_CLOSED: Final = "a study that is open was expected, got one that is closed"
_NO_PARTICIPANT: Final = "a participant of the study was expected, got an account that is none"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRow:
    """A study: what was agreed, and the songs as they were when it was opened."""

    id: str
    title: str
    design: dict[str, Any]
    catalogue: bytes  # its meaning is its writer's business
    created_at: int  # UTC, in milliseconds, as all times
    closed_at: int | None  # None while it is open


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantRow:
    """A participant, invited or joined."""

    study: str
    account: str
    number: int  # 1, 2, 3, …: which order of the algorithms is theirs
    made_for_study: bool  # the account goes when they withdraw
    invited_at: int
    joined_at: int | None  # when they agreed; None until then


@dataclass(frozen=True, slots=True, kw_only=True)
class NewArm:
    """One algorithm of a new participant, and its place."""

    place: int  # 1, 2, 3, … in the participant's own order
    algorithm: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRow:
    """The song of an arm that was offered and is not rated yet."""

    number: int
    song: str
    offered_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRow:
    """One arm of a participant, and how far it has come."""

    id: str
    study: str
    account: str
    place: int
    algorithm: str
    seed: int
    begun_at: int | None
    rated: int  # how many songs
    last_rated_at: int | None
    pending: PendingRow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SongRow:
    """One song of an arm; what its rating says is None until it is rated."""

    number: int  # 1, 2, 3, … in its arm
    song: str
    offered_at: int
    choose_ms: int  # how long the choice took
    stars: int | None
    known: bool | None  # "I know this song"
    played_ms: int | None  # None also where the page did not say
    rated_at: int | None


_COLUMN_OF: Final = {"study": "study_id", "account": "account_id", "song": "song_id"}
_OF_ARM: Final = STUDY_SONG.c.arm_id == STUDY_ARM.c.id
_RATED: Final = select(func.count(STUDY_SONG.c.stars)).where(_OF_ARM).scalar_subquery()
_LAST_RATED_AT: Final = select(func.max(STUDY_SONG.c.rated_at)).where(_OF_ARM).scalar_subquery()
_IS_UNRATED: Final = STUDY_SONG.c.stars.is_(None)
_PENDING: Final = STUDY_SONG.alias("pending")
# The columns of an `ArmRow`, for `_arm`.
_ARMS: Final = select(
    STUDY_ARM,
    _RATED.label("rated"),
    _LAST_RATED_AT.label("last_rated_at"),
    _PENDING.c.number.label("pending_number"),
    _PENDING.c.song_id.label("pending_song"),
    _PENDING.c.offered_at.label("pending_offered_at"),
).outerjoin(_PENDING, and_(_PENDING.c.arm_id == STUDY_ARM.c.id, _PENDING.c.stars.is_(None)))


_IS_OPEN: Final = STUDY.c.closed_at.is_(None)


def get(connection: Connection, study: str) -> StudyRow | None:
    """Return the study with an id; None where there is none."""
    return _one_study(connection, STUDY.c.id == study)


def _claim_open(connection: Connection, study: str) -> None:
    """Wait until no other transaction joins or closes a study, until this one ends.

    Raises NotFoundError where there is no such study, ConflictError for one that is closed.
    """
    wanted = select(STUDY.c.closed_at).where(STUDY.c.id == study)
    row = connection.execute(wanted.with_for_update(key_share=True)).one_or_none()
    if row is None:
        raise NotFoundError(_NO_STUDY)
    if row.closed_at is not None:
        raise ConflictError(_IS_CLOSED)


def _value(kind: type[Value], row: Mapping[Any, Any], **more: Any) -> Value:
    """Return a row as a value of a kind; `more` are fields that are no columns."""
    names = (field.name for field in fields(kind) if field.name not in more)
    return kind(**{name: row[_COLUMN_OF.get(name, name)] for name in names}, **more)


def _values(connection: Connection, kind: type[Value], statement: Select[Any]) -> list[Value]:
    return [_value(kind, row) for row in connection.execute(statement).mappings()]


def _columns(value: ParticipantRow | StudyRow, **more: Any) -> dict[str, Any]:
    return {_COLUMN_OF.get(name, name): it for name, it in asdict(value).items()} | more


def _study(row: Mapping[Any, Any]) -> StudyRow:
    return _value(StudyRow, row, design=json.loads(row["design"]))


def _one_study(connection: Connection, which: ColumnElement[bool]) -> StudyRow | None:
    row = connection.execute(select(STUDY).where(which)).mappings().one_or_none()
    return None if row is None else _study(row)


def _arm(row: Mapping[Any, Any]) -> ArmRow:
    """Return the arm of a row of `_ARMS`."""
    pending = None
    if row["pending_number"] is not None:
        pending = PendingRow(
            **{name: row[f"pending_{name}"] for name in ("number", "song", "offered_at")}
        )
    return _value(ArmRow, row, pending=pending)


def create(
    connection: Connection, *, title: str, design: Mapping[str, Any], catalogue: bytes, now: int
) -> StudyRow:
    """Return a new study, which is open; ConflictError if one is, or the title is taken.

    What `design` and `catalogue` mean is their writer's business; neither is changed again.
    """
    if not isinstance(catalogue, bytes):
        msg = f"catalogue must be bytes, got {type(catalogue).__name__}"
        raise InvalidInputError(msg)
    study = StudyRow(
        id=secrets.token_hex(8),
        title=checked_title(title),
        design=json.loads(design_to_text(design)),
        catalogue=catalogue,
        created_at=checked_integer(now, "now"),
        closed_at=None,
    )
    if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
        connection.execute(text("LOCK TABLE study IN SHARE ROW EXCLUSIVE MODE"))
    other = connection.scalar(select(STUDY.c.title).where(_IS_OPEN))
    if other is not None:
        msg = f"at most one study can be open, got another: {other!r} is"
        raise ConflictError(msg)
    if by_title(connection, title) is not None:
        msg = f"a title that no study has was expected, got {title!r}, which is taken"
        raise ConflictError(msg)
    connection.execute(insert(STUDY).values(_columns(study, design=design_to_text(design))))
    return study


def open_id(connection: Connection) -> str | None:
    """Return the id of the study that is open; None if none is.

    Faster than `opened`: the catalogue, which may be large, is not read. Except for `closed_at` a
    study never changes, so that the caller can cache it.
    """
    return connection.scalar(select(STUDY.c.id).where(_IS_OPEN))


def opened(connection: Connection) -> StudyRow | None:
    """Return the study that is open, with its catalogue; None if none is."""
    return _one_study(connection, _IS_OPEN)


def by_title(connection: Connection, title: str) -> StudyRow | None:
    """Return the study with a title, open or closed; None where there is none."""
    return _one_study(connection, STUDY.c.title == title)


def all_studies(connection: Connection) -> list[StudyRow]:
    """Return all studies, in the order in which they were opened."""
    rows = connection.execute(select(STUDY).order_by(STUDY.c.created_at, STUDY.c.id)).mappings()
    return [_study(row) for row in rows]


def close(connection: Connection, study: str, now: int) -> None:
    """Close a study for joining, listening and rating; a closed one stays as it is."""
    is_it = STUDY.c.id == checked_text(study, "study")
    # A stronger lock than the update needs: it waits for the claims of participants.
    connection.execute(select(STUDY.c.id).where(is_it).with_for_update()).all()
    closing = update(STUDY).where(is_it, _IS_OPEN).values(closed_at=checked_integer(now, "now"))
    if connection.execute(closing).rowcount == 0 and get(connection, study) is None:
        raise NotFoundError(_NO_STUDY)


def checked_title(title: Any) -> str:
    """Return the title of a study, if it can be one."""
    clean = checked_short_text(title, "a study's title", most=MAX_TITLE_CHARS)
    if clean != clean.strip() or not clean.isprintable():
        msg = f"a study's title must fit on one line, without spaces around it, got {clean[:80]!r}"
        raise InvalidInputError(msg)
    return clean


def design_to_text(design: Mapping[str, Any]) -> str:
    """Return a design as one line of JSON, the same for equal designs."""
    return json_to_text(design, "a design", most=_MAX_DESIGN_CHARS)


def invite(
    connection: Connection, study: str, account: str, *, made_for_study: bool, number: int, now: int
) -> ParticipantRow:
    """Return an account as one that may join a study, under a number of its own.

    `made_for_study` says that the account is to go when they withdraw. Raises ConflictError where
    the account takes part already, the number is taken, or the study is closed.
    """
    row = _invited(study, account, number, now, made_for_study=made_for_study)
    _claim_open(connection, study)
    if participant(connection, study, account) is not None:
        name = accounts.existing(connection, account).name
        msg = f"an account that is not in the study was expected, got {name!r}, who is"
        raise ConflictError(msg)
    _insert(connection, row)
    return row


def join(
    connection: Connection,
    study: str,
    account: str,
    *,
    number: int,
    arms: Sequence[NewArm],
    now: int,
) -> ParticipantRow:
    """Return an account as one that has agreed to take part, with its arms, none of them begun.

    One that was invited keeps its number, and `number` must be that one. Raises ConflictError
    where they have joined already, the number is taken, or the study is closed.
    """
    joined = replace(_invited(study, account, number, now), joined_at=now)
    new = _checked_arms(arms)
    _claim_open(connection, study)
    before = participant(connection, study, account)
    if before is None:
        _insert(connection, joined)
    else:
        joined = _agreed(connection, before, number, now)
    owner = {"study_id": study, "account_id": account}
    rows = [{"id": secrets.token_hex(8), **owner, **values} for values in new]
    connection.execute(insert(STUDY_ARM), rows)
    return joined


def _invited(
    study: str, account: str, number: int, now: int, *, made_for_study: bool = False
) -> ParticipantRow:
    return ParticipantRow(
        study=study,
        account=account,
        number=checked_integer(number, "number", least=1),
        made_for_study=bool(made_for_study),
        invited_at=checked_integer(now, "now"),
        joined_at=None,
    )


def free_number(connection: Connection, study: str) -> int:
    """Return the smallest number that is free in an open study.

    It stays free until the transaction ends, which must be one that writes.
    """
    _claim_open(connection, study)
    taken = {one.number for one in participants(connection, study)}
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


def participant(connection: Connection, study: str, account: str) -> ParticipantRow | None:
    """Return an account as a participant of a study; None where it takes no part."""
    wanted = select(STUDY_PARTICIPANT).where(_is(study, account))
    return next(iter(_values(connection, ParticipantRow, wanted)), None)


def participants(connection: Connection, study: str) -> list[ParticipantRow]:
    """Return who takes part in a study, or is invited to, by number."""
    wanted = select(STUDY_PARTICIPANT).where(STUDY_PARTICIPANT.c.study_id == study)
    return _values(connection, ParticipantRow, wanted.order_by(STUDY_PARTICIPANT.c.number))


def of_account(connection: Connection, account: str) -> list[ParticipantRow]:
    """Return an account in each study that it is in, or invited to, as they were opened."""
    joined = select(STUDY_PARTICIPANT).join(STUDY)
    theirs = joined.where(STUDY_PARTICIPANT.c.account_id == account)
    return _values(connection, ParticipantRow, theirs.order_by(STUDY.c.created_at, STUDY.c.id))


def claim(connection: Connection, study: str, account: str) -> None:
    """Wait until no other transaction changes what a participant does, until this one ends.

    What is read after it stays true until then, and the study stays open. Raises NotFoundError
    where the account takes no part.
    """
    # The account before the participant, as every removal of an account takes them; otherwise
    # an event of theirs, later in this transaction, and the removal would wait for each other.
    _hold(connection, ACCOUNT, account)
    _hold(connection, STUDY, study)
    wanted = select(STUDY_PARTICIPANT.c.number).where(_is(study, account))
    if connection.scalar(wanted.with_for_update()) is None:
        raise NotFoundError(_NO_PARTICIPANT)


def withdraw(connection: Connection, study: str, account: str) -> bool:
    """Return whether a participant's account went too, as one that was made for the study does.

    The participant goes with arms and ratings, also from a study that is closed. An
    account that went leaves as `accounts.delete` says; the last admin's cannot go and stays. The
    rows are securely erased from a SQLite file when the transaction has ended.
    """
    before = participant(connection, study, account)
    if before is None:
        raise NotFoundError(_NO_PARTICIPANT)
    if before.made_for_study:
        with suppress(ConflictError):
            accounts.delete(connection, account)
            return True
    _hold(connection, ACCOUNT, account)
    connection.execute(delete_from(STUDY_PARTICIPANT).where(_is(study, account)))
    request_erase(connection)
    return False


def _agreed(
    connection: Connection, before: ParticipantRow, number: int, now: int
) -> ParticipantRow:
    if before.joined_at is not None:
        msg = "an account that has not joined the study was expected, got one that has"
        raise ConflictError(msg)
    if before.number != number:
        msg = f"the number {before.number} of the invitation was expected, got {number}"
        raise ConflictError(msg)
    chosen = _is(before.study, before.account)
    connection.execute(update(STUDY_PARTICIPANT).where(chosen).values(joined_at=now))
    return replace(before, joined_at=now)


def _insert(connection: Connection, row: ParticipantRow) -> None:
    """Put in a participant whose study is claimed; the account must exist, the number be free."""
    _hold(connection, ACCOUNT, row.account)
    accounts.existing(connection, row.account)
    if any(one.number == row.number for one in participants(connection, row.study)):
        msg = f"a number that is free was expected, got {row.number}, which is taken"
        raise ConflictError(msg)
    connection.execute(insert(STUDY_PARTICIPANT).values(_columns(row)))


def _hold(connection: Connection, table: Table, id_: str) -> None:
    """Lock an account against removal, or a study against closing, until the transaction ends."""
    wanted = select(table.c.id).where(table.c.id == id_)
    connection.execute(wanted.with_for_update(read=True, key_share=True)).all()


def _checked_arms(arms: Sequence[NewArm]) -> list[dict[str, Any]]:
    values = [
        {
            "place": checked_integer(arm.place, "place", least=0),
            "algorithm": checked_short_text(arm.algorithm, "algorithm", most=MAX_ALGORITHM_CHARS),
            "seed": checked_integer(arm.seed, "seed", least=0),
        }
        for arm in arms
    ]
    if not values or len({arm["place"] for arm in values}) < len(values):
        msg = f"arms must be some, each at a place of its own, got {len(values)}"
        raise InvalidInputError(msg)
    return values


def _is(study: str, account: str) -> ColumnElement[bool]:
    who = STUDY_PARTICIPANT.c
    return and_(who.study_id == study, who.account_id == account)


def arms(connection: Connection, study: str, account: str) -> list[ArmRow]:
    """Return the arms of a participant in their order; none before they have joined."""
    own = _ARMS.where(STUDY_ARM.c.study_id == study, STUDY_ARM.c.account_id == account)
    rows = connection.execute(own.order_by(STUDY_ARM.c.place)).mappings()
    return [_arm(row) for row in rows]


def arm_by_id(connection: Connection, arm: str) -> ArmRow | None:
    """Return the arm with an id; None where there is none."""
    row = connection.execute(_ARMS.where(STUDY_ARM.c.id == arm)).mappings().one_or_none()
    return None if row is None else _arm(row)


def songs_of(connection: Connection, arm: str) -> list[SongRow]:
    """Return what was offered in an arm, in order."""
    wanted = select(STUDY_SONG).where(STUDY_SONG.c.arm_id == arm)
    return _values(connection, SongRow, wanted.order_by(STUDY_SONG.c.number))


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
    if _claimed(connection, arm) is not None:
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
    if _claimed(connection, arm) is None:
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
    is_old = STUDY_SONG.c.song_id == checked_id(instead_of, "instead_of")
    offered = update(STUDY_SONG).where(_is_number(arm, number), is_old, _IS_UNRATED)
    if connection.execute(offered.values(values)).rowcount == 0:
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
        "played_ms": played_ms,
        "rated_at": checked_integer(now, "now"),
    }
    if played_ms is not None:
        checked_integer(played_ms, "played_ms", least=0)
    checked_integer(number, "number", least=1)
    _claimed(connection, arm)
    offered = _is_number(arm, number)
    rated = update(STUDY_SONG).where(offered, _IS_UNRATED).values(said)
    if connection.execute(rated).rowcount == 0:
        if connection.scalar(select(STUDY_SONG.c.number).where(offered)) is None:
            msg = f"a song that was offered was expected, got number {number}"
            raise NotFoundError(msg)
        msg = f"a song that is not rated was expected, got number {number}, which is"
        raise ConflictError(msg)


def _is_number(arm: str, number: int) -> ColumnElement[bool]:
    return and_(STUDY_SONG.c.arm_id == arm, STUDY_SONG.c.number == number)


def _claimed(connection: Connection, arm: str) -> int | None:
    """Wait until no other transaction changes the arm's participant; return when it was begun."""
    # The owner of an arm never changes, and every change of the arm claims the owner.
    owned = select(STUDY_ARM.c.study_id, STUDY_ARM.c.account_id).where(STUDY_ARM.c.id == arm)
    for owner in connection.execute(owned).all():
        with suppress(NotFoundError):  # the arm was deleted with them
            claim(connection, owner.study_id, owner.account_id)
    # Asked again: they, or the study's end, may have changed during the wait.
    joined = select(STUDY_ARM.c.begun_at, STUDY.c.closed_at).join(
        STUDY, STUDY.c.id == STUDY_ARM.c.study_id
    )
    row = connection.execute(joined.where(STUDY_ARM.c.id == arm)).one_or_none()
    if row is None:
        msg = "an arm that exists was expected, got another id"
        raise NotFoundError(msg)
    if row.closed_at is not None:
        raise ConflictError(_IS_CLOSED)
    begun_at: int | None = row.begun_at
    return begun_at


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

"""Queries about the open study, as the rules need them and as participants see it.

Nothing that participants see names an algorithm, a seed, a score or a reason, nor how long a
choice took.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import Final, Literal

from sqlalchemy import Connection

from bandstand.errors import BandstandError, NotFoundError, RefusedError, StudyUnreadableError
from bandstand.store import studies
from bandstand.store.songs import songs
from bandstand.store.songs.songs import SongRecord
from bandstand.store.studies import ArmRow, StudyRow
from bandstand.study.design import Design
from bandstand.study.protocol import (
    SECOND,
    ArmState,
    NextStep,
    PendingSong,
    may_rate_at,
    next_step,
    refusal,
)
from bandstand.study.records import SongSnapshot, from_bytes
from bandstand.study.study_store import design_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRules:
    """The rules of the study, as its participants read them."""

    parts: int
    ratings_per_arm: int
    listen_seconds: float
    rest_after: int
    rest_seconds: float
    arms_per_day: int
    gap_hours: float
    answer_seconds: float


_RULES: Final = frozenset(field.name for field in fields(StudyRules))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmView:
    """One part of the study, as its participant sees it."""

    id: str
    place: int  # from 1
    rated: int
    of: int
    state: Literal["ahead", "begun", "finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedSong:
    """A song that is to be heard and rated."""

    arm: str
    number: int  # from 1 within the arm
    song: SongRecord
    offered_at: int
    may_rate_at: int  # if it is not known
    rated: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The status of an account in the study that is open."""

    title: str
    consent: str
    facts: StudyRules
    now: int  # the server's time, as all times UTC in milliseconds
    joined: bool
    only: bool  # the account was made for the study
    # "consent" until they agreed; the others as in `study.protocol.NextStep`
    state: Literal["consent", "begin", "listen", "rest", "wait", "done"]
    place: int | None
    until: int | None
    why: str | None  # the rule that makes them wait, a code of `RefusedError`
    message: str | None  # the same as a sentence
    arms: tuple[ArmView, ...]
    pending: OfferedSong | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Whether an account is in the study that is open, or was in one if none is."""

    only: bool  # the account was made for a study
    joined: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of one participant, for the person who runs the study."""

    number: int
    joined_at: int | None  # None: invited, has not agreed yet
    arms_done: int
    arms: int
    ratings: int
    last_at: int | None  # when they last began a part or rated a song


_MAX_CORRECTIONS: Final = 10_000


class ClockCorrections:
    """Corrects moments that lie in the future because the clock was set back; for threads to share.

    All waits of a study are counted from moments in the store. After the server's clock was set
    back some of them lie ahead, and a wait would last as long as the clock went back. Their true
    time is unknown, but it was before they were first seen to lie ahead. They count from then on:
    a wait is never longer than its rule, and never shorter in real time.
    """

    def __init__(self, limit: int = _MAX_CORRECTIONS) -> None:
        self._limit: Final = limit
        self._seen: OrderedDict[Hashable, int] = OrderedDict()
        self._lock: Final = threading.Lock()

    def corrected(self, what: Hashable, moment: int, now: int, *, ahead: int = 0) -> int:
        """Return when `what` happened, which the store says was at `moment`.

        `ahead` is by how much it may lie ahead of `now` without an error of the clock.

        >>> moments = ClockCorrections()
        >>> moments.corrected("rated", 1_000, now=1_200)
        1000
        >>> moments.corrected("rated", 1_000, now=300), moments.corrected("rated", 1_000, now=450)
        (300, 300)
        """
        key = (what, moment)
        with self._lock:
            since = self._seen.get(key)
            if since is None and moment - now <= ahead:
                return moment
            # Should the clock go back once more, the waiting begins once more.
            since = now if since is None else min(since, now)
            self._seen[key] = since
            self._seen.move_to_end(key)
            while len(self._seen) > self._limit:
                self._seen.popitem(last=False)
        return since


# Beyond `answer_seconds`, by how much a song may lie ahead: clocks of two processes differ.
_CLOCK_SLACK: Final = SECOND


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenStudy:
    """The study that is open: nothing in it changes while it is."""

    id: str
    design: Design
    songs: SongSnapshot
    moments: ClockCorrections


class OpenStudyCache:
    """The study that is open, read once since its songs are many; for threads to share."""

    def __init__(self) -> None:
        self._known: OpenStudy | None = None
        self._moments: Final = ClockCorrections()

    def opened(self, connection: Connection) -> OpenStudy | None:
        """Return the study that is open as `connection` sees it; None if none is."""
        current = studies.open_id(connection)
        known = self._known
        if current is None or (known is not None and known.id == current):
            return known if current is not None else None
        try:
            known = self._read(studies.opened(connection))
        except (BandstandError, ValueError) as problem:
            msg = f"a study that can be read was expected, got {current}: {problem}"
            raise StudyUnreadableError(msg) from problem
        self._known = known
        return known

    def _read(self, row: StudyRow | None) -> OpenStudy | None:
        if row is None:
            return None
        return OpenStudy(
            id=row.id,
            design=design_of(row),
            songs=from_bytes(row.catalogue),
            moments=self._moments,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantArm:
    """An arm of a participant, among all of theirs."""

    study: OpenStudy
    row: ArmRow
    state: ArmState
    arms: tuple[ArmState, ...]


def participant_arm(
    connection: Connection, study: OpenStudy | None, account: str, arm: str, now: int
) -> ParticipantArm:
    """Return an account's arm of the study that is open, or refuse it.

    The arm of another participant is refused in the same words as one that does not exist.
    """
    if study is None:
        raise no_study()
    rows = studies.arms(connection, study.id, account)
    states = tuple(arm_state(study, row, now) for row in rows)
    for row, state in zip(rows, states, strict=True):
        if row.id == arm:
            return ParticipantArm(study=study, row=row, state=state, arms=states)
    before = studies.arm_by_id(connection, arm)
    if before is not None and before.account == account:
        raise no_study()
    if not rows:
        msg = "you must have agreed to take part before, got no consent"
        raise refusal(msg, code="no_consent")
    msg = "a part must be one of your own, got another"
    raise refusal(msg, code="not_yours")


def locked_arm(
    connection: Connection, study: OpenStudy, account: str, arm: str, now: int
) -> ParticipantArm:
    """Return an account's arm, locked until the transaction ends."""
    with suppress(NotFoundError):  # `participant_arm` refuses it
        studies.claim(connection, study.id, account)
    return participant_arm(connection, study, account, arm, now)


def no_study() -> RefusedError:
    """Return the error for a request while no study is open."""
    return refusal("the study must be open, got one that is closed", code="closed")


def arm_state(study: OpenStudy, row: ArmRow, now: int) -> ArmState:
    """Return an arm as the rules see it now; nothing in it lies ahead for longer than it can."""

    def corrected(what: str, at: int | None) -> int | None:
        # With the count: ratings after a clock was set back may have the same moment.
        key = (row.id, what, row.rated)
        return None if at is None else study.moments.corrected(key, at, now)

    return ArmState(
        id=row.id,
        place=row.place,
        begun_at=corrected("begun", row.begun_at),
        rated=row.rated,
        last_rated_at=corrected("rated", row.last_rated_at),
        pending=_pending(study, row, now),
        finished=row.rated >= study.design.ratings_per_arm,
    )


def _pending(study: OpenStudy, row: ArmRow, now: int) -> PendingSong | None:
    """Return the song that waits; one may be offered a little before it is shown."""
    if row.pending is None:
        return None
    number, at = row.pending.number, row.pending.offered_at
    ahead = round(study.design.answer_seconds * SECOND) + _CLOCK_SLACK
    offered_at = study.moments.corrected((row.id, "offered", number), at, now, ahead=ahead)
    return PendingSong(number=number, song=row.pending.song, offered_at=offered_at)


def shown(connection: Connection, own: ParticipantArm) -> OfferedSong | None:
    """Return the song that waits for its rating; None if there is none, or its file is gone."""
    pending, design = own.state.pending, own.study.design
    record = None if pending is None else songs.get(connection, pending.song)
    if pending is None or record is None or not record.is_present:
        return None
    return OfferedSong(
        arm=own.row.id,
        number=pending.number,
        song=record,
        offered_at=pending.offered_at,
        may_rate_at=may_rate_at(design, pending.offered_at, record.duration),
        rated=own.state.rated,
        of=design.ratings_per_arm,
    )


def status(connection: Connection, study: OpenStudy, account: str, now: int) -> Status:
    """Return an account's status in a study."""
    member = studies.participant(connection, study.id, account)
    joined = member is not None and member.joined_at is not None
    rows = studies.arms(connection, study.id, account)
    arms = tuple(arm_state(study, row, now) for row in rows)
    stands = next_step(study.design, arms, now) if joined else NextStep(state="done")
    return Status(
        title=study.design.title,
        consent=study.design.consent,
        facts=_facts(study.design),
        now=now,
        joined=joined,
        only=member is not None and member.made_for_study,
        state=stands.state if joined else "consent",
        place=stands.place,
        until=stands.until,
        why=stands.why,
        message=stands.message,
        arms=tuple(_arm_view(study.design, arm) for arm in arms),
        pending=_waiting(connection, study, rows, arms, now),
    )


def progress(connection: Connection, study: OpenStudy, now: int) -> list[Progress]:
    """Return the progress of all participants, by number."""
    return [
        _progress(study, row.number, row.joined_at, arms, now)
        for row in studies.participants(connection, study.id)
        for arms in [studies.arms(connection, study.id, row.account)]
    ]


def _progress(
    study: OpenStudy, number: int, joined_at: int | None, rows: list[ArmRow], now: int
) -> Progress:
    arms = [arm_state(study, row, now) for row in rows]
    return Progress(
        number=number,
        joined_at=joined_at,
        arms_done=sum(arm.finished for arm in arms),
        arms=len(study.design.algorithms),
        ratings=sum(arm.rated for arm in arms),
        last_at=max((arm.last_at for arm in arms if arm.last_at is not None), default=None),
    )


def _waiting(
    connection: Connection,
    study: OpenStudy,
    rows: list[ArmRow],
    arms: tuple[ArmState, ...],
    now: int,
) -> OfferedSong | None:
    """Return the song that waits for its rating, but not before its time.

    A choice is ready some time before it is shown; the time it took would reveal the algorithm.
    """
    for row, arm in zip(rows, arms, strict=True):
        if arm.pending is not None and arm.pending.offered_at <= now:
            return shown(connection, ParticipantArm(study=study, row=row, state=arm, arms=arms))
    return None


def _arm_view(design: Design, arm: ArmState) -> ArmView:
    begun: Literal["ahead", "begun"] = "ahead" if arm.begun_at is None else "begun"
    return ArmView(
        id=arm.id,
        place=arm.place,
        rated=arm.rated,
        of=design.ratings_per_arm,
        state="finished" if arm.finished else begun,
    )


def _facts(design: Design) -> StudyRules:
    rules = {name: value for name, value in asdict(design).items() if name in _RULES}
    return StudyRules(parts=len(design.algorithms), **rules)

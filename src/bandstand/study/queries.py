"""What the store has of a study and of those in it, as the rules and the answers need it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from bandstand.errors import BandstandError, NotFoundError, StudyUnreadableError
from bandstand.store import studies
from bandstand.store.songs import songs
from bandstand.study.clock_checks import Moments
from bandstand.study.opening import design_of
from bandstand.study.protocol import (
    SECOND,
    ArmState,
    Offered,
    Standing,
    may_rate_at,
    refusal,
    standing,
)
from bandstand.study.song_snapshot import from_bytes
from bandstand.study.views import ArmView, Facts, Progress, Shown, Status

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand.errors import RefusedError
    from bandstand.store.studies import ArmRow, StudyRow
    from bandstand.study.design import Design
    from bandstand.study.records import FrozenSongs

# By how much more than its pace a song may be ahead of its time: clocks of two processes differ.
_SLACK: Final = SECOND


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenStudy:
    """The study that is open: nothing in it changes while it is."""

    id: str
    design: Design
    songs: FrozenSongs
    moments: Moments


class StudyMemory:
    """The study that is open, read once: its songs are many; to be shared by threads."""

    def __init__(self) -> None:
        self._known: OpenStudy | None = None
        self._moments: Final = Moments()

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
class OwnArm:
    """An arm of a participant, among all of theirs."""

    study: OpenStudy
    row: ArmRow
    state: ArmState
    arms: tuple[ArmState, ...]


def own_arm(
    connection: Connection, study: OpenStudy | None, account: str, arm: str, now: int
) -> OwnArm:
    """Return an account's arm of the study that is open, or refuse it.

    Somebody else's arm is refused in the same words as one that does not exist.
    """
    if study is None:
        raise no_study()
    rows = studies.arms(connection, study.id, account)
    states = tuple(arm_state(study, row, now) for row in rows)
    for row, state in zip(rows, states, strict=True):
        if row.id == arm:
            return OwnArm(study=study, row=row, state=state, arms=states)
    before = studies.arm_by_id(connection, arm)
    if before is not None and before.account == account:
        raise no_study()
    if not rows:
        msg = "whoever takes part must have agreed to it before, got nobody who has"
        raise refusal(msg, code="no_consent")
    msg = "a part must be one of your own, got another"
    raise refusal(msg, code="not_yours")


def claimed_arm(
    connection: Connection, study: OpenStudy, account: str, arm: str, now: int
) -> OwnArm:
    """Return an account's arm, as `own_arm`, which nobody else changes until all is written."""
    with suppress(NotFoundError):  # whoever takes no part is told so by what follows
        studies.claim(connection, study.id, account)
    return own_arm(connection, study, account, arm, now)


def no_study() -> RefusedError:
    """Return what to raise when nothing is open that somebody could take part in."""
    return refusal("the study must be open, got one that is closed", code="closed")


def arm_state(study: OpenStudy, row: ArmRow, now: int) -> ArmState:
    """Return an arm as the rules see it now; nothing in it lies ahead for longer than it can."""

    def believed(what: str, at: int | None) -> int | None:
        # With the count: ratings after a clock was set back may have the same moment.
        key = (row.id, what, row.rated)
        return None if at is None else study.moments.believed(key, at, now)

    return ArmState(
        id=row.id,
        place=row.place,
        begun_at=believed("begun", row.begun_at),
        rated=row.rated,
        last_rated_at=believed("rated", row.last_rated_at),
        pending=_pending(study, row, now),
        finished=row.rated >= study.design.ratings_per_arm,
    )


def _pending(study: OpenStudy, row: ArmRow, now: int) -> Offered | None:
    """Return the song that waits; one may be offered a little before it is shown."""
    if row.pending is None:
        return None
    number, at = row.pending.number, row.pending.offered_at
    ahead = round(study.design.answer_seconds * SECOND) + _SLACK
    offered_at = study.moments.believed((row.id, "offered", number), at, now, ahead=ahead)
    return Offered(number=number, song=row.pending.song, offered_at=offered_at)


def shown(connection: Connection, own: OwnArm) -> Shown | None:
    """Return the song that waits for its rating; None if there is none, or its file is gone."""
    pending, design = own.state.pending, own.study.design
    record = None if pending is None else songs.get(connection, pending.song)
    if pending is None or record is None or not record.is_present:
        return None
    return Shown(
        arm=own.row.id,
        number=pending.number,
        song=record,
        offered_at=pending.offered_at,
        may_rate_at=may_rate_at(design, pending.offered_at, record.duration),
        rated=own.state.rated,
        of=design.ratings_per_arm,
    )


def status(connection: Connection, study: OpenStudy, account: str, now: int) -> Status:
    """Return how an account stands in a study."""
    member = studies.participant(connection, study.id, account)
    joined = member is not None and member.joined_at is not None
    rows = studies.arms(connection, study.id, account)
    arms = tuple(arm_state(study, row, now) for row in rows)
    stands = standing(study.design, arms, now) if joined else Standing(state="done")
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
    """Return how far everybody is, by number."""
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
) -> Shown | None:
    """Return the song that waits for its rating, but not before its time.

    A choice is ready some time before it is shown; how long it took would tell who chose.
    """
    for row, arm in zip(rows, arms, strict=True):
        if arm.pending is not None and arm.pending.offered_at <= now:
            return shown(connection, OwnArm(study=study, row=row, state=arm, arms=arms))
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


def _facts(design: Design) -> Facts:
    return Facts(
        parts=len(design.algorithms),
        ratings_per_arm=design.ratings_per_arm,
        listen_seconds=design.listen_seconds,
        rest_after=design.rest_after,
        rest_seconds=design.rest_seconds,
        arms_per_day=design.arms_per_day,
        gap_hours=design.gap_hours,
        answer_seconds=design.answer_seconds,
    )

"""Who takes part in a study: invited, joined, withdrawn.

An invitation gives an account its number; to join is to agree, and gives it its arms. Whoever
withdraws leaves nothing behind, and the number is free again.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, insert, select, update
from sqlalchemy import delete as delete_from

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError
from bandstand.store import accounts
from bandstand.store.database.schema import ACCOUNT, STUDY, STUDY_ARM, STUDY_PARTICIPANT
from bandstand.store.database.secure_erase import leave_none
from bandstand.store.events.values import checked_short_text
from bandstand.store.songs.songs import is_storable
from bandstand.store.study_reading import claim_open, participant_of
from bandstand.store.study_values import LONGEST_ALGORITHM, NewArm, ParticipantRow
from bandstand.store.values import checked_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection


def invite(
    connection: Connection,
    study: str,
    account: str,
    *,
    made_for_study: bool,
    number: int,
    now: int,
) -> ParticipantRow:
    """Return an account as one that may join a study, under a number of its own.

    `made_for_study` says that the account is to go when they withdraw. Raises ConflictError where
    the account takes part already, the number is taken, or the study is closed.
    """
    row = ParticipantRow(
        study=study,
        account=account,
        number=checked_integer(number, "number", least=1),
        made_for_study=bool(made_for_study),
        invited_at=checked_integer(now, "now"),
        joined_at=None,
    )
    claim_open(connection, study)
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
    where they have joined already, the number is somebody else's, or the study is closed.
    """
    checked_integer(number, "number", least=1)
    checked_integer(now, "now")
    new = _checked_arms(arms)
    claim_open(connection, study)
    before = participant(connection, study, account)
    if before is None:
        joined = ParticipantRow(
            study=study,
            account=account,
            number=number,
            made_for_study=False,
            invited_at=now,
            joined_at=now,
        )
        _insert(connection, joined)
    else:
        joined = _agreed(connection, before, number, now)
    rows = [
        {"id": secrets.token_hex(8), "study_id": study, "account_id": account, **values}
        for values in new
    ]
    connection.execute(insert(STUDY_ARM), rows)
    return joined


def free_number(connection: Connection, study: str) -> int:
    """Return the smallest number that nobody in an open study has.

    It stays free until the transaction ends, which must be one that writes.
    """
    claim_open(connection, study)
    taken = set(
        connection.scalars(
            select(STUDY_PARTICIPANT.c.number).where(STUDY_PARTICIPANT.c.study_id == study)
        )
    )
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


def participant(connection: Connection, study: str, account: str) -> ParticipantRow | None:
    """Return an account as a participant of a study; None where it takes no part."""
    if not (is_storable(study) and is_storable(account)):
        return None
    wanted = select(STUDY_PARTICIPANT).where(_is(study, account))
    row = connection.execute(wanted).mappings().one_or_none()
    return None if row is None else participant_of(row)


def participants(connection: Connection, study: str) -> list[ParticipantRow]:
    """Return who takes part in a study, or is invited to, by number."""
    if not is_storable(study):
        return []
    wanted = select(STUDY_PARTICIPANT).where(STUDY_PARTICIPANT.c.study_id == study)
    rows = connection.execute(wanted.order_by(STUDY_PARTICIPANT.c.number)).mappings()
    return [participant_of(row) for row in rows]


def of_account(connection: Connection, account: str) -> list[ParticipantRow]:
    """Return an account in each study that it is in, or invited to, as they were opened."""
    if not is_storable(account):
        return []
    theirs = (
        select(STUDY_PARTICIPANT)
        .join(STUDY, STUDY.c.id == STUDY_PARTICIPANT.c.study_id)
        .where(STUDY_PARTICIPANT.c.account_id == account)
        .order_by(STUDY.c.created_at, STUDY.c.id)
    )
    return [participant_of(row) for row in connection.execute(theirs).mappings()]


def claim(connection: Connection, study: str, account: str) -> None:
    """Wait until no other transaction changes what a participant does, until this one ends.

    So what is read after it stays true until the writing that depends on it is done, and nobody
    closes the study meanwhile. Raises NotFoundError where the account takes no part.
    """
    found = None
    if is_storable(study) and is_storable(account):
        # The account before the participant, as whatever removes an account takes them; otherwise
        # an event of theirs, later in this transaction, and that would wait for each other.
        _hold_account(connection, account)
        _hold_study(connection, study)
        wanted = select(STUDY_PARTICIPANT.c.number).where(_is(study, account))
        found = connection.scalar(wanted.with_for_update())
    if found is None:
        raise _no_participant()


def withdraw(connection: Connection, study: str, account: str) -> bool:
    """Return whether a participant's account went too, as one that was made for the study does.

    The participant goes with arms and ratings, for good, also from a study that is closed. An
    account that went leaves as `accounts.delete` says; the last admin's cannot go and stays. A
    SQLite file is written anew when the transaction has ended, so that no trace is left.
    """
    before = participant(connection, study, account)
    if before is None:
        raise _no_participant()
    if before.made_for_study:
        try:
            accounts.delete(connection, account)
        except ConflictError:
            pass
        else:
            return True
    _hold_account(connection, account)
    connection.execute(delete_from(STUDY_PARTICIPANT).where(_is(study, account)))
    leave_none(connection)
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
    return ParticipantRow(
        study=before.study,
        account=before.account,
        number=number,
        made_for_study=before.made_for_study,
        invited_at=before.invited_at,
        joined_at=now,
    )


def _insert(connection: Connection, row: ParticipantRow) -> None:
    """Put in a participant whose study is claimed; the account must exist, the number be free."""
    if not (is_storable(row.account) and _hold_account(connection, row.account)):
        msg = "an account that exists was expected, got another id"
        raise NotFoundError(msg)
    if any(one.number == row.number for one in participants(connection, row.study)):
        msg = f"a number that nobody has was expected, got {row.number}, which is taken"
        raise ConflictError(msg)
    connection.execute(insert(STUDY_PARTICIPANT).values(participant_values(row)))


def _hold_account(connection: Connection, account: str) -> bool:
    """Return whether there is such an account, which nobody removes until the transaction ends."""
    wanted = select(ACCOUNT.c.id).where(ACCOUNT.c.id == account)
    return connection.scalar(wanted.with_for_update(read=True, key_share=True)) is not None


def _hold_study(connection: Connection, study: str) -> None:
    """Wait until nobody closes a study, and let nobody close it until the transaction ends."""
    wanted = select(STUDY.c.id).where(STUDY.c.id == study)
    connection.execute(wanted.with_for_update(read=True, key_share=True)).all()


def participant_values(row: ParticipantRow) -> dict[str, Any]:
    """Return a participant as columns."""
    return {
        "study_id": row.study,
        "account_id": row.account,
        "number": row.number,
        "made_for_study": row.made_for_study,
        "invited_at": row.invited_at,
        "joined_at": row.joined_at,
    }


def _checked_arms(arms: Sequence[NewArm]) -> list[dict[str, Any]]:
    values = [
        {
            "place": checked_integer(arm.place, "place", least=0),
            "algorithm": checked_short_text(arm.algorithm, "algorithm", most=LONGEST_ALGORITHM),
            "seed": checked_integer(arm.seed, "seed", least=0),
        }
        for arm in arms
    ]
    if not values or len({arm["place"] for arm in values}) < len(values):
        msg = f"arms must be some, each at a place of its own, got {len(values)}"
        raise InvalidInputError(msg)
    return values


def _no_participant() -> NotFoundError:
    return NotFoundError("a participant of the study was expected, got an account that is none")


def _is(study: str, account: str) -> ColumnElement[bool]:
    is_theirs = STUDY_PARTICIPANT.c.account_id == account
    return and_(STUDY_PARTICIPANT.c.study_id == study, is_theirs)

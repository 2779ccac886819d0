"""How far the participants of a study are, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bandstand._util.words import counted
from bandstand.store import studies
from bandstand.study.design import Design

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from bandstand.store.studies import ArmRow, ParticipantRow, StudyRow


def status_lines(connection: Connection, study: StudyRow) -> list[str]:
    """Return a study's state, then a line for each participant.

    Arms are not named, so that whoever runs the study can stay blind too.
    """
    design = Design.from_mapping(study.design, "store")
    people = studies.participants(connection, study.id)
    joined = [person for person in people if person.joined_at is not None]
    state = "open" if study.closed_at is None else f"closed {_day(study.closed_at)}"
    size = f"{len(design.algorithms)} parts of {design.ratings_per_arm} ratings each"
    lines = [
        f"{study.title}: {state}, begun {_day(study.created_at)}; {size}.",
        f"{_taking_part(len(joined))}, {_invited(len(people) - len(joined))}. Numbers are drawn.",
    ]
    return lines + [
        _line(design, person, studies.arms(connection, study.id, person.account))
        for person in sorted(joined, key=lambda person: person.number)
    ]


def _taking_part(count: int) -> str:
    return "1 takes part" if count == 1 else f"{count} take part"


def _invited(count: int) -> str:
    if count == 1:
        return "1 is invited and has not agreed"
    return f"{count} are invited and have not agreed"


def _line(design: Design, person: ParticipantRow, arms: Sequence[ArmRow]) -> str:
    done = sum(arm.rated >= design.ratings_per_arm for arm in arms)
    rated = sum(arm.rated for arm in arms)
    moments = [arm.last_rated_at for arm in arms if arm.last_rated_at is not None]
    last = f", last on {_day(max(moments))}" if moments else ""
    return f"P{person.number}: {done} of {len(arms)} parts done, {counted(rated, 'rating')}{last}."


def _day(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment / 1_000, tz=UTC):%Y-%m-%d}"

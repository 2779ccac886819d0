"""Studies as entries of an export; `exchange` says which there are.

What a participant gets of their own tells nothing of the algorithms: not which one played, nor its
seed, nor how long it took to choose. The study's id and their number are left out too, since the
order of the algorithms follows from them; and a song that is not rated yet, since it would tell
when it was chosen.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Select, and_, select

from bandstand.store.exchange_lines import to_base64
from bandstand.store.queries import in_order
from bandstand.store.schema import STUDY, STUDY_ARM, STUDY_SONG
from bandstand.store.study_arms import arms, songs_of
from bandstand.store.study_participants import of_account

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

STUDY_FACTS: Final = ("id", "title", "created_at", "closed_at")
PARTICIPANT_FACTS: Final = (
    "study",
    "account",
    "number",
    "made_for_study",
    "invited_at",
    "joined_at",
)
ARM_FACTS: Final = ("id", "place", "algorithm", "seed", "begun_at")
PLAYED_FACTS: Final = (
    "number",
    "song",
    "offered_at",
    "choose_ms",
    "stars",
    "known",
    "played_ms",
    "rated_at",
)
# What would tell a participant, alone or together, which algorithm has played.
_TELLING: Final = frozenset({"algorithm", "seed", "choose_ms"})
_TELLING_OF_PARTICIPANT: Final = frozenset({"study", "number"})


def study_entries(connection: Connection) -> Iterator[dict[str, Any]]:
    """Yield all studies, in the order of their ids."""
    for row in in_order(connection, select(STUDY), STUDY.c.id, page=1):
        given = {name: row[name] for name in STUDY_FACTS if row[name] is not None}
        catalogue = to_base64(row["catalogue"])
        design = json.loads(row["design"])
        yield {"type": "study", **given, "design": design, "catalogue_base64": catalogue}


def participation_entries(connection: Connection, account: str) -> Iterator[dict[str, Any]]:
    """Yield all that an account has in studies, in the order in which they were opened."""
    for row in of_account(connection, account):
        theirs = [
            {
                **_said(arm, ARM_FACTS),
                "songs": [_said(song, PLAYED_FACTS) for song in songs_of(connection, arm.id)],
            }
            for arm in arms(connection, row.study, account)
        ]
        yield {"type": "participation", **_said(row, PARTICIPANT_FACTS), "arms": theirs}


def own_participation_entries(connection: Connection, account: str) -> Iterator[dict[str, Any]]:
    """Yield what an account has rated in studies, without what tells of the algorithms."""
    person, arm_facts, played_facts = (
        tuple(name for name in names if name not in telling)
        for names, telling in (
            (PARTICIPANT_FACTS, _TELLING_OF_PARTICIPANT),
            (ARM_FACTS, _TELLING),
            (PLAYED_FACTS, _TELLING),
        )
    )
    for row in of_account(connection, account):
        title = connection.scalar(select(STUDY.c.title).where(STUDY.c.id == row.study))
        theirs = [
            {
                **_said(arm, arm_facts),
                "songs": [
                    _said(song, played_facts)
                    for song in songs_of(connection, arm.id)
                    if song.rated_at is not None
                ],
            }
            for arm in arms(connection, row.study, account)
        ]
        yield {"type": "participation", "title": title, **_said(row, person), "arms": theirs}


def rated_songs(account: str) -> Select[tuple[str]]:
    """Return what selects the songs that an account has rated in studies."""
    is_theirs = and_(STUDY_ARM.c.account_id == account, STUDY_SONG.c.stars.is_not(None))
    played = select(STUDY_SONG.c.song_id).join(STUDY_ARM, STUDY_ARM.c.id == STUDY_SONG.c.arm_id)
    return played.where(is_theirs)


def _said(row: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return what a row says under these names; what it does not say is left out."""
    given = {name: getattr(row, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}

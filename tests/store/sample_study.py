"""A study in a store: somebody who takes part, with arms, and songs that are offered and rated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bandstand.store import studies
from bandstand.store.studies import NewArm
from tests.store.sample_store import NOW, add_account, add_songs

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store
    from bandstand.store.studies import ArmRow, StudyRow

DESIGN = {"title": "Which one?", "algorithms": ["random", "greedy-cn"], "listen_seconds": 30.5}
CATALOGUE = b"\0the songs\xff"
ARMS = (
    NewArm(place=1, algorithm="greedy-cn", seed=11),
    NewArm(place=2, algorithm="random", seed=12),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What was put into a store."""

    id: str
    account: str  # of somebody who has joined
    arm: str  # their first one
    songs: list[str]


def add_study(connection: Connection, title: str = "Which one?") -> StudyRow:
    """Return a study that is open."""
    return studies.create(connection, title=title, design=DESIGN, catalogue=CATALOGUE, now=NOW)


def joined(connection: Connection, study: str, account: str) -> list[ArmRow]:
    """Return the arms of an account that joins under the next number."""
    number = studies.free_number(connection, study)
    studies.join(connection, study, account, number=number, arms=ARMS, now=NOW)
    return studies.arms(connection, study, account)


def play(connection: Connection, arm: str, songs: list[str], *, start: int = 1) -> None:
    """Offer songs in an arm that is begun, and rate each."""
    for number, song in enumerate(songs, start=start):
        at = NOW + 100_000 * number
        studies.offer(connection, arm, number=number, song=song, choose_ms=40 + number, now=at)
        stars, known = 1 + number % 5, number % 3 == 0
        studies.rate(
            connection,
            arm,
            number=number,
            stars=stars,
            known=known,
            played_ms=None if known else 30_000 + number,
            now=at + 31_000,
        )


def begun(store: Store, *, songs: int = 3) -> Study:
    """Return a study in an empty store, with one participant whose first arm is begun."""
    with store.writing() as connection:
        ids = add_songs(connection, songs)
        study = add_study(connection)
        account = add_account(connection, "Ann").id
        first, _ = joined(connection, study.id, account)
        studies.begin(connection, first.id, NOW)
    return Study(id=study.id, account=account, arm=first.id, songs=ids)

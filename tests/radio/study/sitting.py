"""A study in a real store, its desk, and people who take part in it on a clock of their own."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from bandstand.music.catalogue.refresh import refreshed
from bandstand.radio.service import Radio
from bandstand.radio.study.desk import StudyDesk
from bandstand.radio.study.opening import open_study
from bandstand.store import accounts, studies
from bandstand.store.songs.save_analysis import record_analyses
from bandstand.study.design import Design
from tests.store.examples import analysis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.radio.study.views import Shown, Status
    from bandstand.store.database.connection import Store
    from bandstand.store.studies import ArmRow, SongRow

HOUR = 3_600_000
SONGS = 30

_names = count(1)


@dataclass(slots=True)
class Clock:
    """UTC milliseconds; it stands still until it is moved."""

    now: int = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


def short_design(**changes: Any) -> Design:
    """Return a design of two arms with four ratings each, resting after two."""
    fields: dict[str, Any] = {
        "title": "Short",
        "algorithms": ("random", "greedy-cn"),
        "ratings_per_arm": 4,
        "rest_after": 2,
        "least_songs": 10,
    }
    return Design(**{**fields, **changes})


def add_songs(store: Store, number: int = SONGS) -> None:
    with store.writing() as connection:
        found = [(f"/music/{each}.ogg".encode(), analysis(each)) for each in range(number)]
        record_analyses(connection, found, scan=0, now=0)
    refreshed(store, now=0)


@dataclass(slots=True)
class Study:
    """A study that is open, with one process that serves it."""

    store: Store
    radio: Radio
    clock: Clock
    desk: StudyDesk
    design: Design
    id: str

    def person(self) -> Person:
        """Return somebody who has an account and takes no part yet."""
        with self.store.writing() as connection:
            name = f"Person {next(_names)}"
            made = accounts.create(
                connection, name=name, role="listener", password_hash=None, now=0
            )
        return Person(study=self, account=made.id)

    def invited(self) -> Person:
        """Return somebody whose account was made for the study."""
        person = self.person()
        with self.store.writing() as connection:
            studies.invite(
                connection,
                self.id,
                person.account,
                made_for_study=True,
                number=studies.free_number(connection, self.id),
                now=0,
            )
        return person

    def close(self) -> None:
        with self.store.writing() as connection:
            studies.close(connection, self.id, self.clock())

    def loses(self, song: str) -> None:
        """Let the file of a song be gone; the radio has not noticed yet."""
        with self.store.writing() as connection:
            gone = text("UPDATE file SET missing = :gone WHERE song_id = :song")
            connection.execute(gone, {"song": song, "gone": True})


@dataclass(slots=True)
class Person:
    """Somebody at the desk."""

    study: Study
    account: str

    @property
    def desk(self) -> StudyDesk:
        return self.study.desk

    @property
    def status(self) -> Status:
        status = self.desk.status(self.account)
        assert status is not None
        return status

    def joins(self) -> Status:
        return self.desk.join(self.account).result()

    def begins(self, place: int = 1) -> str:
        """Return the arm at a place, which is begun now."""
        arm = self.status.arms[place - 1].id
        self.desk.begin(self.account, arm).result()
        return arm

    def asks(self, arm: str) -> Shown:
        """Return the arm's song at the moment at which it is shown."""
        shown = self.desk.next(self.account, arm)
        self.study.clock.now = max(self.study.clock.now, shown.offered_at)
        return shown

    def rates(self, arm: str, number: int, stars: int = 3, **changes: Any) -> Status:
        said = {"known": False, "played_seconds": 1_000.0, **changes}
        return self.desk.rate(self.account, arm, number=number, stars=stars, **said).result()

    def hears(self, arm: str, stars: int = 3) -> Shown:
        """Hear and rate one song, after a rest where there must be one."""
        status = self.status
        if status.until is not None:
            self.study.clock.now = status.until
        shown = self.asks(arm)
        self.study.clock.now = max(self.study.clock.now, shown.may_rate_at)
        self.rates(arm, shown.number, stars)
        return shown

    def finishes(self, place: int) -> str:
        """Return the arm at a place, with all its ratings given."""
        status = self.status
        if status.until is not None:
            self.study.clock.now = status.until
        arm = self.begins(place)
        for _ in range(self.study.design.ratings_per_arm):
            self.hears(arm, stars=1 + self.study.clock.now // 1_000 % 5)
        return arm

    @property
    def arms(self) -> list[ArmRow]:
        with self.study.store.reading() as connection:
            return studies.arms(connection, self.study.id, self.account)

    def songs(self, arm: str) -> list[SongRow]:
        with self.study.store.reading() as connection:
            return studies.songs_of(connection, arm)


@contextmanager
def served(store: Store, design: Design, clock: Clock | None = None) -> Iterator[Study]:
    """Give a study, opened now or going on, with a process of its own."""
    clock = clock or Clock()
    radio = Radio(store, clock=clock)
    try:
        row = open_study(store, radio.shelf, design, clock=clock)
        desk = StudyDesk(store, radio, clock)
        yield Study(store, radio, clock, desk, design, row.id)
    finally:
        radio.close()

"""The next song of an arm: chosen outside of any transaction, then offered in one.

    read ─ is a song waiting? ─ catch up with the ratings ─ choose ─ offer, unless somebody has

A choice may take seconds, so nothing is locked meanwhile but the arm's seat, and that only in
this process. Whoever was sooner elsewhere wins: their song is the one that all are shown.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import NotFoundError
from bandstand.store import studies
from bandstand.store.songs import songs
from bandstand.study.arm_recommenders import Learners, moment
from bandstand.study.protocol import SECOND, check_offer
from bandstand.study.queries import claimed_arm, no_study, own_arm, shown

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand._util.clock import Clock
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.service import Radio
    from bandstand.store.database.connection import Store
    from bandstand.store.studies import PendingRow, SongRow
    from bandstand.study.arm_recommenders import Seat
    from bandstand.study.queries import OpenStudy, OwnArm, StudyMemory
    from bandstand.study.views import Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """A song that was chosen when so much had been rated, and such a song was waiting."""

    song: str
    rated: int
    instead_of: PendingRow | None  # a song that waits, but whose file is gone
    choose_ms: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Gone:
    """Which songs of a study are not on a shelf."""

    study: OpenStudy
    shelf: Catalogue
    songs: frozenset[str]


class Offering:
    """Chooses and offers songs to participants; to be shared by threads."""

    def __init__(self, store: Store, radio: Radio, clock: Clock, memory: StudyMemory) -> None:
        self._store: Final = store
        self._radio: Final = radio
        self._clock: Final = clock
        self._memory: Final = memory
        self._learners: Final = Learners()
        self._gone_now: _Gone | None = None

    def drop(self, account: str) -> None:
        """Keep nothing of an account in memory."""
        self._learners.drop(account)

    def next(self, account: str, arm: str, *, asked: int) -> Shown:
        """Return the song that waits for its rating, or a new one."""
        with self._store.reading() as connection:
            _, waiting = self._offerable(connection, account, arm, asked)
        if waiting is not None:
            return waiting
        # Only for an arm of one's own: nobody can make others wait, nor see that they work.
        with self._learners.taken(arm, account) as seat:
            while True:
                offered = self._once(seat, account, arm, asked)
                if offered is not None:
                    return offered

    def _once(self, seat: Seat, account: str, arm: str, asked: int) -> Shown | None:
        """Return the arm's song; None if somebody rated one while it was chosen."""
        with self._store.reading() as connection:
            own, waiting = self._offerable(connection, account, arm, asked)
            said = studies.songs_of(connection, arm)
        if waiting is not None:
            return waiting
        choice = self._chosen(seat, own, said, asked)

        def offer(connection: Connection) -> Shown | None:
            return self._offered(connection, account, arm, choice, asked)

        return self._radio.write(offer, order=account).result()

    def _offerable(
        self, connection: Connection, account: str, arm: str, asked: int
    ) -> tuple[OwnArm, Shown | None]:
        """Return an arm that may have a song now, and the song that waits in it."""
        now = self._now(asked)
        own = own_arm(connection, self._memory.opened(connection), account, arm, now)
        check_offer(own.study.design, own.state, now)
        return own, shown(connection, own)

    def _chosen(self, seat: Seat, own: OwnArm, said: list[SongRow], asked: int) -> _Choice:
        start = time.perf_counter()
        recommender = seat.caught_up(own.row, own.study.songs, said)
        gone = set(self._gone(own.study))
        # What the shelf does not know yet is found when the song itself is looked up.
        while len(gone) < len(own.study.songs):
            at = max(asked + _pace(own.study), own.row.last_rated_at or 0)
            song = str(recommender.recommend(1, exclude=gone, at=moment(at))[0])
            if self._is_present(song):
                return _Choice(
                    song=song,
                    rated=own.state.rated,
                    instead_of=own.row.pending,
                    choose_ms=round((time.perf_counter() - start) * SECOND),
                )
            gone.add(song)
        msg = f"one of the study's {len(own.study.songs)} songs must be there, got none"
        raise NotFoundError(msg)

    def _offered(
        self, connection: Connection, account: str, arm: str, choice: _Choice, asked: int
    ) -> Shown | None:
        """Return the arm's song: the choice, or what was offered while it was made."""
        study = self._memory.opened(connection)
        if study is None:
            raise no_study()
        checked_at = self._now(asked)
        before = claimed_arm(connection, study, account, arm, checked_at)
        check_offer(study.design, before.state, checked_at)
        if (before.row.rated, before.row.pending) != (choice.rated, choice.instead_of):
            return shown(connection, before)
        now = max(asked + _pace(study), self._clock())
        _put(connection, arm, choice, now)
        return shown(connection, own_arm(connection, study, account, arm, checked_at))

    def _now(self, asked: int) -> int:
        """Return the time: others may have rated since it was asked for a song."""
        return max(asked, self._clock())

    def _gone(self, study: OpenStudy) -> frozenset[str]:
        """Return the songs of a study that cannot be played now."""
        known, shelf = self._gone_now, self._radio.shelf
        if known is None or known.study is not study or known.shelf is not shelf:
            ids, rows = study.songs.ids, shelf.ids.rows(study.songs.ids)
            missing = frozenset(ids[place] for place in np.flatnonzero(rows < 0).tolist())
            known = _Gone(study=study, shelf=shelf, songs=missing)
            self._gone_now = known
        return known.songs

    def _is_present(self, song: str) -> bool:
        with self._store.reading() as connection:
            record = songs.get(connection, song)
        return record is not None and record.is_present


def _pace(study: OpenStudy) -> int:
    """Return how long an answer takes, in milliseconds."""
    return round(study.design.answer_seconds * SECOND)


def _put(connection: Connection, arm: str, choice: _Choice, now: int) -> None:
    number = choice.rated + 1
    if choice.instead_of is None:
        studies.offer(
            connection,
            arm,
            number=number,
            song=choice.song,
            choose_ms=choice.choose_ms,
            now=now,
        )
        return
    studies.offer_instead(
        connection,
        arm,
        number=number,
        instead_of=choice.instead_of.song,
        song=choice.song,
        choose_ms=choice.choose_ms,
        now=now,
    )

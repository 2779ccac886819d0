"""The service of a study, for its participants.

    join ─ begin an arm ─ next song ─ rate ─ next song ─ …        withdraw at any time

The store is the truth: every request reads it first, and every rule is checked again in the
transaction that writes, so that two devices, or two processes, can never have two songs of the
same number or two ratings of one song. A rating does no work of the model; that is done for the
next song, whose answer is given when `answer_seconds` are over, whatever algorithm chose it.
"""

import secrets
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from sqlalchemy import Connection

from bandstand._util.clock import Clock
from bandstand.radio.service import Radio
from bandstand.store import studies
from bandstand.store.database.connection import Store
from bandstand.store.songs import songs
from bandstand.study.assignment import Draw, assigned_arms, draw_number
from bandstand.study.next_song import SongChooser
from bandstand.study.protocol import SECOND, check_begin, check_rating, refusal
from bandstand.study.queries import (
    Membership,
    OfferedSong,
    OpenStudy,
    OpenStudyCache,
    ParticipantArm,
    Progress,
    Status,
    locked_arm,
    no_study,
    progress,
    status,
)


class StudyService:
    """The study that is open in a store, for all its participants; to be shared by threads."""

    def __init__(
        self, store: Store, radio: Radio, clock: Clock, *, draw: Draw = secrets.randbelow
    ) -> None:
        self._store: Final = store
        self._radio: Final = radio
        self._clock: Final = clock
        self._draw: Final = draw
        self._memory: Final = OpenStudyCache()
        self._chooser: Final = SongChooser(store, radio, clock, self._memory)

    # ── Reading ────────────────────────────────────────────────────────────────────

    def status(self, account: str) -> Status | None:
        """Return an account's status in the study; None if none is open."""
        with self._store.reading() as connection:
            study = self._memory.opened(connection)
            return None if study is None else status(connection, study, account, self._clock())

    def membership(self, account: str) -> Membership | None:
        """Return an account's membership; None if no study is open and it was in none.

        An account made for a study that is closed now can still withdraw.
        """
        with self._store.reading() as connection:
            study = studies.open_id(connection)
            rows = studies.of_account(connection, account)
        if study is None and not rows:
            return None
        return Membership(
            only=any(row.made_for_study for row in rows),
            joined=any(row.joined_at is not None for row in rows if study in {None, row.study}),
        )

    def answer_seconds(self) -> float:
        """Return how long an answer to `next` takes, to be the same for all; 0 without a study."""
        with self._store.reading() as connection:
            study = self._memory.opened(connection)
        return 0.0 if study is None else study.design.answer_seconds

    def next(self, account: str, arm: str, *, asked: int | None = None) -> OfferedSong:
        """Return the song to hear and rate now: the one that waits for its rating, or a new one.

        It takes as long as the algorithm does. The answer is to be given `answer_seconds` after
        it was asked for, at `asked` or now, which is when a new song counts as offered.
        """
        return self._chooser.next(account, arm, asked=self._clock() if asked is None else asked)

    def progress(self) -> list[Progress]:
        """Return the progress of all participants, by number."""
        with self._store.reading() as connection:
            study = self._memory.opened(connection)
            return [] if study is None else progress(connection, study, self._clock())

    # ── Writing ─────────────────────────────────────────────────────────────────────

    def join(self, account: str) -> Future[Status]:
        """Join an account that has agreed to take part; joining again changes nothing."""

        def work(connection: Connection, study: OpenStudy) -> None:
            # First, since it locks the study until all is written.
            free = draw_number(connection, study.id, study.design, draw=self._draw)
            row = studies.participant(connection, study.id, account)
            if row is not None and row.joined_at is not None:
                return
            number = free if row is None else row.number
            arms = assigned_arms(study.design, study.id, number, draw=self._draw)
            studies.join(connection, study.id, account, number=number, arms=arms, now=self._clock())

        # Before all accounts: two processes lock the study and its participants in this order.
        return self._written(account, work, order="")

    def begin(self, account: str, arm: str) -> Future[Status]:
        """Begin an arm; one that is going on goes on."""

        def work(connection: Connection, study: OpenStudy) -> None:
            now = self._clock()
            own = locked_arm(connection, study, account, arm, now)
            check_begin(study.design, own.arms, arm, now)
            if own.row.begun_at is None:
                studies.begin(connection, arm, now)

        return self._written(account, work, order=account)

    def rate(
        self,
        account: str,
        arm: str,
        *,
        number: int,
        stars: int,
        known: bool,
        played_seconds: float | None,
    ) -> Future[Status]:
        """Rate the song that was offered as `number`; the same stars again change nothing."""

        def work(connection: Connection, study: OpenStudy) -> None:
            now = self._clock()
            own = locked_arm(connection, study, account, arm, now)
            if _is_rated_alike(connection, own, number, stars):
                return
            check_rating(
                study.design,
                own.state,
                number,
                known=known,
                played_seconds=played_seconds,
                song_seconds=_seconds(connection, own),
                now=now,
            )
            studies.rate(
                connection,
                arm,
                number=number,
                stars=stars,
                known=known,
                played_ms=None if played_seconds is None else round(played_seconds * SECOND),
                now=_not_before(own, now),
            )

        return self._written(account, work, order=account)

    def withdraw(self, account: str) -> Future[bool]:
        """Remove everything about a participant; return whether the account went too.

        Also from a study that is closed: the one that is open counts, or else the last one.
        """

        def work(connection: Connection) -> bool:
            study = _joined(connection, account)
            if study is None:
                msg = "an account must take part in a study to withdraw, got one in none"
                raise refusal(msg, code="no_consent")
            return studies.withdraw(connection, study, account)

        future = self._radio.write(work, order=account)
        future.add_done_callback(lambda _: self._forget(account))
        return future

    def drop(self, account: str) -> None:
        """Drop an account from the caches; the store keeps what it has."""
        self._chooser.drop(account)

    def _forget(self, account: str) -> None:
        self.drop(account)
        self._radio.drop(account)

    def _written(
        self, account: str, work: Callable[[Connection, OpenStudy], None], *, order: str
    ) -> Future[Status]:
        """Return an account's status once `work` is on the disk."""

        def transaction(connection: Connection) -> Status:
            study = self._memory.opened(connection)
            if study is None:
                raise no_study()
            work(connection, study)
            return status(connection, study, account, self._clock())

        return self._radio.write(transaction, order=order)


def _is_rated_alike(connection: Connection, own: ParticipantArm, number: int, stars: int) -> bool:
    """Return whether a song has these stars already: the same rating, sent again."""
    if not 1 <= number <= own.state.rated:
        return False
    row = studies.songs_of(connection, own.row.id)[number - 1]
    return row.stars == stars


def _seconds(connection: Connection, own: ParticipantArm) -> float | None:
    """Return how long the song on offer is; None if unknown."""
    pending = own.state.pending
    record = None if pending is None else songs.get(connection, pending.song)
    return None if record is None else record.duration


def _not_before(own: ParticipantArm, now: int) -> int:
    """Return when a rating counts as given, should a clock go back.

    Never before the last one, nor before its song was offered.
    """
    offered_at = now if own.row.pending is None else own.row.pending.offered_at
    return max(now, offered_at, own.row.last_rated_at or now)


def _joined(connection: Connection, account: str) -> str | None:
    """Return the id of the last study that an account is in, or is invited to."""
    rows = studies.of_account(connection, account)
    return rows[-1].study if rows else None

"""The next song of an arm: chosen outside of any transaction, then offered in one.

    read ─ is a song waiting? ─ learn the new ratings ─ choose ─ offer, unless another was offered

A choice may take seconds, so nothing is locked meanwhile but the cached arm, and that only in
this process. If another process was quicker, its song is the one that is offered.

Each arm is one plain `Recommender` over the study's songs, which starts from nothing. It learns
nothing but the arm's ratings, and no other arm or radio learns from it. Recommenders can be made
again from the store, so an LRU cache keeps those that fit its bytes.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import numpy as np
from sqlalchemy import Connection

from bandstand._util.clock import Clock
from bandstand.core.model.priors import radio_prior
from bandstand.core.recommender import Answer, Recommender
from bandstand.core.registry import name_now
from bandstand.errors import NotFoundError
from bandstand.music.catalogue.catalogue import Catalogue
from bandstand.radio.service import Radio
from bandstand.store import studies
from bandstand.store.database.connection import Store
from bandstand.store.songs import songs
from bandstand.store.studies import ArmRow, PendingRow, SongRow
from bandstand.study.protocol import SECOND, check_offer
from bandstand.study.queries import (
    OfferedSong,
    OpenStudy,
    OpenStudyCache,
    ParticipantArm,
    locked_arm,
    no_study,
    participant_arm,
    shown,
)
from bandstand.study.records import SongSnapshot

# Learning more ratings than this is quicker all at once.
_MAX_UPDATES: Final = 8
_MAX_BYTES: Final = 256_000_000


@dataclass(slots=True, eq=False)
class CachedArm:
    """The recommender of one arm; hold `lock` to read or change it."""

    arm: str
    account: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    recommender: Recommender | None = None

    def updated(self, arm: ArmRow, songs: SongSnapshot, rows: Sequence[SongRow]) -> Recommender:
        """Return the arm's recommender, which has learned exactly these ratings."""
        answers = [answer for row in rows if (answer := _answer(row)) is not None]
        known = self.recommender
        # None until all is learned: half of an update is not kept.
        self.recommender = None
        if known is None or list(known.answers) != answers[: len(known.answers)]:
            known = _new(arm, songs)
        _learn(known, answers[len(known.answers) :])
        self.recommender = known
        return known

    @property
    def nbytes(self) -> int:
        """About how much memory belongs to this arm alone."""
        known = self.recommender  # read once: the thread that holds the lock may change it
        if known is None:
            return 0
        # The engine streams through a copy of the features in half as many bytes.
        copied = known.model.song_features.features.nbytes // 2
        return int(copied) + known.model.nbytes


class ArmCache:
    """LRU cache of arms that together hold about `max_bytes`, or of one; for threads to share."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._arms: OrderedDict[str, CachedArm] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._arms)

    @contextmanager
    def locked(self, arm: str, account: str) -> Iterator[CachedArm]:
        """Lock an arm for the block; it leaves the cache if the block raises."""
        with self._lock:
            cached = self._arms.setdefault(arm, CachedArm(arm, account))
            self._arms.move_to_end(arm)
        with cached.lock:
            try:
                yield cached
            except BaseException:
                self._remove(cached)
                raise
        self._evict()

    def drop(self, account: str) -> None:
        """Drop the arms of an account."""
        with self._lock:
            for cached in [cached for cached in self._arms.values() if cached.account == account]:
                del self._arms[cached.arm]

    def _remove(self, cached: CachedArm) -> None:
        with self._lock:
            if self._arms.get(cached.arm) is cached:
                del self._arms[cached.arm]

    def _evict(self) -> None:
        """Drop the least recently used arms; a thread that holds one goes on with it."""
        with self._lock:
            held = sum(cached.nbytes for cached in self._arms.values())
            while held > self._max_bytes and len(self._arms) > 1:
                _, oldest = self._arms.popitem(last=False)
                held -= oldest.nbytes


def _answer(row: SongRow) -> Answer | None:
    if row.stars is None or row.rated_at is None:
        return None
    return Answer(song=row.song, rating=float(row.stars), time=Decimal(row.rated_at) / SECOND)


def _new(arm: ArmRow, songs: SongSnapshot) -> Recommender:
    """Return an arm's recommender that has learned nothing yet."""
    return Recommender(
        features=songs.features,
        ids=songs.ids,
        raw=True,  # the features are standardised, and their last column is the intercept
        prior=radio_prior(songs.features.shape[1]),
        algorithm=name_now(arm.algorithm),
        seed=arm.seed,
    )


def _learn(recommender: Recommender, news: Sequence[Answer]) -> None:
    if len(news) > _MAX_UPDATES:
        recommender.replay(news)
        return
    for answer in news:
        recommender.update(answer.song, answer.rating, answer.time)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """A song, and the state of the arm that it was chosen for."""

    song: str
    rated: int
    instead_of: PendingRow | None  # a song that waits, but whose file is gone
    choose_ms: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Gone:
    """The songs of a study that a catalogue does not have."""

    study: OpenStudy
    catalogue: Catalogue
    songs: frozenset[str]


class SongChooser:
    """Chooses and offers songs to participants; for threads to share."""

    def __init__(self, store: Store, radio: Radio, clock: Clock, memory: OpenStudyCache) -> None:
        self._store: Final = store
        self._radio: Final = radio
        self._clock: Final = clock
        self._memory: Final = memory
        self._cache: Final = ArmCache()
        self._known_gone: _Gone | None = None

    def drop(self, account: str) -> None:
        """Drop an account from the cache."""
        self._cache.drop(account)

    def next(self, account: str, arm: str, *, asked: int) -> OfferedSong:
        """Return the song that waits for its rating, or a new one."""
        with self._store.reading() as connection:
            _, waiting = self._offerable(connection, account, arm, asked)
        if waiting is not None:
            return waiting
        # Only for an arm of one's own: no participant can delay others, nor see that they are busy.
        with self._cache.locked(arm, account) as cached:
            while True:
                offered = self._once(cached, account, arm, asked)
                if offered is not None:
                    return offered

    def _once(self, cached: CachedArm, account: str, arm: str, asked: int) -> OfferedSong | None:
        """Return the arm's song; None if a song was rated while it was chosen."""
        with self._store.reading() as connection:
            own, waiting = self._offerable(connection, account, arm, asked)
            offered = studies.songs_of(connection, arm)
        if waiting is not None:
            return waiting
        choice = self._chosen(cached, own, offered, asked)

        def offer(connection: Connection) -> OfferedSong | None:
            return self._offered(connection, account, arm, choice, asked)

        return self._radio.write(offer, order=account).result()

    def _offerable(
        self, connection: Connection, account: str, arm: str, asked: int
    ) -> tuple[ParticipantArm, OfferedSong | None]:
        """Return an arm that may have a song now, and the song that waits in it."""
        now = self._now(asked)
        own = participant_arm(connection, self._memory.opened(connection), account, arm, now)
        check_offer(own.study.design, own.state, now)
        return own, shown(connection, own)

    def _chosen(
        self, cached: CachedArm, own: ParticipantArm, offered: list[SongRow], asked: int
    ) -> _Choice:
        start = time.perf_counter()
        recommender = cached.updated(own.row, own.study.songs, offered)
        gone = set(self._gone(own.study))
        # A file may have gone since the catalogue was read.
        while len(gone) < len(own.study.songs):
            at = max(asked + _pace(own.study), own.row.last_rated_at or 0)
            song = str(recommender.recommend(1, exclude=gone, at=Decimal(at) / SECOND)[0])
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
    ) -> OfferedSong | None:
        """Return the arm's song: the choice, or what was offered while it was made."""
        study = self._memory.opened(connection)
        if study is None:
            raise no_study()
        checked_at = self._now(asked)
        before = locked_arm(connection, study, account, arm, checked_at)
        check_offer(study.design, before.state, checked_at)
        if (before.row.rated, before.row.pending) != (choice.rated, choice.instead_of):
            return shown(connection, before)
        now = max(asked + _pace(study), self._clock())
        _put(connection, arm, choice, now)
        return shown(connection, participant_arm(connection, study, account, arm, checked_at))

    def _now(self, asked: int) -> int:
        """Return the time: ratings may have come since the song was asked for."""
        return max(asked, self._clock())

    def _gone(self, study: OpenStudy) -> frozenset[str]:
        """Return the songs of a study that cannot be played now."""
        known, catalogue = self._known_gone, self._radio.catalogue
        if known is None or known.study is not study or known.catalogue is not catalogue:
            ids, rows = study.songs.ids, catalogue.ids.rows(study.songs.ids)
            missing = frozenset(ids[place] for place in np.flatnonzero(rows < 0).tolist())
            known = _Gone(study=study, catalogue=catalogue, songs=missing)
            self._known_gone = known
        return known.songs

    def _is_present(self, song: str) -> bool:
        with self._store.reading() as connection:
            record = songs.get(connection, song)
        return record is not None and record.is_present


def _pace(study: OpenStudy) -> int:
    """Return how long an answer takes, in milliseconds."""
    return round(study.design.answer_seconds * SECOND)


def _put(connection: Connection, arm: str, choice: _Choice, now: int) -> None:
    chosen: dict[str, Any] = {
        "number": choice.rated + 1,
        "song": choice.song,
        "choose_ms": choice.choose_ms,
        "now": now,
    }
    if choice.instead_of is None:
        studies.offer(connection, arm, **chosen)
    else:
        studies.offer_instead(connection, arm, instead_of=choice.instead_of.song, **chosen)

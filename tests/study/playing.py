"""A participant on a clock of their own, and an auditor who knows the rules from the paper.

The auditor looks only at what happened; it shares nothing with the code that it audits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from bandstand.errors import RefusedError
from bandstand.study.protocol import ArmState, Offered, check_begin, check_offer, check_rating

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.study.design import Design

HOURS_24 = 24 * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    number: int
    offered_at: int
    rated_at: int
    known: bool
    played_seconds: float
    song_seconds: float


@dataclass(slots=True)
class Diary:
    """What happened in one arm."""

    begun_at: int
    ratings: list[Rated] = field(default_factory=list)

    @property
    def moments(self) -> list[int]:
        return [self.begun_at, *(rated.rated_at for rated in self.ratings)]


@dataclass(slots=True)
class World:
    """One participant of a study, to whom only happens what the rules allow."""

    design: Design
    now: int = 1_700_000_000_000
    arms: list[ArmState] = field(default_factory=list)
    diaries: dict[int, Diary] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arms = [
            ArmState(
                id=f"arm {place}",
                place=place,
                begun_at=None,
                rated=0,
                last_rated_at=None,
                pending=None,
                finished=False,
            )
            for place in range(1, len(self.design.algorithms) + 1)
        ]

    def copy(self) -> World:
        """Return a world of its own to which the same has happened."""
        other = World(self.design, self.now)
        other.arms = list(self.arms)
        other.diaries = {
            arm: Diary(diary.begun_at, list(diary.ratings)) for arm, diary in self.diaries.items()
        }
        return other

    def begin(self, arm: int) -> None:
        state = self.arms[arm]
        check_begin(self.design, self.arms, state.id, self.now)
        if state.begun_at is None:
            self.arms[arm] = replace(state, begun_at=self.now)
            self.diaries[arm] = Diary(self.now)

    def offer(self, arm: int) -> None:
        state = self.arms[arm]
        check_offer(self.design, state, self.now)
        if state.pending is None:
            offered = Offered(number=state.rated + 1, song="a", offered_at=self.now)
            self.arms[arm] = replace(state, pending=offered)

    def rate(
        self, arm: int, number: int, *, known: bool, played: float, song_seconds: float
    ) -> None:
        state = self.arms[arm]
        check_rating(
            self.design,
            state,
            number,
            known=known,
            played_seconds=played,
            song_seconds=song_seconds,
            now=self.now,
        )
        assert state.pending is not None
        rated = Rated(
            number=number,
            offered_at=state.pending.offered_at,
            rated_at=self.now,
            known=known,
            played_seconds=played,
            song_seconds=song_seconds,
        )
        self.diaries[arm].ratings.append(rated)
        self.arms[arm] = replace(
            state,
            rated=number,
            last_rated_at=self.now,
            pending=None,
            finished=number >= self.design.ratings_per_arm,
        )

    def hurry_through(self) -> None:
        """Do all of it, each thing as soon as it is allowed."""
        for arm in range(len(self.arms)):
            self._as_soon_as_allowed(partial(self.begin, arm))
            for number in range(1, self.design.ratings_per_arm + 1):
                self._as_soon_as_allowed(partial(self.offer, arm))
                heard = partial(self.rate, arm, number, known=False, played=999, song_seconds=200)
                self._as_soon_as_allowed(heard)

    def _as_soon_as_allowed(self, act: Callable[[], None]) -> None:
        try:
            act()
        except RefusedError as no:
            self.now = no.until or 0
            act()


def audit(design: Design, world: World) -> None:
    """Fail unless everything that happened keeps the rules of `design`."""
    diaries = [world.diaries[arm] for arm in sorted(world.diaries)]
    # In order, one at a time: each is finished before the next begins, with a gap between.
    assert sorted(world.diaries) == list(range(len(diaries)))
    for before, after in pairwise(diaries):
        assert len(before.ratings) == design.ratings_per_arm
        assert after.begun_at - before.ratings[-1].rated_at >= design.gap_hours * 3_600_000
    # Within any 24 hours.
    for now in (moment for diary in diaries for moment in diary.moments):
        going = [
            diary for diary in diaries if any(now - HOURS_24 < at <= now for at in diary.moments)
        ]
        assert len(going) <= design.arms_per_day
    for diary in diaries:
        _audit_arm(design, diary)


def _audit_arm(design: Design, diary: Diary) -> None:
    assert [rated.number for rated in diary.ratings] == list(range(1, len(diary.ratings) + 1))
    assert len(diary.ratings) <= design.ratings_per_arm
    last = diary.begun_at
    for rated in diary.ratings:
        is_after_rest = rated.number > 1 and (rated.number - 1) % design.rest_after == 0
        rest = design.rest_seconds * 1_000 if is_after_rest else 0
        assert rated.offered_at - last >= rest
        if not rated.known:
            needed = min(design.listen_seconds, rated.song_seconds)
            assert rated.rated_at - rated.offered_at >= needed * 1_000
            # A song that is shorter is heard but for its last second.
            short = rated.song_seconds < design.listen_seconds
            assert rated.played_seconds >= needed - short
        last = rated.rated_at

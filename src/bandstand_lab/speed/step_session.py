"""A simulated listener and everybody who learns from it, from one song to the next."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from bandstand.domain import History, Songs
from bandstand_lab.speed.linucb_reference import PlainLinUcb, RankOneLinUcb
from bandstand_lab.speed.step_contenders import (
    ExactContender,
    Heard,
    LinUcbContender,
    Now,
    RecommenderContender,
)
from bandstand_lab.speed.step_times import REFERENCE, GridMoves, Phases, StepTimes
from bandstand_lab.speed.timing import Spread, in_turn, timed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand_lab.speed.step_contenders import Contender
    from bandstand_lab.speed.world import World


class Session:
    """A listener, a catalogue and the exact engine, from one song to the next."""

    def __init__(self, world: World, *, songs: int, columns: int, seed: int) -> None:
        self.rng = np.random.default_rng([seed, songs])
        self.world = world
        self.prior = world.prior_for(columns)
        self.catalogue = world.features(songs, columns, self.rng)
        self.listener = world.listener_for(columns, self.rng)
        self.last_heard = np.full(songs, -np.inf)
        self.past: list[Heard] = []
        self.exact = ExactContender(self.prior, self.catalogue, History.empty(columns))

    def hear(self, row: int, minute: float) -> Heard:
        """Return what the listener says about a song, which is then no longer new."""
        elapsed = Now(minute=minute, last_heard=self.last_heard[row : row + 1]).elapsed()
        song = Songs.of(features=self.catalogue[row : row + 1], elapsed=elapsed)
        heard = Heard(
            row=row,
            features=self.catalogue[row],
            elapsed=float(elapsed[0]),
            minute=minute,
            rating=float(self.listener.rate(song, self.rng)[0]),
        )
        self.last_heard[row] = minute
        self.past.append(heard)
        return heard

    def catch_up(self) -> None:
        """Let the exact engine learn at once all that was heard so far."""
        history = History.of(
            features=[heard.features for heard in self.past],
            elapsed=[heard.elapsed for heard in self.past],
            ratings=[heard.rating for heard in self.past],
        )
        self.exact = ExactContender(self.prior, self.catalogue, history)

    def rivals(self) -> dict[str, Contender]:
        """Return the others, each of which knows all that was heard so far."""
        history = self.exact.history
        return {
            REFERENCE: LinUcbContender(PlainLinUcb(self.catalogue, history)),
            "linucb-rank-one": LinUcbContender(RankOneLinUcb(self.catalogue, history)),
            "recommender": RecommenderContender(self.prior, self.catalogue, self.past),
        }

    def now(self, minute: float) -> Now:
        """Return the moment of the next choice."""
        return Now(minute=minute, last_heard=self.last_heard)


class Window:
    """Collects the steps of one situation."""

    def __init__(self) -> None:
        self.phases: dict[str, list[Phases]] = defaultdict(list)
        self.moved: list[bool] = []
        self.checked = self.agreed = 0

    def step(
        self, session: Session, rivals: Mapping[str, Contender], heard: Heard, now: Now
    ) -> int:
        """Let everybody learn and choose; return the exact engine's choice."""
        contenders: dict[str, Contender] = {"exact": session.exact, **rivals}
        grid, choices = session.exact.grid, {}
        for name in in_turn(list(contenders), len(self.moved)):
            phases, choices[name] = _one_step(contenders[name], heard, now)
            self.phases[name].append(phases)
        self.moved.append(session.exact.grid is not grid)
        return choices["exact"]

    def add(self, other: Window) -> None:
        """Take over the exact engine's steps of another window."""
        self.phases["exact"] += other.phases["exact"]
        self.moved += other.moved

    def check(self, session: Session, choice: int, now: Now) -> None:
        """Compare a choice with that of brute force."""
        self.checked += 1
        self.agreed += session.exact.agrees(choice, now)

    def grid_moves(self) -> GridMoves:
        """Return what the moves of the grid cost."""
        seconds = [sum(phases) for phases in self.phases["exact"]]
        moved = [time for time, move in zip(seconds, self.moved, strict=True) if move]
        others = [time for time, move in zip(seconds, self.moved, strict=True) if not move]
        return GridMoves(
            steps=len(seconds),
            moved=Spread(runs=tuple(moved)) if moved else None,
            others=Spread(runs=tuple(others)) if others else None,
        )

    def result(self, session: Session, picks: str, ratings: int) -> StepTimes:
        """Return everything that was measured."""
        return StepTimes(
            world=session.world.name,
            picks=picks,
            ratings=ratings,
            nodes=len(session.exact.grid),
            heard=int(np.isfinite(session.last_heard).sum()),
            bytes_kept=session.exact.bytes_kept(),
            bytes_of_catalogue=session.catalogue.nbytes,
            phases={name: tuple(phases) for name, phases in self.phases.items()},
            grid=self.grid_moves(),
            checked=self.checked,
            agreed=self.agreed,
        )


def _one_step(contender: Contender, heard: Heard, now: Now) -> tuple[Phases, int]:
    absorbed = timed(lambda: contender.absorb(heard))
    chosen = timed(lambda: contender.choose(now))
    return Phases(absorbed.seconds, chosen.seconds), chosen.result

"""Which song one listener hears next: rules, wishes and the listener's algorithm together.

    ledger ─ told ─ belief ┐
    rules, spacing, wish ──┴─ choice, again and again on a simulated clock for a playlist

A model is a value: `follow` returns another one. All of it follows from the ledger, the shelf and
the listener's seed, so any choice can be made again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from bandstand._util.clock import MILLISECONDS_PER_MINUTE
from bandstand.core.playlist import PlanState
from bandstand.errors import InvalidInputError
from bandstand.radio.selection import spacing as rules
from bandstand.radio.selection.chosen import Chosen, Glimpse
from bandstand.radio.selection.filters import Leeway
from bandstand.radio.selection.learner import Learner
from bandstand.radio.selection.plan_state import Evening
from bandstand.radio.selection.select import Decider
from bandstand.radio.selection.stations import Wish
from bandstand.radio.selection.training_data import (
    listening_after,
    listening_of,
    minutes_at,
    nothing_known,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bandstand.core.engines.engine import Engine
    from bandstand.core.play_times import PlayTimes
    from bandstand.core.policies import ScorePolicy
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.log.fold import Ledger
    from bandstand.radio.selection.training_data import FeaturesOf
    from bandstand.types import Minutes, Vector

MOST_SONGS: Final = 1_000  # in one playlist


@dataclass(frozen=True, kw_only=True, eq=False)
class ListenerRecommender:
    """One listener over one shelf."""

    shelf: Catalogue
    ledger: Ledger
    made_for: tuple[str, bool]  # the algorithm's name, and whether there is an intercept
    seed: int
    learner: Learner | None  # None while no song has features
    listening: PlayTimes
    leeway: Leeway

    @classmethod
    def begin(
        cls,
        shelf: Catalogue,
        ledger: Ledger,
        *,
        algorithm: str,
        intercept: bool = True,
        seed: int,
        features_of: FeaturesOf = nothing_known,
    ) -> ListenerRecommender:
        """Return the model of a listener who has told what is in `ledger`."""
        learner = Learner.begin(
            shelf,
            ledger.plays,
            algorithm=algorithm,
            intercept=intercept,
            seed=seed,
            features_of=features_of,
        )
        recent = () if learner is None else learner.told.recent
        return cls(
            shelf=shelf,
            ledger=ledger,
            made_for=(algorithm, intercept),
            seed=seed,
            learner=learner,
            listening=listening_of(shelf, ledger.plays, recent),
            leeway=Leeway(shelf),
        )

    def follow(self, ledger: Ledger) -> ListenerRecommender:
        """Return the model after a later ledger: the same as begun with it, only sooner."""
        if ledger is self.ledger:
            return self
        known, plays = self.ledger.plays, ledger.plays
        learner = None if self.learner is None else self.learner.follow(plays)
        recent = () if learner is None else learner.told.recent
        listening = listening_after(self.listening, self.shelf, known, plays, recent)
        return replace(self, ledger=ledger, learner=learner, listening=listening)

    def moved(
        self, shelf: Catalogue, ledger: Ledger, features_of: FeaturesOf
    ) -> ListenerRecommender | None:
        """Return the model of the same listener over another shelf; None where it begins anew."""
        if self.learner is None:
            return None
        intercept = self.made_for[1]
        learner = self.learner.follow(ledger.plays).moved(
            shelf, intercept=intercept, features_of=features_of
        )
        if learner is None:
            return None
        return replace(
            self,
            shelf=shelf,
            ledger=ledger,
            learner=learner,
            listening=listening_of(shelf, ledger.plays, learner.told.recent),
            leeway=Leeway(shelf),
        )

    @property
    def is_worn(self) -> bool:
        """Whether `prepared` has something to do; to find out takes no time."""
        return self.learner is not None and self.learner.is_worn

    def prepared(self) -> ListenerRecommender | None:
        """Return the same model, ready for more answers; None if it is. It may take a while."""
        learner = None if self.learner is None else self.learner.prepared()
        return None if learner is None else replace(self, learner=learner)

    @property
    def engine(self) -> Engine[Any] | None:
        """What learns; None while no song has features."""
        return None if self.learner is None else self.learner.engine

    @property
    def policy(self) -> ScorePolicy | None:
        """What chooses, with the dial in the middle; None while no song has features."""
        return None if self.learner is None else self.learner.policy

    @property
    def belief(self) -> Any:
        """What is believed of the listener; None while no song has features."""
        return None if self.learner is None else self.learner.belief

    @property
    def step(self) -> int:
        """The number of the next song, from 1."""
        return len(self.ledger.plays) + 1

    @property
    def nbytes(self) -> int:
        """About how much memory this listener takes, beside what all of them share."""
        heard = self.listening.heard_rows.nbytes + self.listening.heard_at.nbytes
        own = int(heard) + self.leeway.nbytes
        return own if self.learner is None else own + self.learner.nbytes

    def choose(
        self, *, now: int, after: Sequence[str] = (), wish: Wish | None = None, dial: float = 0.0
    ) -> Chosen:
        """Return the song to play when those in `after`, now playing or queued, are over."""
        return self.playlist(1, now=now, after=after, wish=wish, dial=dial)[0]

    def playlist(
        self,
        count: int,
        *,
        now: int,
        after: Sequence[str] = (),
        wish: Wish | None = None,
        dial: float = 0.0,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> list[Chosen]:
        """Return the next songs, each chosen as if the ones before it had been heard.

        `is_wanted` is asked before each of them; once it says no there are no more.
        """
        if not 1 <= count <= MOST_SONGS:
            msg = f"a playlist must have between 1 and {MOST_SONGS} songs, got {count}"
            raise InvalidInputError(msg)
        decider = Decider(
            shelf=self.shelf,
            learner=self.learner,
            leeway=self.leeway,
            seed=self.seed,
            wish=wish or Wish(),
            dial=dial,
            start=self._moment(now),
        )
        songs = self._songs(self._evening(decider.start, after), decider)
        return [song for _ in range(count) if is_wanted() for song in islice(songs, 1)]

    def glimpse(self, song: str, *, now: int) -> Glimpse:
        """Return what is believed of a song, on the shelf or not."""
        if self.learner is None:
            return Glimpse()
        heard = self.ledger.last_heard.get(song)
        return self.learner.glimpse(
            song, since=None if heard is None else self._moment(now) - minutes_at(heard)
        )

    def expected(self, *, now: int) -> dict[str, float | None]:
        """Return the rating that is expected of each song that may be played now, in stars.

        None where nothing is known. What was heard lately is there, with what it loses by that.
        """
        moment = self._moment(now)
        rows = rules.unbanned(self.shelf, self.ledger.rules_at(now)).rows().tolist()
        mean = self._mean(moment)
        if mean is None:
            return {self.shelf.ids[row]: None for row in rows}
        known, values = self.shelf.has_features, mean.tolist()
        return {self.shelf.ids[row]: values[row] if known[row] else None for row in rows}

    def _mean(self, moment: Minutes) -> Vector | None:
        learner = self.learner
        if learner is None or not len(learner.told.history):
            return None
        scene = PlanState(
            belief=learner.belief, listening=self.listening, now=moment, step=self.step
        )
        return scene.prediction(learner.engine, learner.catalogue, memory=learner.memory).mean()

    def _moment(self, now: int) -> Minutes:
        """Return `now` in minutes, or the last play if the clock has been set back."""
        plays = self.ledger.plays
        return minutes_at(max(now, plays[-1].at) if len(plays) else now)

    def _songs(self, evening: Evening, decider: Decider) -> Iterator[Chosen]:
        while True:
            moment = round(evening.scene.now * MILLISECONDS_PER_MINUTE)
            free = self.leeway.free(self.ledger.rules_at(moment), decider.wish.years)
            chosen = decider.next(evening, free)
            yield chosen
            evening = evening.after_planned(chosen.row)

    def _evening(self, now: Minutes, after: Sequence[str]) -> Evening:
        """Return where the listener stands when the songs in `after` are over."""
        recent, rows_of = self.ledger.recent, self.shelf.ids.rows
        last = rows_of(recent[-rules.LONGEST_GAP :])
        queued = rows_of(after).tolist()  # −1: it has just left the library
        evening = Evening(
            shelf=self.shelf,
            learner=self.learner,
            scene=PlanState(belief=self.belief, listening=self.listening, now=now, step=self.step),
            last=tuple(last[last >= 0].tolist()),
            planned=tuple(row for row in queued if row >= 0),
        )
        for place, row in enumerate(queued):
            if row < 0:
                continue
            if place == 0 and recent[-1:] == (after[0],):
                evening = evening.played_on(row)  # its play is in the ledger already
            else:
                evening = evening.after(row)
        return evening

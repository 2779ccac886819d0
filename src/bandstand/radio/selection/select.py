"""The choice of songs for one listener of the radio.

    ledger ─ training data ─ belief ┐
    rules, station, spacing ────────┴─ choice, again and again on a simulated clock for a playlist

A listener is a value: `follow` returns another one. It follows from the ledger, the catalogue and
the listener's seed, so any choice can be made again.

The dial from familiar to discover moves the quantile that Bayes-UCB compares (28):

    z(l, 0) = Φ⁻¹(level)            the algorithm's own: fixed, or the paper's 1 − 1/l at song l
    z(l, −1) = 0                    as likely to please more as less
    z(l, +1) = Φ⁻¹(level) + 2       may turn out to be liked very much

and in a straight line between them; the level is Φ(z). Algorithms without a quantile have no
dial. The quantile alone does not separate familiar from new: as long as little is known of how
fast songs recover, a song heard yesterday is less certain to please than one never heard, and a
cautious listener would get new songs only. So the dial also favours songs that were never heard,
by up to `NOVELTY_BONUS` stars, or those that were. The best song of either kind is found by
itself, and the two are compared: the search for the best needs no scores of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from bandstand._util.clock import MILLISECONDS_PER_MINUTE
from bandstand.core.engines.engine import Belief, Engine
from bandstand.core.listener_model import ListenerModel, PlanState, fitted, randomness
from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.history import Songs
from bandstand.core.model.novelty import RADIO_BASIS
from bandstand.core.model.prediction import Prediction
from bandstand.core.policies import BayesUcb, ScorePolicy
from bandstand.core.registry import RANDOM, algorithm_named
from bandstand.errors import InvalidInputError
from bandstand.music.catalogue.catalogue import Catalogue
from bandstand.radio.log.fold import Ledger
from bandstand.radio.selection.exploration_dial import NOVELTY_BONUS, policy_with
from bandstand.radio.selection.filters import (
    ANY_SONG,
    LONGEST_GAP,
    ListenerFilter,
    Station,
    drawn,
    is_any,
    sample,
    unbanned,
)
from bandstand.radio.selection.training_data import PlayReader, SongsOf, plays_in_common
from bandstand.types import Minutes

Mode: TypeAlias = Literal["model", "random", "wish"]

MAX_PLAYLIST: Final = 1_000  # songs
# In stars: songs that promise less than this more are no better.
_BETTER: Final = 0.1

LIBRARY_NOT_ANALYSED: Final = "the library is still being analysed: this song is drawn at random"
SONGS_NOT_ANALYSED: Final = (
    "none of the songs that may be played is analysed yet: this song is drawn at random"
)
FIRST_SONG: Final = "the first song is drawn at random"
NOTHING_LEARNED: Final = "nothing is known of the listener yet: this song is drawn at random"
DRAWN: Final = "the algorithm draws this song at random"


def minutes_at(moment: int) -> Minutes:
    """Return a time in minutes since 1970."""
    return Minutes(moment / MILLISECONDS_PER_MINUTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A song to play, and all that its choice was made of."""

    row: int  # in the catalogue
    song: str
    at: int  # when it begins: UTC, in milliseconds
    minutes_from_now: float
    step: int  # its number among all songs of this listener, from 1
    how: Mode
    note: str  # in words, where more than the model decided: why it was drawn at random
    situation: Songs | None  # the one song as the model saw it; None if it has no features
    minutes_since_heard: float | None  # without a limit; None if it never was
    prediction: Prediction | None = None  # of the one song; None if nothing is learned yet
    level: float | None = None  # of the quantile that decided, if one did
    score: float | None = None  # the policy's own; None if the song was drawn at random
    share_better: float | None = None  # of the songs it was chosen from, by a tenth of a star


class Learned(NamedTuple):
    """What a listener's belief was learned from, and how far ratings scatter around it."""

    answers: int = 0
    repeats: int = 0  # answers about songs heard before: recovery is learned from no others
    noise: float | None = None  # standard deviation of a rating; None where the engine has none


class _Best(NamedTuple):
    """The best of some songs; its score is None where the policy has none."""

    row: int
    prediction: Prediction
    score: float | None


class _Candidates(NamedTuple):
    """The songs that the next one is chosen from."""

    songs: CandidateSet
    how: Mode
    note: str


@dataclass(frozen=True, kw_only=True, eq=False)
class RadioListener(ListenerModel[Belief]):
    """A `ListenerModel` that learns from a ledger, over songs some of which may lack features."""

    reader: PlayReader
    ledger: Ledger
    algorithm: str  # its name
    filter: ListenerFilter
    # Before the last play, which may still be rated, or be taken back.
    earlier: RadioListener | None = None

    @classmethod
    def load(
        cls,
        catalogue: Catalogue,
        ledger: Ledger,
        *,
        algorithm: str,
        intercept: bool = True,
        seed: int,
        songs_of: SongsOf | None = None,
    ) -> RadioListener:
        """Return the listener of a whole ledger; songs are drawn while none has features."""
        named = algorithm_named(RANDOM if catalogue.named is None else algorithm)
        reader = PlayReader.over(
            catalogue, intercept=intercept, has_effects=named.has_effects, songs_of=songs_of
        )
        songs = reader.song_features
        engine: Engine[Any] = named.engine_for(reader.prior(), basis=RADIO_BASIS)
        history = reader.history(ledger.plays)
        return cls(
            song_features=songs,
            engine=engine,
            policy=named.policy,
            seed=seed,
            play_times=reader.play_times(ledger.plays),
            belief=fitted(engine, history, seed),
            cache=engine.new_cache(songs.features, table=reader.table),
            reader=reader,
            ledger=ledger,
            algorithm=algorithm,
            filter=ListenerFilter(catalogue),
        )

    @property
    def catalogue(self) -> Catalogue:
        """The songs that can be played."""
        return self.reader.catalogue

    @property
    def step(self) -> int:
        """The number of the next song, from 1."""
        return len(self.ledger.plays) + 1

    @property
    def learned(self) -> Learned:
        """What the belief was learned from."""
        history = self.history
        if not len(history):
            return Learned()
        return Learned(
            answers=len(history),
            repeats=int((history.elapsed < self.reader.never).sum()),
            noise=self.engine.summary(self.belief).noise_sd,
        )

    @property
    def nbytes(self) -> int:
        """About how much memory this listener takes, beside what all of them share."""
        return super().nbytes + self.filter.nbytes

    # ── Learning ─────────────────────────────────────────────────────────────────────────

    def follow(self, ledger: Ledger) -> RadioListener:
        """Return the listener after a later ledger: the same as loaded with it, only sooner."""
        if ledger is self.ledger:
            return self
        for known in (self, self.earlier):
            start = None if known is None else plays_in_common(known.ledger.plays, ledger.plays)
            if known is not None and start is not None:
                return known.extended(ledger, start)
        history = self.reader.history(ledger.plays)
        return replace(
            self,
            ledger=ledger,
            belief=fitted(self.engine, history, self.seed),
            play_times=self.reader.play_times(ledger.plays),
            earlier=None,
        )

    def extended(self, ledger: Ledger, start: int) -> RadioListener:
        """Return the listener after a ledger whose first `start` plays are known."""
        reader, plays, times = self.reader, ledger.plays, self.play_times
        history = reader.history(plays, self.history, start=start)
        belief, earlier = self.belief_after(history), self.earlier
        if len(plays) > start:
            is_near = len(plays) == start + 1 and self.engine.shares_arrays(belief, self.belief)
            earlier = replace(self, earlier=None) if is_near else None
        times = reader.play_times_after(times, plays, start=start)
        return replace(self, ledger=ledger, belief=belief, play_times=times, earlier=earlier)

    def migrated(
        self, catalogue: Catalogue, ledger: Ledger, songs_of: SongsOf | None = None
    ) -> RadioListener | None:
        """Return the same listener over another catalogue; None where it has to be loaded again.

        Songs that came or went change nothing of the belief, as long as the songs that were heard
        sound as they did.
        """
        reader = self.reader.onto(catalogue, songs_of)
        songs, known = reader.song_features, self.follow(ledger)
        if songs.features.shape[1] != known.history.columns:
            return None
        history = reader.history(ledger.plays)
        before = known.history
        is_same = len(history) == len(before) and all(
            np.array_equal(getattr(history, name), getattr(before, name))
            for name in ("ratings", "weights", "elapsed", "features")
        )
        is_same &= np.array_equal(history.groups.stacked(), before.groups.stacked())
        if not is_same:
            return None
        return replace(
            known,
            song_features=songs,
            cache=self.engine.new_cache(songs.features, table=reader.table),
            reader=reader,
            belief=_with_history(known.belief, history),
            play_times=reader.play_times(ledger.plays),
            filter=ListenerFilter(catalogue),
            earlier=None,
        )

    # ── Single songs ─────────────────────────────────────────────────────────────────────

    def predict_song(self, song: str, *, now: int) -> Prediction | None:
        """Return the prediction of a song, in the catalogue or not; None if nothing is known."""
        if not len(self.history):
            return None
        heard, elapsed = self.ledger.plays.heard_at(song), self.reader.never
        if heard is not None:
            elapsed = Minutes(min(max(self._minutes(now) - minutes_at(heard), 0.0), elapsed))
        found = self.reader.song(song, elapsed)
        return None if found is None else self.engine.predict(self.belief, found)

    def expected(self, *, now: int) -> dict[str, float | None]:
        """Return the expected rating of each song that may be played now, in stars.

        None where nothing is known. Songs that were heard recently are there, with the loss of
        novelty.
        """
        catalogue = self.catalogue
        rows = unbanned(catalogue, self.ledger.rules_at(now)).rows().tolist()
        mean = self.predict(self._minutes(now)).mean() if len(self.history) else None
        ids, known = catalogue.ids, catalogue.has_features
        if mean is None:
            return dict.fromkeys(ids[row] for row in rows)
        values = mean.tolist()
        return {ids[row]: values[row] if known[row] else None for row in rows}

    # ── Choosing ─────────────────────────────────────────────────────────────────────────

    def next(
        self,
        *,
        now: int,
        after: Sequence[str] = (),
        station: Station = ANY_SONG,
        dial: float = 0.0,
    ) -> Selection:
        """Return the song to play when those in `after`, now playing or queued, are over."""
        start = self._minutes(now)
        return self._select(self._state(start, after), start, station, dial)

    def playlist(
        self,
        count: int,
        *,
        now: int,
        after: Sequence[str] = (),
        station: Station = ANY_SONG,
        dial: float = 0.0,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> list[Selection]:
        """Return the next songs, each chosen as if the ones before it had been heard.

        `is_wanted` is asked before each of them; once it says no there are no more.
        """
        if not 1 <= count <= MAX_PLAYLIST:
            msg = f"a playlist must have between 1 and {MAX_PLAYLIST} songs, got {count}"
            raise InvalidInputError(msg)
        start = self._minutes(now)
        state, found = self._state(start, after), list[Selection]()
        while len(found) < count and is_wanted():
            found.append(self._select(state, start, station, dial))
            row = found[-1].row
            state = state.after(row, float(self.catalogue.minutes[row]))
        return found

    def planned(self, row: int, now: Minutes, end: Minutes) -> RadioListener:
        """Return the listener as if the song in `row` had been heard from `now` to `end`."""
        if self.catalogue.has_features[row]:
            return super().planned(row, now, end)
        return self._heard_until(row, end)

    def _heard_until(self, row: int, end: Minutes) -> RadioListener:
        """Return the listener whose last play of a song ends at `end`."""
        return replace(self, play_times=self.play_times.after(row, end))

    def _minutes(self, now: int) -> Minutes:
        """Return `now` in minutes, or the last play if the clock has been set back."""
        last = self.ledger.plays.last
        return minutes_at(now if last is None else max(now, last.at))

    def _state(self, now: Minutes, after: Sequence[str]) -> PlanState[RadioListener]:
        """Return the listener when the songs in `after` are over."""
        state = PlanState(model=self, now=now, step=self.step)
        for place, row in enumerate(self.catalogue.ids.rows(after).tolist()):
            if row < 0:  # it has just left the library
                continue
            minutes = float(self.catalogue.minutes[row])
            if place == 0 and self.ledger.recent[-1:] == (after[0],):
                # Its play is in the ledger already.
                end = Minutes(now + minutes)
                heard = self._heard_until(row, end)
                state = replace(state, model=heard, now=end, planned=(row,))
            else:
                state = state.after(row, minutes)
        return state

    def _select(
        self, state: PlanState[RadioListener], start: Minutes, station: Station, dial: float
    ) -> Selection:
        """Return the song that follows, by the model if it knows anything, or else at random."""
        found, model = self._candidates(state, station), state.model
        known = self.filter.with_features(found.songs)
        if self.catalogue.named is None:
            return _draw(state, start, found, LIBRARY_NOT_ANALYSED)
        if known is not found.songs and not is_any(known):
            return _draw(state, start, found, SONGS_NOT_ANALYSED)
        found = found._replace(songs=known)
        if not len(model.history):
            why = FIRST_SONG if state.step == 1 else NOTHING_LEARNED
            return _draw(state, start, found, why)
        return _by_model(state, start, found, dial)

    def _candidates(self, state: PlanState[RadioListener], station: Station) -> _Candidates:
        """Return the songs that rules, years, station and spacing leave."""
        moment = round(state.now * MILLISECONDS_PER_MINUTE)
        eligible = self.filter.eligible(self.ledger.rules_at(moment), station.years)
        songs, is_own, note = eligible.songs, False, ""
        if station.start:
            found = self.filter.station(station, eligible)
            songs, is_own, note = found.next(state.model.play_times, state.now)
        rows = self.catalogue.ids.rows(self.ledger.recent[-LONGEST_GAP:])
        last = dict.fromkeys([*state.planned[::-1], *rows[rows >= 0][::-1].tolist()])
        left = eligible.spacing.left(self.catalogue, songs, [*last], once=state.planned)
        return _Candidates(left, "wish" if is_own else "model", note)


def _with_history(belief: Belief, history: Any) -> Belief:
    """Return the same belief with the history as another catalogue has it."""
    changed: Belief = replace(belief, history=history)  # type: ignore[type-var]
    return changed


# ── One choice ───────────────────────────────────────────────────────────────────────────


def _draw(
    state: PlanState[RadioListener], start: Minutes, found: _Candidates, why: str
) -> Selection:
    """Return a song drawn at random; a station's own song comes as no surprise."""
    row = drawn(found.songs, randomness(state.model.seed, state.step, "choose"))
    return _selection(state, start, row, found if found.how == "wish" else _at_random(found, why))


def _by_model(
    state: PlanState[RadioListener], start: Minutes, found: _Candidates, dial: float
) -> Selection:
    # Something is known, so that the first song is over.
    step = max(state.step, 2)
    policy = policy_with(state.model.policy, step=step, dial=dial)
    level = policy.level_at(step) if isinstance(policy, BayesUcb) else None
    bonus = 0.0 if level is None else NOVELTY_BONUS * dial
    best = _best(state, policy, step, found.songs, bonus)
    if best.score is None:
        drawn_or_own = found if found.how == "wish" else _at_random(found, DRAWN)
        return replace(_selection(state, start, best.row, drawn_or_own), prediction=best.prediction)
    return replace(
        _selection(state, start, best.row, found),
        prediction=best.prediction,
        level=level,
        score=best.score,
        share_better=_share_better(state, best, found.songs),
    )


def _at_random(found: _Candidates, why: str) -> _Candidates:
    return found._replace(how="random", note=found.note or why)


def _best(
    state: PlanState[RadioListener],
    policy: ScorePolicy,
    step: int,
    songs: CandidateSet,
    bonus: float,
) -> _Best:
    """Return the best of `songs`, of which there are some; `bonus` is for those never heard."""
    model, prediction = state.model, state.model.predict(state.now)
    found = []
    groups = _by_familiarity(state, songs, bonus) if bonus else [(songs, 0.0)]
    for some, favour in groups:
        rng = randomness(model.seed, state.step, "choose")
        rows = policy.choose(prediction, step=step, rng=rng, count=1, allowed=some)
        alone = model.predict(state.now, rows)
        # The same randomness: a listener is drawn, whatever the songs.
        again = randomness(model.seed, state.step, "choose")
        score = policy.preferences(alone, step=step, rng=again)
        value = None if score is None else float(score[0]) + favour
        found.append(_Best(int(rows[0]), alone, value))
    return max(found, key=lambda best: -np.inf if best.score is None else best.score)


def _by_familiarity(
    state: PlanState[RadioListener], songs: CandidateSet, bonus: float
) -> Iterator[tuple[CandidateSet, float]]:
    """Yield the songs that were never heard, with their bonus, and the others."""
    heard = state.model.play_times.heard_rows
    never, again = songs.without(heard), heard[songs.contains(heard)]
    if is_any(never):
        yield never, bonus
    if len(again):
        yield CandidateSet.only(again, songs.count), 0.0


def _share_better(
    state: PlanState[RadioListener], best: _Best, songs: CandidateSet
) -> float | None:
    """Return the fraction of `songs` that promise clearly more, from a sample of many."""
    own, expected = best.prediction.mean(), state.model.predict(state.now, sample(songs)).mean()
    if own is None or expected is None:
        return None
    return float(np.mean(expected >= own[0] + _BETTER))


def _selection(
    state: PlanState[RadioListener], start: Minutes, row: int, found: _Candidates
) -> Selection:
    model = state.model
    since = float(state.now - model.play_times.last_heard_of([row])[0])
    has_features = bool(model.catalogue.has_features[row])
    return Selection(
        row=row,
        song=model.catalogue.ids[row],
        at=round(state.now * MILLISECONDS_PER_MINUTE),
        minutes_from_now=float(state.now - start),
        step=state.step,
        how=found.how,
        note=found.note,
        situation=model.songs(state.now).take([row]) if has_features else None,
        minutes_since_heard=max(since, 0.0) if np.isfinite(since) else None,
    )

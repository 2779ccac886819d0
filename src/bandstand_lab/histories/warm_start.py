"""What an import is worth: the first songs of a radio that has learned the first half of a history.

    first half ─ import ─ belief ─ the first songs ─┐
    second half: what became of the same songs ─────┴─ score, beside that of a newcomer

score      songs to choose from                      what a song scores
`again`    all that the listener ever played         1 if it was heard in the second half, else 0
`unskipped` those judged at least `LEAST_PLAYS`      share of its plays there that were not skipped
           times in the second half

Heard is half a minute or more; a play of less than two seconds judges nothing, as in the radio. A
newcomer's first songs are drawn, so their expected score is the mean of all. Nothing is known of a
song but which it is: so all that can help is what became of the same song before. The intervals are
of the gain when the chosen songs, and all songs, are drawn again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import people_prior
from bandstand.core.model.song_groups import SongGroups
from bandstand.core.registry import WITH_NAMES, algorithm_named
from bandstand.radio.log.evidence import MIN_JUDGED_MS
from bandstand.radio.log.past import Counted, Past, past_of
from bandstand.store.events.imports import LISTEN, ROW, SKIP, UNKNOWN, Segment
from bandstand.types import AnyArray, Vector
from bandstand_lab.histories.findings import is_heard, is_skip
from bandstand_lab.histories.plays import PlayHistory

FIRST_SONGS: Final = 50
LEAST_PLAYS: Final = 3
_DRAWS: Final = 2_000
_MINUTE: Final = 60.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One score of the songs of one listener."""

    chosen: Vector  # of the first songs after the import
    every: Vector  # of all songs that could be chosen

    @property
    def gain(self) -> float:
        """How much better the first songs are than a newcomer's."""
        return float(self.chosen.mean() - self.every.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmStart:
    """The scores of one listener."""

    name: str
    imported: int  # plays
    again: Score
    unskipped: Score


def warm_start(history: PlayHistory) -> WarmStart | None:
    """Return the scores of a listener; None where too few songs can be judged."""
    half = len(history) // 2
    songs, unskipped = _unskipped(history, half)
    if len(songs) < 2 * FIRST_SONGS:
        return None
    now = history.times[half]
    past = past_of([Counted(_segment(history, half), 1, int(1_000 * now))], [])
    every = np.unique(history.items)
    heard = history.items[half:][is_heard(history)[half:]]
    again = np.isin(every, heard).astype(np.float64)
    return WarmStart(
        name=history.name,
        imported=half,
        again=Score(chosen=again[_first_songs(past, every, now)], every=again),
        unskipped=Score(chosen=unskipped[_first_songs(past, songs, now)], every=unskipped),
    )


COLUMNS: Final = ("listener", "share", "newcomer", "after import", "gain", "95 %")


def rows(found: Sequence[WarmStart]) -> list[tuple[str, ...]]:
    """Return the rows of a table: of each listener and of all, by both scores."""
    table = list[tuple[str, ...]]()
    for title, of in (("heard again", "again"), ("not skipped", "unskipped")):
        groups = [(one.name, [one]) for one in found] + [("all", list(found))]
        for name, some in groups if len(found) > 1 else groups[:1]:
            scores: list[Score] = [getattr(one, of) for one in some]
            newcomer = float(np.mean([one.every.mean() for one in scores]))
            gain = float(np.mean([one.gain for one in scores]))
            low, high = interval(scores, rng=np.random.default_rng(0))
            numbers = (f"{newcomer:.3f}", f"{newcomer + gain:.3f}", f"{gain:+.3f}")
            table.append((name, title, *numbers, f"{low:+.3f} to {high:+.3f}"))
    return table


def interval(found: Sequence[Score], *, rng: np.random.Generator) -> tuple[float, float]:
    """Return the 95 % interval of the mean gain over listeners."""

    def drawn(scores: Vector) -> Vector:
        return np.array([rng.choice(scores, len(scores)).mean() for _ in range(_DRAWS)])

    gains = np.mean([drawn(one.chosen) - drawn(one.every) for one in found], axis=0)
    low, high = np.quantile(gains, [0.025, 0.975])
    return float(low), float(high)


def _unskipped(history: PlayHistory, half: int) -> tuple[AnyArray, Vector]:
    """Return the songs that can be judged, and the share of their plays that were not skipped."""
    skipped = np.where(history.played < MIN_JUDGED_MS / 1_000, np.nan, is_skip(history))[half:]
    known = np.flatnonzero(~np.isnan(skipped))
    songs, place = np.unique(history.items[half:][known], return_inverse=True)
    plays = np.bincount(place, minlength=len(songs))
    heard = np.bincount(place, weights=1.0 - skipped[known], minlength=len(songs))
    enough = plays >= LEAST_PLAYS
    return songs[enough], heard[enough] / plays[enough]


def _segment(history: PlayHistory, half: int) -> Segment:
    """Return the first half of a history as it would be imported."""
    rows = np.zeros(half, dtype=ROW)
    rows["song"] = history.items[:half]
    rows["at"] = history.times[:half]
    played = 1_000 * history.played[:half]
    rows["value"] = np.where(np.isnan(played), UNKNOWN, np.nan_to_num(played))
    rows["kind"] = np.where(is_skip(history)[:half] == 1.0, SKIP, LISTEN)
    ids = [f"{item:016x}" for item in range(int(history.items.max()) + 1)]
    return Segment(songs=np.array(ids, dtype="S16"), rows=rows, report={})


def _first_songs(past: Past, songs: AnyArray, now: float) -> AnyArray:
    """Return which songs the radio would play first, by its own algorithm and prior."""
    algorithm = algorithm_named(WITH_NAMES)
    engine = algorithm.engine_for(people_prior(1))
    item = np.array([int(song, 16) for song in past.songs])[past.song]
    rows = np.flatnonzero(past.weight > 0)
    since = past.since[rows] / 1_000 / _MINUTE
    history = History.of(
        features=np.ones((len(rows), 1)),
        elapsed=np.where(since < 0, np.inf, since),
        ratings=past.rating[rows],
        weights=past.weight[rows],
        groups=_songs_alone(item[rows]),
    )
    heard = np.full(max(int(songs.max()), int(item.max())) + 1, -np.inf)
    np.maximum.at(heard, item, past.at / 1_000)
    prediction = engine.predict(
        engine.fit(history, rng=np.random.default_rng(0)),
        Songs.of(
            features=np.ones((len(songs), 1)),
            elapsed=(now - heard[songs]) / _MINUTE,
            groups=_songs_alone(songs),
        ),
    )
    chosen: AnyArray = algorithm.policy.choose(
        prediction,
        step=len(rows) + 1,
        rng=np.random.default_rng(0),
        count=FIRST_SONGS,
        allowed=np.arange(len(songs)),
    )
    return chosen


def _songs_alone(items: AnyArray) -> SongGroups:
    """Return groups of songs of which neither album nor artist is known."""
    unknown = SongGroups.unknown(len(items))
    return SongGroups.of(song=items, album=unknown.album, artist=unknown.artist)

"""Randomised choices beside those of brute force: every song's quantile, one by one.

Listeners walk through catalogues of many kinds. They hear songs again and again, take ratings
back, ask with and without filters, and plan playlists. The recommender keeps what it needs for a
quick search from one question to the next; brute force (`predict(only=…)`) keeps nothing. A choice
is wrong if brute force finds a song that is better by more than rounding; songs that are equal may
come in any order.

Most catalogues are small, so that many cases are tested. Some are larger than what a search keeps
of them, so that songs are left out and have to be excluded by bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from bandstand.core.model.candidates import CandidateSet, best_rows
from bandstand.core.model.history import Songs
from bandstand.core.model.priors import paper_prior, radio_prior
from bandstand.core.recommender import Recommender
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH
from bandstand_lab.report.tasks import run_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.types import AnyArray, Indices, Vector
    from benchmarks.program import OnRun

ENGINES: Final = {"exact": "bayes-ucb-cn-x", "variational": "bayes-ucb-cn-v"}
# Of the values that are compared; the search and brute force add in another order.
_ROUNDING: Final = 1e-10
_WALK_CASES: Final = 12
_SMALL_SONGS: Final = 400
_LARGE_SONGS: Final = (1_500, 4_000)
_LARGE_SHARE: Final = 0.2  # of all catalogues
_MAX_COLUMNS: Final = 10
_MAX_PLAYLIST: Final = 5
_PAUSES: Final = (1.0, 60.0, 3_000.0)  # minutes
_SONG_MINUTES: Final = 4.0


class Compared(NamedTuple):
    """One choice beside brute force."""

    right: bool  # no allowed song is better, but for rounding
    same_rows: bool
    kind: str = "question"  # "question", "filtered" or "playlist"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The `count` best songs at a level of the quantile, of those that are allowed."""

    level: float
    count: int
    allowed: CandidateSet

    @classmethod
    def drawn(cls, songs: int, rng: np.random.Generator) -> Question:
        """Return any question about `songs` songs."""
        level = float(rng.choice([0.01, 0.3, 0.6, 0.9, 0.99, 0.9999, rng.uniform(0.02, 0.98)]))
        count = int(rng.choice([1, 1, 1, 3, 50, songs + 1]))
        return cls(level=level, count=count, allowed=_drawn_allowed(songs, rng))


class Walk:
    """A listener who rates and asks; `cases` yields one comparison after the other."""

    def __init__(self, engine: str, rng: np.random.Generator) -> None:
        self.rng, self.minute = rng, 0.0
        features = _drawn_features(rng)
        columns = features.shape[1]
        self.recommender = Recommender(
            features=features,
            raw=True,
            algorithm=ENGINES[engine],
            prior=radio_prior(columns) if rng.random() < 0.5 else paper_prior(columns),
        )
        self.songs, self.taste = len(features), rng.normal(size=columns)
        for _ in range(int(rng.integers(1, 30))):
            self._rate(self._any_row())

    def cases(self) -> Iterator[Compared]:
        """Yield comparisons, and walk on between them."""
        while True:
            yield self._asked()
            if self.rng.random() < 0.4:
                yield from self._playlist(int(self.rng.integers(2, _MAX_PLAYLIST + 1)))
            self._rate(self._any_row())
            if self.rng.random() < 0.1:
                self.recommender.undo()
            self.minute += float(self.rng.choice(_PAUSES))

    def _asked(self) -> Compared:
        question, now = Question.drawn(self.songs, self.rng), 60 * self.minute
        found = self.recommender.predict(at=now).best_by_quantile(
            question.level, question.count, question.allowed
        )
        everything = self.recommender.predict(only=range(self.songs), at=now)
        kind = "question" if len(question.allowed.rows()) == self.songs else "filtered"
        outcome = compared(found, everything.quantile(question.level), question)
        return outcome._replace(kind=kind)

    def _playlist(self, count: int) -> Iterator[Compared]:
        """Yield the songs of a playlist, each chosen as if those before had been heard."""
        radio = self.recommender
        planned = radio.playlist(count, minutes=_SONG_MINUTES, at=60 * self.minute)
        belief, ended_at = radio.model.belief, dict[int, float]()
        for place, one in enumerate(planned):
            now = self.minute + place * _SONG_MINUTES
            songs, row = self._songs_at(now, ended_at), cast("int", one.song)
            prediction = radio.model.engine.predict(belief, songs)
            scores = radio.model.policy.scores(
                prediction, step=radio.step + place, rng=np.random.default_rng(0)
            )
            question = Question(level=0.5, count=1, allowed=CandidateSet.everything(self.songs))
            yield compared(np.array([row]), scores, question)._replace(kind="playlist")
            belief = radio.model.engine.plan(belief, songs.take([row]))
            ended_at[row] = now + _SONG_MINUTES

    def _songs_at(self, minute: float, ended_at: dict[int, float]) -> Songs:
        """Return all songs at a moment after planned ones have ended."""
        elapsed = np.array(self.recommender.elapsed(at=60 * minute))
        for row, end in ended_at.items():
            elapsed[row] = min(max(minute - end, 0.0), MONTH)
        return Songs.of(features=self.recommender.model.song_features.features, elapsed=elapsed)

    def _any_row(self) -> int:
        """Return a song, every other time one that was heard before."""
        heard = self.recommender.answers
        if heard and self.rng.random() < 0.5:
            return cast("int", heard[int(self.rng.integers(len(heard)))].song)
        return int(self.rng.integers(self.songs))

    def _rate(self, row: int) -> None:
        elapsed = float(self.recommender.elapsed(at=60 * self.minute)[row])
        liking = float(self.recommender.model.song_features.features[row] @ self.taste)
        rating = liking * -np.expm1(-elapsed / 300.0) + float(self.rng.normal())
        self.recommender.update(row, rating, time=60 * self.minute)
        self.minute += float(self.rng.choice(_PAUSES))


def compared(found: Indices, values: Vector | None, question: Question) -> Compared:
    """Return whether `found` are the best by `values`, those of all songs."""
    if values is None:
        return Compared(right=not len(found), same_rows=not len(found))
    best = best_rows(values, question.count, question.allowed.rows())
    if len(found) != len(best) or not question.allowed.contains(found).all():
        return Compared(right=False, same_rows=False)
    scale = float(np.abs(values).max(initial=0.0))
    near = np.allclose(values[found], values[best], rtol=0, atol=_ROUNDING * scale)
    return Compared(right=bool(near), same_rows=bool((found == best).all()))


def measure_correctness(
    *, cases: int, seed: int, on_run: OnRun, workers: int | None = None
) -> dict[str, Any]:
    """Return how many choices were wrong, of at least `cases`: half of each engine."""
    if cases < 1:
        msg = f"cases must be at least 1, got {cases}"
        raise InvalidInputError(msg)
    on_run(f"{cases:,} choices beside brute force")
    walks = -(-cases // (len(ENGINES) * _WALK_CASES))
    tasks = [(engine, seed, walk) for engine in ENGINES for walk in range(walks)]
    found: dict[str, list[Compared]] = {engine: [] for engine in ENGINES}
    wrong_walks = []
    for number, choices in run_tasks(_walked, tasks, workers=workers):
        found[tasks[number][0]] += choices
        if not all(one.right for one in choices):
            wrong_walks.append(tasks[number])
    rows = [_row(engine, choices) for engine, choices in found.items()]
    return {
        "rows": rows,
        "figures": {"choices unlike brute force": sum(row["wrong"] for row in rows)},
        "wrong_walks": wrong_walks[:10],
    }


def _walked(task: tuple[str, int, int]) -> list[Compared]:
    """Return the choices of one listener; the task is an engine, a seed and a walk's number."""
    engine, *seeds = task
    rng = np.random.default_rng([*seeds, [*ENGINES].index(engine)])
    return list(islice(Walk(engine, rng).cases(), _WALK_CASES))


def _row(engine: str, choices: list[Compared]) -> dict[str, Any]:
    return {
        "engine": engine,
        "cases": len(choices),
        "wrong": sum(not one.right for one in choices),
        "same_rows": sum(one.same_rows for one in choices),
        "filtered": sum(one.kind == "filtered" for one in choices),
        "in_playlists": sum(one.kind == "playlist" for one in choices),
    }


def _drawn_features(rng: np.random.Generator) -> AnyArray:
    """Return a catalogue: perhaps with far larger songs, equal songs, an intercept, or a zero."""
    songs = int(rng.choice([1, 2, 30, *rng.integers(3, _SMALL_SONGS, size=7)]))
    if rng.random() < _LARGE_SHARE:
        songs = int(rng.integers(*_LARGE_SONGS))
    columns = int(rng.integers(1, _MAX_COLUMNS + 1))
    features = rng.normal(size=(songs, columns)) * rng.choice([0.1, 1.0, 3.0])
    kind = rng.integers(4)
    if kind == 1:
        features *= np.exp(rng.normal(size=(songs, 1)))
    elif kind == 2:
        features[songs // 2 :] = features[: songs - songs // 2]
    elif kind == 3:
        features[:, -1] = 1.0
    if rng.random() < 0.2:
        features[int(rng.integers(songs))] = 0.0
    return np.asarray(features, dtype=np.float32 if rng.random() < 0.5 else np.float64)


def _drawn_allowed(songs: int, rng: np.random.Generator) -> CandidateSet:
    everything = CandidateSet.everything(songs)
    kind = rng.integers(4)
    if kind == 1:
        return CandidateSet.only(rng.integers(songs, size=max(1, songs // 4)), songs)
    if kind == 2:
        return everything.without(rng.integers(songs, size=songs // 4))
    if kind == 3:
        keep = rng.random(songs) < rng.choice([0.05, 0.5, 0.95])
        return everything.where(lambda rows: keep[rows])
    return everything

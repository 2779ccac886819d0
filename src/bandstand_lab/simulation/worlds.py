"""Worlds: where the songs and the listener of each run of an experiment come from.

A world is a small frozen value that can be sent to another process. What it draws for a run
depends on the seed and the number of the run alone, so every algorithm meets the same people
and the same songs there (common random numbers).

`GaussianWorld`  the paper's simulation: songs and tastes are drawn from normal distributions
`TableWorld`     the features of a real catalogue, tastes drawn as in the paper
`TasteWorld`     songs are mixtures of genres, and the listeners are the people of a survey
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import numpy as np

from bandstand._util.csv_tables import check_columns, number, read_items, read_table, refuse, shown
from bandstand.core.model.history import checked_features
from bandstand.core.model.priors import require_positive
from bandstand.core.model.scaling import LARGEST_FEATURE, Standardiser
from bandstand.core.recommender import Recommender
from bandstand.errors import InvalidInputError
from bandstand.types import frozen
from bandstand_lab.simulation.listener import SimulatedListener, StarListener, drawn_recovery_time
from bandstand_lab.simulation.session import stream

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand._util.csv_tables import Row
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import Matrix, Vector
    from bandstand_lab.simulation.listener import Listener

Scale: TypeAlias = Literal["entries", "norm"]
SCALES: Final = ("entries", "norm")

LOWEST_LIKING: Final = 1.0
HIGHEST_LIKING: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """One listener and the songs of one run; `raw` and `prior` are those of the radio."""

    features: Matrix
    listener: Listener
    raw: bool
    prior: ListenerPrior | None = None

    def radio(self, algorithm: str, *, seed: int) -> Recommender:
        """Return a radio that knows the songs, and nothing of the listener."""
        return Recommender(
            features=self.features,
            algorithm=algorithm,
            raw=self.raw,
            prior=self.prior,
            seed=seed,
        )


class World(Protocol):
    """Draws what each run of an experiment needs."""

    def meeting(self, run: int, seed: int) -> Meeting:
        """Return the songs and the listener of run number `run`, counted from 0."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what this world is made of, ready to be written as JSON."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianWorld:
    """The paper's simulation (section 5.2.1): songs and listener are drawn in each run.

    scale      features       squared norm of a song, in the mean
    "entries"  x ~ N(0, 1)    p
    "norm"     x ~ N(0, 1/p)  1

    θ ~ N(0, I) and s ~ U(100, 1000) in both; the paper gives neither the scale nor the noise.

    >>> world = GaussianWorld(songs=3, features=2, scale="entries")
    >>> meeting = world.meeting(0, 7)
    >>> meeting.features.shape, len(meeting.listener.preference)
    ((3, 2), 2)
    """

    songs: int = 10_000
    features: int = 91
    scale: Scale = "entries"
    noise_standard_deviation: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a world without songs."""
        _check_counts(songs=self.songs, features=self.features)
        _check_scale(self.scale)
        _check_noise(self.noise_standard_deviation)

    def meeting(self, run: int, seed: int) -> Meeting:
        """Return new songs and a new listener."""
        drawn = stream(seed, "songs", run).standard_normal((self.songs, self.features))
        return Meeting(
            features=frozen(_scaled(drawn, self.scale)),
            listener=_paper_listener(self.features, run, seed, self.noise_standard_deviation),
            raw=True,
        )

    def describe(self) -> dict[str, Any]:
        """Return the settings."""
        return {"kind": "gaussian", **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWorld:
    """The songs of a real catalogue, the same in each run; the listener is drawn as in the paper.

    Each column of the table is brought to mean 0 and variance 1, so that features in any units
    can be given; a constant column becomes 0. With the scale "norm" all
    is divided by √p, which makes the mean squared norm of a song 1.
    """

    features: Matrix
    noise_standard_deviation: float = 1.0
    scale: Scale = "entries"

    def __post_init__(self) -> None:
        """Refuse a table that is not one."""
        checked = np.asarray(self.features, dtype=np.float64)
        rows, columns = checked.shape if checked.ndim == 2 else (0, 0)
        _check_counts(songs=rows, features=columns)
        _check_scale(self.scale)
        _check_noise(self.noise_standard_deviation)

    def meeting(self, run: int, seed: int) -> Meeting:
        """Return all songs and a new listener."""
        applied = Standardiser.fit(self.features).apply(self.features)
        standardised: Matrix = np.asarray(applied[:, :-1], dtype=np.float64)
        columns = standardised.shape[1]
        return Meeting(
            features=frozen(_scaled(standardised, self.scale)),
            listener=_paper_listener(columns, run, seed, self.noise_standard_deviation),
            raw=True,
        )

    def describe(self) -> dict[str, Any]:
        """Return the settings and the size of the table."""
        songs, columns = self.features.shape
        return {
            "kind": "table",
            "songs": songs,
            "features": columns,
            "scale": self.scale,
            "noise_standard_deviation": self.noise_standard_deviation,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TasteWorld:
    """People of a survey, who said how they like each genre, and songs that are mixtures of genres.

    code             maths  shape             meaning
    `likings`        g      (people, genres)  from 1 to 5
    `concentration`  α                        w ~ Dirichlet(α, …, α): the genres of a song

    An unheard song deserves w'g stars: a song between two genres is liked by as much as its
    shares in them say. The listener answers in whole stars (`StarListener`), and the radio is
    the one of real listeners: standardised features with an intercept, and the broad prior.
    In each run another person of the survey and new songs are drawn.
    """

    likings: Matrix
    songs: int = 1_000
    concentration: float = 0.1
    noise_standard_deviation: float = 0.5

    def __post_init__(self) -> None:
        """Refuse likings outside of the scale."""
        table = checked_features(self.likings)
        _check_counts(people=table.shape[0], genres=table.shape[1], songs=self.songs)
        require_positive(concentration=self.concentration)
        _check_noise(self.noise_standard_deviation)
        outside = (table < LOWEST_LIKING) | (table > HIGHEST_LIKING)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            msg = (
                f"likings must be from {LOWEST_LIKING:g} to {HIGHEST_LIKING:g}, "
                f"got {table[row, column]} in row {row}"
            )
            raise InvalidInputError(msg)

    def meeting(self, run: int, seed: int) -> Meeting:
        """Return new songs, and one of the people."""
        people, genres = self.likings.shape
        for_listener = stream(seed, "listener", run)
        # Each person once before any twice: the same person again is no new evidence.
        round_number, place = divmod(run, people)
        likings = self.likings[stream(seed, "people", round_number).permutation(people)[place]]
        alpha = np.full(genres, self.concentration)
        mixtures = stream(seed, "songs", run).dirichlet(alpha, self.songs)
        return Meeting(
            features=frozen(mixtures),
            listener=StarListener(
                feeling=SimulatedListener(
                    preference=_in_standard_units(likings, mixtures),
                    recovery_time=drawn_recovery_time(for_listener),
                    noise_standard_deviation=self.noise_standard_deviation,
                )
            ),
            raw=False,
        )

    def describe(self) -> dict[str, Any]:
        """Return the settings and the size of the survey."""
        people, genres = self.likings.shape
        return {
            "kind": "taste",
            "people": people,
            "genres": genres,
            "songs": self.songs,
            "concentration": self.concentration,
            "noise_standard_deviation": self.noise_standard_deviation,
        }


def _in_standard_units(likings: Vector, mixtures: Matrix) -> Vector:
    """Return θ such that θ'[z, 1] = g'w, z being w as the radio standardises it.

    w = mean + sd · z column by column, so g'w = Σ (g·sd) z + g'mean.
    """
    units = Standardiser.fit(mixtures)
    preference: Vector = frozen(np.append(likings * units.standard_deviation, likings @ units.mean))
    return preference


def _paper_listener(columns: int, run: int, seed: int, noise: float) -> SimulatedListener:
    return SimulatedListener.drawn(
        columns, stream(seed, "listener", run), noise_standard_deviation=noise
    )


def _scaled(features: Matrix, scale: Scale) -> Matrix:
    return features if scale == "entries" else features / math.sqrt(features.shape[1])


def _check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if not isinstance(count, int | np.integer) or count < 1:
            msg = f"the number of {name} must be a whole number of at least 1, got {count!r}"
            raise InvalidInputError(msg)


def _check_scale(scale: str) -> None:
    if scale not in SCALES:
        msg = f"the scale must be one of {', '.join(SCALES)}, got {scale!r}"
        raise InvalidInputError(msg)


def _check_noise(noise_standard_deviation: float) -> None:
    if not 0 <= noise_standard_deviation < math.inf:
        msg = (
            "noise_standard_deviation must be finite and not negative, "
            f"got {noise_standard_deviation}"
        )
        raise InvalidInputError(msg)


# ── CSV files: features of real songs, and liking of genres ──────────────────────────────
# An error names the file and the line.


# Names of songs: `id` in a table of items, `file` in what `bandstand features --csv` writes.
_SONG_NAMES: Final = ("id", "file")
# Names of people, and questions of the Young People Survey about music that are of no genre.
_NO_GENRES: Final = ("person", "id", "Music", "Slow songs or fast songs")


def read_feature_table(path: Path) -> Matrix:
    """Return the features of all songs of a file: a column `id` or `file`, otherwise numbers."""
    return read_items(path, limit=LARGEST_FEATURE, id_columns=_SONG_NAMES).features


def read_tastes(path: Path) -> Matrix:
    """Return how much each person likes each genre, from 1 to 5: (people, genres).

    Each column is a genre, but for the names of the people (`person` or `id`). A genre without
    an answer counts as the mean of that person's others.
    """
    top, header, rows = read_table(path, "a column for each genre")
    check_columns(path, top, header, required=())
    genres = [place for place, name in enumerate(header) if name not in _NO_GENRES]
    if not genres:
        refuse(path, top, "there must be a column for at least one genre, got none")
    people = [_likings(path, header, genres, row) for row in rows]
    if not people:
        refuse(path, None, "there must be at least one person, got none")
    likings: Matrix = frozen(people)
    return likings


def _likings(path: Path, header: list[str], genres: list[int], row: Row) -> list[float]:
    said = [_liking(path, header[place], row.line, row.fields[place]) for place in genres]
    known = [value for value in said if not math.isnan(value)]
    if not known:
        refuse(path, row.line, "a person must have said something about a genre, got nothing")
    mean = float(np.mean(known))
    return [mean if math.isnan(value) else value for value in said]


def _liking(path: Path, genre: str, line: int, field: str) -> float:
    """Return what was said about a genre; NaN for nothing."""
    if not field.strip():
        return math.nan
    value = number(path, line, shown(genre), field, math.inf)
    if not LOWEST_LIKING <= value <= HIGHEST_LIKING:
        scale = f"from {LOWEST_LIKING:g} to {HIGHEST_LIKING:g}"
        refuse(path, line, f"{shown(genre)} must be {scale}, got {shown(field)}")
    return value

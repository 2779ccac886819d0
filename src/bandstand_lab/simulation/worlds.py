"""Worlds: where the songs and the listener of each run of an experiment come from.

A world is a small frozen value that can be sent to another process. What it draws for a run
depends on the seed and the number of the run alone, so every algorithm meets the same listeners
and the same songs there (common random numbers).

`GaussianWorld`  the paper's simulation: songs and tastes are drawn from normal distributions
`TableWorld`     the features of a real catalogue, tastes drawn as in the paper
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias

import numpy as np

from bandstand.core.model.scaling import Standardiser
from bandstand.core.recommender import Recommender
from bandstand.errors import InvalidInputError
from bandstand.types import Matrix, frozen
from bandstand_lab.simulation.listener import SimulatedListener
from bandstand_lab.simulation.session import stream

Scale: TypeAlias = Literal["entries", "norm"]
SCALES: Final = ("entries", "norm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """One listener and the songs of one run, as the radio gets them."""

    features: Matrix
    listener: SimulatedListener

    def radio(self, algorithm: str, *, seed: int) -> Recommender:
        """Return a radio that knows the songs, and nothing of the listener."""
        return Recommender(features=self.features, algorithm=algorithm, raw=True, seed=seed)


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
        _check(self.songs, self.features, self.scale, self.noise_standard_deviation)

    def meeting(self, run: int, seed: int) -> Meeting:
        """Return new songs and a new listener."""
        drawn = stream(seed, "songs", run).standard_normal((self.songs, self.features))
        return _meeting(drawn, self.scale, self.noise_standard_deviation, run, seed)

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
        shape = np.shape(self.features)
        rows, columns = shape if len(shape) == 2 else (0, 0)
        _check(rows, columns, self.scale, self.noise_standard_deviation)

    def meeting(self, run: int, seed: int) -> Meeting:
        """Return all songs and a new listener."""
        applied = Standardiser.fit(self.features).apply(self.features)
        standardised: Matrix = np.asarray(applied[:, :-1], dtype=np.float64)
        return _meeting(standardised, self.scale, self.noise_standard_deviation, run, seed)

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


def _meeting(features: Matrix, scale: Scale, noise: float, run: int, seed: int) -> Meeting:
    """Return songs of that scale, and a new listener of the paper's kind."""
    columns = features.shape[1]
    rng = stream(seed, "listener", run)
    return Meeting(
        features=frozen(features if scale == "entries" else features / math.sqrt(columns)),
        listener=SimulatedListener.drawn(columns, rng, noise_standard_deviation=noise),
    )


def _check(songs: int, features: int, scale: str, noise: float) -> None:
    for name, count in (("songs", songs), ("features", features)):
        if not isinstance(count, int | np.integer) or count < 1:
            msg = f"the number of {name} must be a whole number of at least 1, got {count!r}"
            raise InvalidInputError(msg)
    if scale not in SCALES:
        msg = f"the scale must be one of {', '.join(SCALES)}, got {scale!r}"
        raise InvalidInputError(msg)
    if not 0 <= noise < math.inf:
        msg = f"noise_standard_deviation must be finite and not negative, got {noise}"
        raise InvalidInputError(msg)

"""Optional feature maps φ(x), applied to the projected descriptors of a song.

    identity   φ(x) = x
    fourier    φ(x) = (x, a cos(W'x)/√D, a sin(W'x)/√D),   w_d ~ Normal(0, I/ℓ²)

A model that is linear in φ(x) is linear in the sound under `identity`. Under `fourier` it can
also like a region of the sound space ("such pieces and no others"): the products of the added
columns approach a² exp(−‖x − y‖²/2ℓ²), with an error of order 1/√D.

code          maths  shape   meaning
`projected`   x      (S, p)  songs in the space of the principal components
`frequencies` W      (p, D)  random directions; D is their number
`amplitude`   a              √ of the variance of x: under a prior of one scale for all columns,
                             half of a preference comes from the linear part, half from the rest
(none)        ℓ              median distance of two songs

Rahimi and Recht, "Random features for large-scale kernel machines" (2007). Tried on 213 real
tracks, ridge regression on "is from this soundtrack", tenfold cross-validation: the squared error
was 0.959 of the constant's under `identity`, 0.930 under `fourier` with 32 frequencies, 0.926
with 64; and 0.961, 0.947 with all the products of the first five and eight components, which is
why there is no quadratic map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.types import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.types import AnyArray, Matrix

NAMES: Final = ("identity", "fourier")
FREQUENCIES: Final = 32
# Enough for the median distance to about one per cent.
_MAX_SONGS_COMPARED: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Leaves the projected descriptors as they are."""

    name: ClassVar[str] = "identity"

    def columns(self, dimensions: int) -> int:
        """Return how many columns `dimensions` become."""
        return dimensions

    def apply(self, projected: Matrix) -> Matrix:
        """Return φ(x) for each row: (S, p)."""
        return projected

    def arrays(self) -> dict[str, AnyArray]:
        """Return what has to be stored: nothing."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fourier:
    """Appends random waves, which let a linear model prefer a region."""

    frequencies: Matrix
    amplitude: float

    name: ClassVar[str] = "fourier"

    def columns(self, dimensions: int) -> int:
        """Return how many columns `dimensions` become."""
        return dimensions + 2 * self.frequencies.shape[1]

    def apply(self, projected: Matrix) -> Matrix:
        """Return φ(x) for each row: (S, p + 2D).

        >>> still = Fourier(frequencies=np.zeros((1, 4)), amplitude=2.0)
        >>> still.apply(np.array([[3.0]])).tolist()
        [[3.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]]
        """
        with np.errstate(under="ignore"):
            phases = projected @ self.frequencies
            scale = self.amplitude / math.sqrt(self.frequencies.shape[1])
            mapped: Matrix = np.hstack([projected, scale * np.cos(phases), scale * np.sin(phases)])
        return mapped

    def arrays(self) -> dict[str, AnyArray]:
        """Return what has to be stored, by name."""
        return {"frequencies": self.frequencies, "amplitude": np.asarray(self.amplitude)}


FeatureMap: TypeAlias = Identity | Fourier


def check_name(name: str) -> None:
    """Refuse a name that is none of `NAMES`."""
    if name not in NAMES:
        msg = f"the feature map must be one of {', '.join(NAMES)}, got {name!r}"
        raise InvalidInputError(msg)


def fitted(
    name: str, projected: Matrix, *, rng: np.random.Generator, frequencies: int = FREQUENCIES
) -> FeatureMap:
    """Return the map called `name` for a library with these projected songs."""
    check_name(name)
    if name == Identity.name:
        return Identity()
    shape = (projected.shape[1], frequencies)
    with np.errstate(under="ignore"):
        variance = float(np.square(projected).mean(axis=0).sum())
        waves = rng.standard_normal(shape) / median_distance(projected)
    return Fourier(frequencies=frozen(waves), amplitude=math.sqrt(variance))


def restored(name: str, arrays: Mapping[str, AnyArray], *, dimensions: int) -> FeatureMap:
    """Return the map that was stored under `name` with its `arrays`."""
    check_name(name)
    if name == Identity.name:
        return Identity()
    frequencies, amplitude = arrays["frequencies"], float(arrays["amplitude"])
    if frequencies.ndim != 2 or len(frequencies) != dimensions or not frequencies.size:
        msg = f"frequencies must be for {dimensions} dimensions, got shape {frequencies.shape}"
        raise InvalidInputError(msg)
    if not (np.isfinite(frequencies).all() and math.isfinite(amplitude)):
        msg = "frequencies and amplitude must be finite, got others"
        raise InvalidInputError(msg)
    return Fourier(frequencies=frozen(frequencies), amplitude=amplitude)


def median_distance(projected: Matrix) -> float:
    """Return the median distance between two songs that differ, and 1 where there are none.

    Of a large library, songs at equal steps along the first component are compared: which
    ones does not depend on the order of the rows.

    >>> median_distance(np.array([[0.0], [0.0], [3.0], [7.0]]))
    4.0
    """
    songs = projected
    if len(songs) > _MAX_SONGS_COMPARED:
        steps = np.linspace(0, len(songs) - 1, _MAX_SONGS_COMPARED).round().astype(np.intp)
        songs = songs[np.argsort(songs[:, 0], kind="stable")[steps]]
    # Differences rather than |x|² + |y|² − 2x'y, which leaves a distance between equal songs.
    apart = [
        np.sqrt(np.square(songs[row + 1 :] - songs[row]).sum(axis=1)) for row in range(len(songs))
    ]
    distances = np.concatenate([*apart, np.empty(0)])
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0

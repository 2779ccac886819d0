"""Features of a song as sums over named groups of descriptors.

    x = C z        ẑ = C'x        θ'x = θ'CC'x = Σ_j (C'θ)_j ẑ_j

C has orthonormal rows, so the sum over all descriptors is the liking, to rounding, and so are
the sums over groups of them. ẑ is a song's z-scores as far as its features tell: what they do not
tell, the model does not know either. Over 213 real tracks ẑ and z correlate by 0.92 (tempo,
clarity of harmony) to 0.99 (timbre).

code           maths       shape   meaning
`components`   C           (p, c)  of the projection, c descriptors
`preference`   θ           (p,)    liking of each feature, without an intercept
`features`     x           (p,)    of one song
(none)         a           (c,)    an index of descriptors: how fast, how bright, …
`character`    a'ẑ/√v              where a song stands on that index: 0 average, 1 one sd above
`towards`      diag(λ)Ca/√v  (p,)  mean features of the songs that stand at 1

v = (Ca)'diag(λ)(Ca) is the variance of a'ẑ over the library, λ the variances of its features.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from bandstand.music.audio.descriptors.definition import NAMES
from bandstand.music.audio.projection import Projection
from bandstand.types import Indices, Vector, frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Descriptors that belong together, and the index that says in which way a song is marked."""

    name: str
    beginnings: tuple[str, ...]  # of the names of its descriptors, after mean_ and std_
    more: str  # the word for a song that stands high on the index
    less: str
    rising: tuple[str, ...]  # beginnings of the descriptors that the index adds up
    falling: tuple[str, ...] = ()  # … and of those that it subtracts


# Flatness is high and crest low where a band is filled evenly, as by noise and distortion; the
# ratio of the strongest pitch class to the mean is high where few notes sound at a time.
GROUPS: Final = (
    Group(name="tempo", beginnings=("tempo_bpm",), more="fast", less="slow", rising=("tempo_bpm",)),
    Group(
        name="brightness",
        beginnings=("ZeroCrossings", "Centroid", "Rolloff"),
        more="bright",
        less="dark",
        rising=("mean_ZeroCrossings", "mean_Centroid", "mean_Rolloff"),
    ),
    Group(
        name="harmony",
        beginnings=("Chroma_",),
        more="sparse",
        less="dense",
        rising=("mean_Chroma_PeakRatio_Average",),
    ),
    Group(
        name="timbre",
        beginnings=("MFCC", "SCF", "SFM"),
        more="rough",
        less="smooth",
        rising=("mean_SFM",),
        falling=("mean_SCF",),
    ),
    Group(
        name="movement",
        beginnings=("Flux",),
        more="restless",
        less="even",
        rising=("mean_Flux", "std_Flux"),
    ),
)


def parts(projection: Projection, preference: Vector, features: Vector) -> dict[str, float]:
    """Return what each group of descriptors adds to θ'x; together they are θ'x, to rounding.

    An intercept behind the projection's own features is left out. Empty where the features are
    not of this projection.
    """
    components = projection.components
    if len(preference) - len(components) not in {0, 1}:
        return {}
    with np.errstate(under="ignore"):
        theta, x = preference[: len(components)], features[: len(components)]
        each = (theta @ components) * (x @ components)
        sums = np.bincount(_codes(), weights=each, minlength=len(GROUPS))
    return {group.name: float(total) for group, total in zip(GROUPS, sums, strict=True)}


def character(projection: Projection, features: Vector) -> dict[str, float]:
    """Return how marked a song is in each group, in standard deviations of the library.

    A group that does not vary in the library is left out.
    """
    x = features[: len(projection.components)]
    return {name: float(x @ scale) for name, scale in _scales(projection).items()}


def towards(projection: Projection) -> dict[str, Vector]:
    """Return the mean features of songs that are one standard deviation more marked, by group.

    What a listener expects of them, less what the average song gets, is how much "fast" or
    "bright" is liked, with all that usually goes with it.
    """
    with np.errstate(under="ignore"):
        return {
            name: np.asarray(projection.variances * scale)
            for name, scale in _scales(projection).items()
        }


def _scales(projection: Projection) -> dict[str, Vector]:
    """Return Ca/√v of each group that varies: (p,) each."""
    found = {}
    with np.errstate(under="ignore"):
        for group in GROUPS:
            direction = projection.components @ _index(group)
            variance = float(projection.variances @ direction**2)
            # Below this it is the rounding of a column that is the same for all songs.
            if variance > 1e-12:
                found[group.name] = np.asarray(direction / np.sqrt(variance))
    return found


@cache
def _codes() -> Indices:
    """Return which group each descriptor belongs to: (c,)."""
    codes: Indices = np.array([_code(name) for name in NAMES])
    codes.flags.writeable = False  # all callers share it
    return codes


def _code(name: str) -> int:
    plain = name.removeprefix("mean_").removeprefix("std_")
    (code,) = (number for number, group in enumerate(GROUPS) if plain.startswith(group.beginnings))
    return code


@cache
def _index(group: Group) -> Vector:
    """Return the weight of each descriptor in a group's index: (c,)."""
    rising = [name.startswith(group.rising) for name in NAMES]
    falling = [bool(group.falling) and name.startswith(group.falling) for name in NAMES]
    index: Vector = frozen(np.subtract(rising, falling, dtype=np.float64))
    return index

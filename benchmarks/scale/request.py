"""What `bandstand bench --scale` measures: parts, and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from bandstand.errors import InvalidInputError

# What each part measures, in the order in which they run.
PARTS: Final = {
    "step": "an answer in, the best of all songs out",
    "playlist": "a whole playlist, beside one step",
    "small": "the same step over few songs, beside LinUCB",
    "growth": "the step as songs and answers grow",
    "memory": "what a process with all songs holds",
    "cold": "a listener whom the radio does not know yet",
    "changing": "songs that come and go while listeners are answered",
    "correctness": "choices beside those of brute force",
    "costs": "bytes per song, listener and rating",
    "scan": "analysing music with one worker, and with two",
    "serving": "many listeners, two server processes, PostgreSQL",
}
# Parts that promise no time. They come last and share the cores.
COUNTED: Final = ("memory", "correctness", "costs")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleRequest:
    """What to measure: what was promised by default, `quick_request` makes it small."""

    only: tuple[str, ...] = tuple(PARTS)
    songs: int = 1_000_000
    features: int = 91
    ratings: int = 500
    steps: int = 200  # over all songs, in each situation
    linucb_runs: int = 5  # among them: each reads the matrix many times
    small_steps: int = 60  # over few songs, with LinUCB at each of them
    seed: int = 1
    small_songs: int = 10_000
    song_sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    rating_sizes: tuple[int, ...] = (100, 1_000, 10_000)
    newcomers: tuple[int, ...] = (5, 10, 20, 50)  # ratings of those of whom little is known
    memory_sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    growth_steps: int = 60
    growth_songs: int = 100_000  # while answers grow
    playlist: int = 50
    cases: int = 10_000
    cold_sizes: tuple[int, ...] = (10_000, 1_000_000)
    cold_ratings: int = 1_000
    changing_songs: int = 100_000
    rounds: int = 5
    stored_songs: tuple[int, ...] = (1_000, 4_000, 16_000)
    stored_ratings: tuple[int, ...] = (100, 1_000, 10_000)
    small: bool = False  # of the parts that have sizes of their own: scan and serving

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        unknown = [part for part in self.only if part not in PARTS]
        if unknown or not self.only:
            msg = f"a part must be one of {', '.join(PARTS)}, got {', '.join(unknown) or 'none'}"
            raise InvalidInputError(msg)
        least = {"songs": 50, "features": 2, "ratings": 5, "steps": 4, "seed": 0, "rounds": 1}
        least |= {"small_steps": 4, "linucb_runs": 1}
        for name, lowest in least.items():
            if getattr(self, name) < lowest:
                msg = f"{name} must be at least {lowest}, got {getattr(self, name)}"
                raise InvalidInputError(msg)


def whole_request(**changes: Any) -> ScaleRequest:
    """Return what was promised, or as much of it as `songs` among the `changes` allow.

    >>> whole_request(songs=50_000).song_sizes
    (10000, 50000)
    """
    if "songs" not in changes:
        return ScaleRequest(**changes)
    songs, whole = changes["songs"], ScaleRequest()
    sizes = (*(size for size in whole.song_sizes if size < songs), songs)
    less: dict[str, Any] = {
        "song_sizes": sizes,
        "memory_sizes": sizes,
        "small_songs": min(songs, whole.small_songs),
        "growth_songs": min(songs, whole.growth_songs),
        "changing_songs": min(songs, whole.changing_songs),
        "cold_sizes": (*(size for size in whole.cold_sizes if size < songs), songs),
    }
    return ScaleRequest(**{**less, **changes})


def quick_request(**changes: Any) -> ScaleRequest:
    """Return a request that takes about a minute; `changes` replace its settings."""
    songs = changes.get("songs", 20_000)
    quick: dict[str, Any] = {
        "songs": songs,
        "steps": 20,
        "small_steps": 20,
        "small_songs": min(songs, 2_000),
        "song_sizes": (max(50, songs // 16), max(50, songs // 4), songs),
        "memory_sizes": (max(50, songs // 4), songs),
        "rating_sizes": (50, 200, 800),
        "newcomers": (5, 20),
        "growth_steps": 10,
        "growth_songs": max(50, songs // 4),
        "playlist": 10,
        "cases": 100,
        "cold_sizes": tuple(sorted({min(songs, 500), songs})),
        "cold_ratings": 200,
        "changing_songs": min(songs, 2_000),
        "rounds": 2,
        "stored_songs": (100, 200, 400),
        "stored_ratings": (20, 100, 400),
        "small": True,
    }
    return ScaleRequest(**{**quick, **changes})

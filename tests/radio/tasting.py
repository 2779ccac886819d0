"""A small library with names and features, and listeners who have a taste."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from bandstand.music.catalogue.matrix import Catalogue
from bandstand.radio.choice.choosing import Model
from bandstand.radio.choice.shelf import Shelf, shelf_of
from bandstand.radio.log.ledger import fold
from bandstand.store.songs.songs import SongRecord
from bandstand.types import Tags
from tests.radio.choices import projected
from tests.radio.logs import HOUR, MINUTE, Log
from tests.radio.shelving import with_ones

if TYPE_CHECKING:
    from bandstand.radio.log.ledger import Ledger

ARTISTS = ("Ann", "Bob", "Cy", "Dee")
GENRES = ("Folk; Blues", "Techno", "folk", None)
SONGS = 40


def song_id(number: int) -> str:
    return f"{number:016x}"


def record(number: int) -> SongRecord:
    return SongRecord(
        id=song_id(number),
        fingerprint=song_id(number),
        tags=Tags(
            title=f"Song {number}",
            artist=ARTISTS[number % 4],
            genre=GENRES[number % 4],
        ),
        duration=180.0,
        descriptor_version=1,
        added_at=0,
        path=b"/music/%d" % number,
        size=1,
        missing=False,
        problem=None,
    )


@cache
def shelf(feature_map: str = "identity", *, analysed: bool = True) -> Shelf:
    """Return forty songs of four artists; those not analysed have no features."""
    _, features = projected(feature_map)
    matrix = Catalogue(
        ids=np.array([song_id(number).encode() for number in range(SONGS)]),
        table=with_ones(features.astype(np.float32)),
        stamp={},
    )
    return shelf_of([record(number) for number in range(SONGS)], matrix if analysed else None)


def liking(number: int) -> float:
    """Return what this listener thinks of a song when it is new: it is the first feature."""
    features = projected()[1][:, 0]
    return float(3 + 1.5 * features[number] / features.std())


def told(plays: int, *, seed: int = 1, recovery: float = 600.0) -> Ledger:
    """Return a listener's log: ratings, now and then a skip or a full listen, songs again."""
    rng, log = np.random.default_rng(seed), Log()
    last: dict[int, int] = {}
    for _ in range(plays):
        number = int(rng.integers(SONGS))
        wait = int(rng.choice([4 * MINUTE, 4 * MINUTE, 9 * HOUR]))
        elapsed = (log.clock + wait - last[number]) / MINUTE if number in last else np.inf
        stars = liking(number) * -np.expm1(-elapsed / recovery) + 0.3 * rng.normal()
        kind = str(rng.choice(["rating", "rating", "rating", "end"]))
        if kind == "rating":
            log.add("rating", song_id(number), after=wait, stars=int(np.clip(round(stars), 1, 5)))
        elif stars < 3:
            log.add("skip", song_id(number), after=wait, played_ms=20_000)
        else:
            log.add("listen", song_id(number), after=wait, played_ms=180_000)
        last[number] = log.clock
    return fold(log.events)


def model(
    ledger: Ledger,
    *,
    algorithm: str = "bayes-ucb-cn-x",
    intercept: bool = True,
    analysed: bool = True,
    feature_map: str = "identity",
) -> Model:
    return Model.begin(
        shelf(feature_map, analysed=analysed),
        ledger,
        algorithm=algorithm,
        intercept=intercept,
        seed=3,
    )


def now_after(ledger: Ledger) -> int:
    """Return a moment some hours after the last play."""
    return max([0, *(play.at for play in ledger.plays[-1:])]) + 5 * HOUR

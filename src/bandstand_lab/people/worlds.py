"""A drawn library with artists, albums and genres, and listeners of many kinds.

A listener of one world likes sound, of another only genres, artists or single songs; some follow
nothing at all. Most are nothing that the model could have drawn itself. What is drawn depends
on the seed, the world and the number of the run alone, so every algorithm meets the same listeners.

    library    about 2,000 songs of some 400 artists, most with one album; a song sounds like its
               genre (15 % of the variance), its artist (15 %) and its album (10 %)
    listener   expects `expected(step)` stars of each song and answers with whole stars; one skips
               or hears out most songs and rates few, with the weights of `radio.log.evidence`
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from bandstand.radio.log.evidence import EARLY_SKIP, FULL_LISTEN, LATE_SKIP, MAX_SKIPS, MIDDLE_SKIP
from bandstand.types import Indices, Matrix, Vector
from bandstand_lab.simulation.session import stream

_GENRE_NAMES: Final = """
ambient; blues; classical; country; dance; disco; folk; funk; hip hop; jazz; latin; metal; pop;
punk; reggae; rock; soul
"""
GENRES: Final = tuple(name.strip() for name in _GENRE_NAMES.split(";"))
# Shares of the variance of sound.
_GENRE_SOUND, _ARTIST_SOUND, _ALBUM_SOUND = 0.15, 0.15, 0.10
# Sounds have few strong directions and many weak ones, as principal components do.
_DECAY: Final = 0.9
# Of the logarithm of the number of songs of an artist; most albums have about eight.
_SONGS_MEAN, _SONGS_SPREAD, _ALBUM_SONGS = 1.3, 1.1, 8
_SECOND_GENRE: Final = 0.35
# A rating differs from the listener's own expectation by so much, before it is rounded.
_NOISE: Final = 0.5
# Listeners differ in how many stars they give to an average song.
_GENEROSITY: Final = 0.5
_DRIFT_STEP: Final = 100
_MOODS, _SITTING = 3, 20
# A listener who skips: what share of songs is rated, and up to which stars others are skipped.
_RATED, _SKIPPED = 0.1, 3
_SKIPS: Final = (EARLY_SKIP, MIDDLE_SKIP, LATE_SKIP)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Library:
    """Songs with sound, artist, album and genres: one entry per song."""

    features: Matrix  # (S, p), not scaled
    genres: Matrix  # (S, G), of unit length
    artist: Indices
    album: Indices

    def __len__(self) -> int:
        return len(self.artist)

    @property
    def tags(self) -> list[list[str]]:
        """The names of each song's genres."""
        return [[GENRES[place] for place in np.flatnonzero(row)] for row in self.genres]


def drawn_library(rng: np.random.Generator, songs: int = 2_000, features: int = 24) -> Library:
    """Return a library whose sizes are like those of real ones."""
    popularity = rng.dirichlet(np.full(len(GENRES), 0.8))
    sizes = np.ceil(rng.lognormal(_SONGS_MEAN, _SONGS_SPREAD, songs)).astype(np.intp)
    artist = np.repeat(np.arange(songs), sizes)[:songs]
    artists = int(artist[-1]) + 1
    albums = np.maximum(np.bincount(artist) // _ALBUM_SONGS, 1)
    first = np.concatenate([[0], np.cumsum(albums)[:-1]])
    album = np.sort(first[artist] + rng.integers(0, albums[artist]))
    main = rng.choice(len(GENRES), artists, p=popularity)[artist]
    second = rng.choice(len(GENRES), artists, p=popularity)[artist]
    genres = np.eye(len(GENRES))[main]
    both = rng.random(songs) < _SECOND_GENRE
    genres[both] += np.eye(len(GENRES))[second[both]]
    scale = np.sqrt(_DECAY ** np.arange(features))
    rest = 1 - _GENRE_SOUND - _ARTIST_SOUND - _ALBUM_SOUND
    sound = (
        np.sqrt(_GENRE_SOUND) * rng.standard_normal((len(GENRES), features))[main]
        + np.sqrt(_ARTIST_SOUND) * rng.standard_normal((artists, features))[artist]
        + np.sqrt(_ALBUM_SOUND) * rng.standard_normal((int(album.max()) + 1, features))[album]
        + np.sqrt(rest) * rng.standard_normal((songs, features))
    )
    return Library(
        features=sound * scale,
        genres=(genres > 0) / np.linalg.norm(genres > 0, axis=1, keepdims=True),
        artist=artist,
        album=album,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Taste:
    """A listener: stars expected of each song by step, and how far an answer is from them."""

    expected: Callable[[int], Vector]
    noise: float = _NOISE

    def rating(self, row: int, step: int, rng: np.random.Generator) -> float:
        """Return the stars that the listener gives to a song at one step."""
        wanted = self.expected(step)[row] + self.noise * rng.standard_normal()
        return float(np.clip(np.round(wanted), 1, 5))

    def answer(self, row: int, step: int, rng: np.random.Generator) -> tuple[float, float]:
        """Return what a play says: stars, and their weight beside that of a rating."""
        return self.rating(row, step, rng), 1.0


class _Skipper(Taste):
    """A listener who rates few songs, skips those of few stars and hears out the others."""

    def answer(self, row: int, step: int, rng: np.random.Generator) -> tuple[float, float]:
        """Return what a play says; a skip says less after skips, here after a drawn number."""
        stars, is_rated = self.rating(row, step, rng), rng.random() < _RATED
        skip, skips = _SKIPS[rng.integers(len(_SKIPS))], rng.integers(MAX_SKIPS + 1)
        if is_rated:
            return stars, 1.0
        heard = FULL_LISTEN if stars > _SKIPPED else skip
        halvings = 0 if heard is FULL_LISTEN else skips
        return float(heard.rating or 0.0), heard.weight / 2**halvings


class _Chance(Taste):
    """A listener whose stars are drawn."""

    def rating(self, row: int, step: int, rng: np.random.Generator) -> float:
        """Return any number of stars."""
        return float(rng.integers(1, 6))


# ── Likings: one number per song, with mean 0 and standard deviation 1 ─────────────────────

Liking: TypeAlias = "Callable[[Library, np.random.Generator], Vector]"


def _standard(values: Vector) -> Vector:
    spread = float(values.std()) or 1.0
    return np.asarray((values - values.mean()) / spread)


def _sound(library: Library, rng: np.random.Generator) -> Vector:
    return _standard(library.features @ rng.standard_normal(library.features.shape[1]))


def _genre(library: Library, rng: np.random.Generator) -> Vector:
    return _standard(library.genres @ rng.standard_normal(len(GENRES)))


def _artist(library: Library, rng: np.random.Generator) -> Vector:
    return _standard(rng.standard_normal(int(library.artist.max()) + 1)[library.artist])


def _album(library: Library, rng: np.random.Generator) -> Vector:
    return _standard(rng.standard_normal(int(library.album.max()) + 1)[library.album])


def _song(library: Library, rng: np.random.Generator) -> Vector:
    return _standard(rng.standard_normal(len(library)))


def _thresholds(library: Library, rng: np.random.Generator) -> Vector:
    return _standard(np.where(_sound(library, rng) > 0, 1.0, 0) + (_sound(library, rng) > 0))


def _product(library: Library, rng: np.random.Generator) -> Vector:
    return _standard(_sound(library, rng) * _sound(library, rng))


def _genre_and_sound(library: Library, rng: np.random.Generator) -> Vector:
    return _standard(_genre(library, rng) + _sound(library, rng))


def _everything(library: Library, rng: np.random.Generator) -> Vector:
    parts = (_genre, _sound, _artist, _song)
    return _standard(np.sum([part(library, rng) for part in parts], axis=0))


# ── Worlds ─────────────────────────────────────────────────────────────────────────────────


def _fixed(stars: Vector, noise: float = _NOISE) -> Taste:
    return Taste(expected=lambda _: stars, noise=noise)


def _liking(liking: Liking) -> Callable[[Library, np.random.Generator, int], Taste]:
    def world(library: Library, rng: np.random.Generator, _: int) -> Taste:
        return _fixed(3 + _GENEROSITY * rng.standard_normal() + liking(library, rng))

    return world


def _all_but_one_genre(library: Library, rng: np.random.Generator, _: int) -> Taste:
    disliked = rng.choice(np.flatnonzero(library.genres.any(axis=0)))
    return _fixed(np.where(library.genres[:, disliked] > 0, 1.2, 4.2))


def _generous_or_harsh(library: Library, rng: np.random.Generator, run: int) -> Taste:
    return _fixed((4.4 if run % 2 else 1.8) + 0.6 * _genre_and_sound(library, rng))


def _skips(library: Library, rng: np.random.Generator, _: int) -> Taste:
    stars = 3 + _everything(library, rng)
    return _Skipper(expected=lambda _: stars)


def _always_four(library: Library, rng: np.random.Generator, run: int) -> Taste:
    del rng, run
    return _fixed(np.full(len(library), 4.0), noise=0.0)


def _chance(library: Library, rng: np.random.Generator, run: int) -> Taste:
    del rng, run
    stars = np.full(len(library), 3.0)
    return _Chance(expected=lambda _: stars)


def _drift(library: Library, rng: np.random.Generator, _: int) -> Taste:
    before, after = (3 + _genre_and_sound(library, rng) for _ in range(2))
    return Taste(expected=lambda step: before if step <= _DRIFT_STEP else after)


def _moods(library: Library, rng: np.random.Generator, _: int) -> Taste:
    base = 3 + 0.8 * _genre_and_sound(library, rng)
    moods = [base + 0.6 * _sound(library, rng) for _ in range(_MOODS)]
    return Taste(expected=lambda step: moods[(step - 1) // _SITTING % _MOODS])


WORLDS: Final = {
    "linear in sound": _liking(_sound),
    "genre": _liking(_genre),
    "artist": _liking(_artist),
    "album": _liking(_album),
    "song": _liking(_song),
    "thresholds": _liking(_thresholds),
    "product": _liking(_product),
    "a bit of everything": _liking(_everything),
    "all but one genre": _all_but_one_genre,
    "generous or harsh": _generous_or_harsh,
    "always four stars": _always_four,
    "random stars": _chance,
    "drift": _drift,
    "moods": _moods,
    "mostly skips": _skips,
}


def listener_of(world: str, run: int, seed: int, *, songs: int) -> tuple[Library, Taste]:
    """Return the library and the listener of one run of a world."""
    library = drawn_library(stream(seed, "songs", run), songs)
    number = list(WORLDS).index(world)
    return library, WORLDS[world](library, stream(seed, "listener", run, number), run)

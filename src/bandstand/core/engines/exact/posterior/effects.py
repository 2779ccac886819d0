"""Effects of songs, albums and artists beyond their features: (33) to (42).

A song's liking is f = θ'x + e_artist + e_album + e_song. Given the recovery time everything is
normal, and the effects are integrated out level by level: the answers about a song become one
with a weight, the songs of an album one, the albums of an artist one. What is left are differences,
song − album, album − artist and artist, which are independent given θ.

code               maths             shape      meaning, for each recovery time of G
`total`            S, Ω, Φ           (n, G)     what the answers about a song, … weigh together
`weight`           ω, φ, ψ           (n, G)     how precise its mean is, with its effect: T/(1+κT)
`share`            ρ                 (n, G)     how much its own effect is in what is left of it
`left`             1 − ρ             (n, G)     what is still unknown of its own effect: 1/(1+κT)
`ratings`          f̂                 (K, G)     mean answer about a song, novelty taken out
`deviations`       f̂ − x'm           (K, G)     what its features leave of that

K songs have answers, of B albums and A artists. Where no song was heard before, novelty is 1
whatever the recovery time: then G is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import EffectPrior
from bandstand.core.model.song_groups import UNKNOWN, Identities, SongGroups
from bandstand.types import AnyArray, Indices, Matrix, Stack, Vector

# A song whose answers weigh less says nothing: its mean would have no digits.
_SMALLEST: Final = 1e-200
# Rows of up to 16 numbers are summed as they stand.
_MAX_DIRECT_COLUMNS: Final = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Nesting:
    """Plays in an order in which those of a song, an album and an artist are neighbours.

    code       shape  meaning
    `order`    (N,)   the plays, by artist, album and song
    `songs`    (K,)   where each song begins among them
    `albums`   (B,)   where each album begins among the songs
    `artists`  (A,)   where each artist begins among the albums
    `groups`   (K,)   the identities of the songs
    """

    order: Indices
    songs: Indices
    albums: Indices
    artists: Indices
    groups: SongGroups

    @classmethod
    def of(cls, groups: SongGroups) -> Nesting:
        """Return the nesting of the plays of these songs."""
        own = UNKNOWN - 1 - np.arange(len(groups))  # a song that is like no other
        ids = [
            np.where(each == UNKNOWN, own, each)
            for each in (groups.song, groups.album, groups.artist)
        ]
        order = np.lexsort(ids)
        song, album, artist = (each[order] for each in ids)
        new_artist = _begins(artist)
        new_album = new_artist | _begins(album)
        songs = np.flatnonzero(new_album | _begins(song))
        albums = np.flatnonzero(new_album[songs])
        return cls(
            order=order,
            songs=songs,
            albums=albums,
            artists=np.flatnonzero(new_artist[songs][albums]),
            groups=SongGroups(song=song[songs], album=album[songs], artist=artist[songs]),
        )

    @cached_property
    def song_of_play(self) -> Indices:
        """The song of each play, in order: (N,)."""
        return _owners(self.songs, len(self.order))

    @cached_property
    def album_of_song(self) -> Indices:
        """The album of each song: (K,)."""
        return _owners(self.albums, len(self.songs))

    @cached_property
    def artist_of_album(self) -> Indices:
        """The artist of each album: (B,)."""
        return _owners(self.artists, len(self.albums))

    def places(self, groups: SongGroups) -> Places:
        """Return where some songs, their albums and artists are among these."""
        album = self.groups.album[self.albums]
        artist = self.groups.artist[self.albums][self.artists]
        return Places(
            song=_found(self.groups.song, groups.song),
            album=_found(album, groups.album),
            artist=_found(artist, groups.artist),
        )


class Places(NamedTuple):
    """Where songs, their albums and artists are: (n,) each; one beyond the last where nowhere."""

    song: Indices
    album: Indices
    artist: Indices


class Level(NamedTuple):
    """All songs, albums or artists with answers: (n, G) each."""

    total: Matrix
    weight: Matrix
    left: Matrix
    share: Matrix

    @classmethod
    def of(cls, total: Matrix, variance: float) -> Level:
        """Return the level of these weights of the answers, for effects of a variance κ."""
        left = 1 / (1 + variance * total)
        # 1 − left would have no digits where the answers hardly say anything.
        return cls(total, total * left, left, variance * total * left)


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistics:
    """Some plays, summed up for some recovery times."""

    nesting: Nesting
    prior: EffectPrior
    song: Level
    album: Level
    artist: Level

    @classmethod
    @np.errstate(under="ignore")
    def of(
        cls, nesting: Nesting, prior: EffectPrior, weights: Vector, curves: Matrix
    ) -> Statistics:
        """Return the statistics of plays of these weights (N,) and of this novelty (N, G)."""
        heard = weights[nesting.order, np.newaxis] * np.square(curves[nesting.order])
        total = _sums(heard, nesting.songs)
        song = Level.of(np.where(total > _SMALLEST, total, 0.0), prior.song)
        album = Level.of(_sums(song.weight, nesting.albums), prior.album)
        artist = Level.of(_sums(album.weight, nesting.artists), prior.artist)
        return cls(nesting=nesting, prior=prior, song=song, album=album, artist=artist)

    # ── What is known of the preferences ─────────────────────────────────────────────────

    @property
    def log_determinant(self) -> Vector:
        """Σ log(1 + κS) + Σ log(1 + κΩ) + Σ log(1 + κΦ), which joins log|Λ| (39): (G,)."""
        pairs = zip(
            (self.song, self.album, self.artist),
            (self.prior.song, self.prior.album, self.prior.artist),
            strict=True,
        )
        terms = [np.log1p(variance * level.total).sum(axis=0) for level, variance in pairs]
        return np.asarray(sum(terms))

    def ratings(self, answers: Vector, weights: Vector, curves: Matrix) -> Matrix:
        """Return f̂ = Σ w u r / S of each song (34): (K, G)."""
        order = self.nesting.order
        sums = _sums(curves[order] * (weights * answers)[order, np.newaxis], self.nesting.songs)
        return np.asarray(_over(sums, self.song.total))

    def residuals(self, answers: Vector, curves: Matrix, ratings: Matrix) -> Matrix:
        """Return r − u f̂ of each play, in order: (N, G)."""
        order = self.nesting.order
        return answers[order, np.newaxis] - curves[order] * ratings[self.nesting.song_of_play]

    def pull(self, ratings: Matrix) -> Matrix:
        """Return h with Σ weight row rating = Σ_k h_k x_k, over the pseudo rows (37): (K, G)."""
        albums, artists = self.means(ratings)
        above = self._of_albums(artists * self.artist.left - artists)
        of_album = self.album.left * (albums + above)
        return self.song.weight * (ratings - self._of_songs(albums) + self._of_songs(of_album))

    def squares(self, deviations: Matrix) -> Vector:
        """Return Σ weight (rating − row'm)² over the pseudo rows (38): (G,)."""
        albums, artists = self.means(deviations)
        parts = (
            (self.song.weight, deviations - self._of_songs(albums)),
            (self.album.weight, albums - self._of_albums(artists)),
            (self.artist.weight, artists),
        )
        terms = [(weight * np.square(rest)).sum(axis=0) for weight, rest in parts]
        return np.asarray(sum(terms))

    def pseudo_rows(self, features: Matrix) -> tuple[Vector, Matrix]:
        """Return weights and rows (36) for one recovery time, without those of no say.

        A song that stands for its album alone differs from it by nothing; so does an album that
        stands for its artist.
        """
        nesting = self.nesting
        albums, artists = self.feature_means(features)
        songs = np.flatnonzero(
            _sizes(nesting.albums, len(nesting.songs))[nesting.album_of_song] > 1
        )
        several = _sizes(nesting.artists, len(nesting.albums))[nesting.artist_of_album] > 1
        those = np.flatnonzero(several)
        weights = (
            self.song.weight[songs, 0],
            self.album.weight[those, 0],
            self.artist.weight[:, 0],
        )
        rows = (
            features[songs] - albums[nesting.album_of_song[songs], 0],
            albums[those, 0] - artists[nesting.artist_of_album[those], 0],
            artists[:, 0],
        )
        return np.concatenate(weights), np.concatenate(rows)

    def means(self, values: Any) -> tuple[Any, Any]:
        """Return the means over each album's songs and each artist's albums (35)."""
        extra = (1,) * (values.ndim - 2)
        nesting = self.nesting
        song, album = (_wide(level.weight, extra) for level in (self.song, self.album))
        albums = _over(_sums(song * values, nesting.albums), _wide(self.album.total, extra))
        artists = _over(_sums(album * albums, nesting.artists), _wide(self.artist.total, extra))
        return albums, artists

    def feature_means(self, features: Matrix) -> tuple[Stack, Stack]:
        """Return x̄ of each album and each artist (35): (B, G, p) and (A, G, p)."""
        albums, artists = self.means(features[:, np.newaxis])
        return albums, artists

    # ── What is expected of songs ────────────────────────────────────────────────────────

    def effects(self, deviations: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Return E[e] of each song, album and artist (42): (K, G), (B, G), (A, G)."""
        albums, artists = self.means(deviations)
        of_artist = self.artist.share * artists
        above = self._of_albums(of_artist)
        of_album = self.album.share * (albums - above)
        above = self._of_songs(above + of_album)
        return self.song.share * (deviations - above), of_album, of_artist

    def variance(self, places: Places) -> Matrix:
        """Return v of songs, what is unknown of their effects given θ (41): (n, G)."""
        song, album, artist = self.variances(places)
        return song + (album + artist)

    def variances(self, places: Places) -> tuple[Matrix, Matrix, Matrix]:
        """Return the parts of v that are the song's, its album's and its artist's: (n, G) each."""
        song, album, artist = self._left(places)
        prior, above = self.prior, song**2
        of_artist = above * album**2 * (prior.artist * artist)
        return prior.song * song, above * (prior.album * album), of_artist

    def rows(self, places: Places, own: Matrix, features: Matrix) -> Stack:
        """Return y of songs with the features x (40): (n, G, p).

        `features` are those of the songs with answers.
        """
        song, album, artist = (each[..., np.newaxis] for each in self._left(places))
        of_albums, of_artists = self.feature_means(features)
        rest = (1 - album) * looked_up(of_albums, places.album)
        rest += album * (1 - artist) * looked_up(of_artists, places.artist)
        return np.asarray(song * (own[:, np.newaxis] - rest))

    def _left(self, places: Places) -> tuple[Matrix, Matrix, Matrix]:
        """Return 1 − ρ of the song, album and artist of songs: (n, G) each."""
        levels = (self.song, self.album, self.artist)
        song, album, artist = (
            looked_up(level.left, where, 1.0) for level, where in zip(levels, places, strict=True)
        )
        return song, album, artist

    def _of_songs(self, albums: Matrix) -> Matrix:
        return albums[self.nesting.album_of_song]

    def _of_albums(self, artists: Matrix) -> Matrix:
        return artists[self.nesting.artist_of_album]


def curves_of(elapsed: Vector, recovery_times: Vector) -> Matrix:
    """Return the novelty of plays at each recovery time, (N, G), or (N, 1) where all are one."""
    if (elapsed == np.inf).all():
        return np.ones((len(elapsed), 1))
    return np.asarray(novelty(elapsed[:, np.newaxis], recovery_times))


def looked_up(values: Any, places: Indices, otherwise: float = 0.0) -> Any:
    """Return the values at some places, and another one beyond the last."""
    if not len(values):
        return np.full((len(places), *values.shape[1:]), otherwise)
    found = values.take(places, axis=0, mode="clip")
    found[places >= len(values)] = otherwise
    return found


def _begins(sorted_ids: Identities) -> AnyArray:
    """Return whether each identity differs from the one before."""
    first = np.ones(len(sorted_ids), dtype=np.bool_)
    first[1:] = sorted_ids[1:] != sorted_ids[:-1]
    return first


def _owners(starts: Indices, count: int) -> Indices:
    return np.repeat(np.arange(len(starts)), _sizes(starts, count))


def _sizes(starts: Indices, count: int) -> Indices:
    return np.diff(starts, append=count)


def _sums(values: Any, starts: Indices) -> Any:
    """Return the sum of the values from each start to the next: (n, …)."""
    if not len(starts):
        return np.zeros((0, *values.shape[1:]))
    if values.size <= _MAX_DIRECT_COLUMNS * len(values):
        return np.add.reduceat(values, starts, axis=0)
    # Of wide rows the sums are far quicker as a product.
    count = len(values)
    owned = csr_array(
        (np.ones(count), np.arange(count), np.append(starts, count)), shape=(len(starts), count)
    )
    return (owned @ values.reshape(count, -1)).reshape(len(starts), *values.shape[1:])


def _over(sums: Any, totals: Any) -> Any:
    """Return means; where nothing weighs anything, 0."""
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)


def _wide(values: Matrix, extra: tuple[int, ...]) -> AnyArray:
    return values.reshape(values.shape + extra)


def _found(known: Identities, wanted: Identities) -> Indices:
    """Return where each wanted identity is among the known ones; their number where nowhere."""
    if not len(known):
        return np.zeros(len(wanted), dtype=np.intp)
    order = np.argsort(known, kind="stable")
    rising = known[order]
    places = np.minimum(np.searchsorted(rising, wanted), len(known) - 1)
    return np.where(rising[places] == wanted, order[places], len(known))

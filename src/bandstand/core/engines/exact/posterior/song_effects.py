"""Expected effects of songs whose artists have answers: (40) to (42).

Only the answers about the artists of the songs in question matter, and those are few. Where all
effects have variance 0, a song is its features and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand.core.engines.exact.posterior.effects import (
    Nesting,
    Statistics,
    curves_of,
    looked_up,
)
from bandstand.core.model.song_groups import SongGroups, codes

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.belief import ExactBelief
    from bandstand.core.model.history import History, Songs
    from bandstand.types import Indices, Matrix, Stack, Vector


# Up to 8 songs are looked at without summing up the whole history.
_MAX_DIRECT_SONGS: Final = 8


class EffectParts(NamedTuple):
    """E[e], or its variance, of the song, album and artist of each of n songs: (n, G) each."""

    song: Matrix
    album: Matrix
    artist: Matrix


@dataclass(frozen=True, kw_only=True, eq=False)
class Plays:
    """Plays of songs of some artists, with the answers if they have been given."""

    features: Matrix
    groups: SongGroups
    elapsed: Vector
    weights: Vector
    ratings: Vector

    @classmethod
    def of(cls, history: History, songs: SongGroups) -> Plays:
        """Return the answers about the artists of these songs."""
        rows = np.flatnonzero(np.isin(history.groups.artist, songs.artist))
        return cls(
            features=history.features[rows],
            groups=history.groups.take(rows),
            elapsed=history.elapsed[rows],
            weights=history.weights[rows],
            ratings=history.ratings[rows],
        )

    def with_planned(self, belief: ExactBelief) -> Plays:
        """Return these and the planned plays, whose answers do not matter."""
        planned, columns = belief.planned, self.features.shape[1]
        if not planned:
            return self
        features = np.array([play.features for play in planned]).reshape(-1, columns)
        groups = [self.groups, *(play.groups for play in planned)]
        return Plays(
            features=np.concatenate([self.features, features]),
            groups=SongGroups(
                song=np.concatenate([each.song for each in groups]),
                album=np.concatenate([each.album for each in groups]),
                artist=np.concatenate([each.artist for each in groups]),
            ),
            elapsed=np.append(self.elapsed, [play.elapsed for play in planned]),
            weights=np.append(self.weights, np.ones(len(planned))),
            ratings=np.append(self.ratings, np.zeros(len(planned))),
        )

    @cached_property
    def _nesting(self) -> Nesting:
        return Nesting.of(self.groups)

    def at(self, belief: ExactBelief, recovery_times: Vector) -> SummedPlays:
        """Return them summed up for some recovery times."""
        nesting, curves = self._nesting, curves_of(self.elapsed, recovery_times)
        statistics = Statistics.of(nesting, belief.prior.effects, self.weights, curves)
        return SummedPlays(
            statistics=statistics,
            features=self.features[nesting.order[nesting.songs]],
            ratings=statistics.ratings(self.ratings, self.weights, curves),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SummedPlays:
    """Plays summed up song by song, for some recovery times."""

    statistics: Statistics
    features: Matrix  # of the songs, (K, p)
    ratings: Matrix  # f̂, (K, G)

    def parts(self, means: Matrix, songs: SongGroups) -> EffectParts:
        """Return E[e] of songs (42), for the preferences m of each recovery time (G, p)."""
        places = self.statistics.nesting.places(songs)
        return EffectParts(*map(looked_up, self.effects(means), places))

    def effects(self, means: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Return E[e] of the songs, albums and artists with answers: (K, G), (B, G), (A, G)."""
        return self.statistics.effects(self.ratings - self.features @ means.T)

    def rows(self, features: Matrix, songs: SongGroups) -> tuple[Stack, Matrix]:
        """Return y (40) and v (41) of songs: (n, G, p) and (n, G)."""
        places = self.statistics.nesting.places(songs)
        rows = self.statistics.rows(places, features, self.features)
        return rows, self.statistics.variance(places)


@dataclass(frozen=True, kw_only=True, eq=False)
class ExpectedEffects:
    """E[e] of songs, albums and artists with answers, at each node (42)."""

    nesting: Nesting
    song: Matrix  # (K, G)
    album: Matrix  # (B, G)
    artist: Matrix  # (A, G)

    @classmethod
    def of(cls, belief: ExactBelief, songs: SongGroups | None = None) -> ExpectedEffects:
        """Return those of the artists of some songs, or of all artists."""
        artists = belief.history.groups if songs is None else songs
        summed = Plays.of(belief.history, artists).at(belief, belief.recovery_times)
        song, album, artist = summed.effects(belief.means)
        return cls(nesting=summed.statistics.nesting, song=song, album=album, artist=artist)

    def parts(self, songs: SongGroups) -> EffectParts:
        """Return those of songs, 0 where there are no answers."""
        places = self.nesting.places(songs)
        return EffectParts(*map(looked_up, (self.song, self.album, self.artist), places))

    def pooled(self, weights: Vector, songs: SongGroups) -> tuple[Vector, Vector]:
        """Return mean and standard deviation over the nodes of what songs have: (n,) each."""
        nesting, places = self.nesting, self.nesting.places(songs)
        albums = self.album + self.artist[nesting.artist_of_album]
        every = np.concatenate([self.song + albums[nesting.album_of_song], albums, self.artist])
        mean = every @ weights
        away = np.sqrt(np.square(every - mean[:, np.newaxis]) @ weights)
        of_album, of_artist = len(self.song), len(self.song) + len(albums)
        where = np.where(
            places.album < len(albums), of_album + places.album, of_artist + places.artist
        )
        where = np.where(places.song < of_album, places.song, where)
        return looked_up(mean, where), looked_up(away, where)


def parts_of(belief: ExactBelief, songs: SongGroups) -> EffectParts:
    """Return what is expected of songs beyond their features at each node."""
    if len(songs) <= _MAX_DIRECT_SONGS and "effects" not in belief.__dict__:
        return ExpectedEffects.of(belief, songs).parts(songs)
    return belief.effects.parts(songs)


def rows_of(belief: ExactBelief, features: Matrix, songs: SongGroups) -> tuple[Stack, Matrix]:
    """Return y and v of songs at each node; planned plays count."""
    plays = Plays.of(belief.history, songs).with_planned(belief)
    if not len(plays.ratings):
        return features[:, np.newaxis], np.full((len(features), 1), belief.prior.effects.total)
    return plays.at(belief, belief.recovery_times).rows(features, songs)


def variances_of(belief: ExactBelief, songs: SongGroups) -> EffectParts:
    """Return the parts of v (41), what is unknown of each given θ: (n, G), or (n, 1)."""
    plays = Plays.of(belief.history, songs).with_planned(belief)
    if not len(plays.ratings):
        prior, each = belief.prior.effects, np.ones((len(songs), 1))
        return EffectParts(prior.song * each, prior.album * each, prior.artist * each)
    statistics = plays.at(belief, belief.recovery_times).statistics
    return EffectParts(*statistics.variances(statistics.nesting.places(songs)))


def answered_rows(belief: ExactBelief, songs: Songs) -> Indices:
    """Return the songs of artists with answers, or with planned plays: rising."""
    if songs.groups is None or not belief.has_effects:
        return np.empty(0, dtype=np.intp)
    planned = [play.groups.artist for play in belief.planned]
    return songs.groups.rows_of(np.concatenate([belief.history.groups.artist, *planned]))


class EffectDraws:
    """Joint draws of what songs have beyond their features, given the preferences."""

    def __init__(self, belief: ExactBelief, songs: SongGroups) -> None:
        self._belief, self._songs = belief, songs
        self._observed = Plays.of(belief.history, songs)
        self._all = self._observed.with_planned(belief)
        self._same = [codes(ids) for ids in (songs.artist, songs.album, songs.song)]

    def drawn(
        self,
        rng: np.random.Generator,
        mean: Vector,
        preference: Vector,
        recovery_time: float,
        noise: float,
    ) -> Vector:
        """Return e_artist + e_album + e_song of each song: (n,).

        What is expected comes from the answers, and planned plays make what is beside it smaller.
        """
        time = np.atleast_1d(recovery_time)
        observed = self._observed.at(self._belief, time)
        expected = sum(part[:, 0] for part in observed.parts(mean[np.newaxis], self._songs))
        return np.asarray(expected + self._beside(rng, preference - mean, time, noise))

    def _beside(
        self, rng: np.random.Generator, preference: Vector, time: Vector, noise: float
    ) -> Vector:
        """Return a draw of effects that are expected to be zero with preferences of zero."""
        summed, prior = self._all.at(self._belief, time), self._belief.prior.effects
        statistics = summed.statistics
        songs = -(summed.features @ preference)[:, np.newaxis]
        albums, artists = statistics.means(songs)
        places = statistics.nesting.places(self._songs)
        levels = (
            (statistics.artist, prior.artist, artists, places.artist),
            (statistics.album, prior.album, albums, places.album),
            (statistics.song, prior.song, songs, places.song),
        )
        total = np.zeros(len(self._songs))
        for (level, variance, values, where), (count, same) in zip(levels, self._same, strict=True):
            share, known = (looked_up(each[:, 0], where) for each in (level.share, values))
            left = looked_up(level.left[:, 0], where, 1.0)
            own = noise * np.sqrt(variance * left) * rng.standard_normal(count)[same]
            total += share * (known - total) + own
        return total

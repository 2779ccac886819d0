"""The songs that may come next: bans and years hold always, spacing as long as it leaves something.

    ban, snooze     never, or not before a given time: song, artist, album, genre
    years, station  what the listener asked for
    spacing         not the last songs again, nor other versions of the last recordings,
                    nor the last artists

In a small library the gaps shrink to a quarter of the songs to choose from. Where spacing would
leave nothing, the artists give way first, then the recordings, then the songs.

Bans, years and stations change rarely, and looking them up reads every song, so `ListenerFilter`
caches the outcome. Spacing changes with every song and is a test that is asked only about the
songs that could come next.

A station starts from a song, an artist or a genre: that first, then what is near it. It only
narrows the songs that may be played; which of those comes next is still the listener's taste. It
holds no state: whether its own songs have had their turn is seen from what was heard in the last
hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from bandstand.core.model.candidates import CandidateSet, Test, is_among
from bandstand.core.model.history import PlayTimes, SongFeatures
from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.music.catalogue.catalogue import NO_ROWS, Catalogue
from bandstand.music.catalogue.columns import FIRST_YEAR, LAST_YEAR
from bandstand.music.catalogue.names import NOTHING
from bandstand.radio.log.fold import Rule
from bandstand.types import AnyArray, Indices, Minutes, Vector

# Songs between two plays of the same.
SONG_GAP: Final = 30
RECORDING_GAP: Final = 50
ARTIST_GAP: Final = 5
LONGEST_GAP: Final = max(SONG_GAP, RECORDING_GAP, ARTIST_GAP)
# A gap is at most one part in this number of the songs to choose from.
_GAP_PART: Final = 4
# A share of this number of songs is known to about a hundredth; of fewer songs all are used.
SAMPLE: Final = 1_024
# Rows that are probed to find a sample that may be played.
_PROBES: Final = 16 * SAMPLE
# The first rows of a search that can end early; then eight times as many, and so on.
_FIRST_BLOCK: Final = 256
_BLOCK_GROWTH: Final = 8
# Draws from all songs before those that may be played are listed.
_DRAWS: Final = 64
# The neighbourhood, the station's own songs included: a sixth of a small library, some dozens of
# a larger one, a share of a large one. A few other songs always belong to it.
_SMALL_LIBRARY_PART: Final = 6
_MAX_OF_SMALL_LIBRARY: Final = 50
_LARGE_LIBRARY_SHARE: Final = 0.05
_MIN_NEIGHBOURS: Final = 5
# Songs taken at a time.
_BLOCK: Final = 16_384
# Heard within these minutes, the station's own songs have had their turn.
_RECENT_MINUTES: Final = 360.0
_NOTHING_NEAR: Final = "nothing near what was asked for may be played: this song is from elsewhere"


# ── Large candidate sets ─────────────────────────────────────────────────────────────────


def is_any(allowed: CandidateSet) -> bool:
    """Return whether there is a song that may be played."""
    return any(len(rows) for rows in _blocks(allowed))


def distinct(codes: AnyArray, allowed: CandidateSet, *, enough: int) -> int:
    """Return the number of different codes, or at least `enough`; −1 is no code."""
    found: Indices = np.empty(0, dtype=np.intp)
    for rows in _blocks(allowed):
        found = np.union1d(found, codes[rows])
        if int(np.count_nonzero(found >= 0)) >= enough:
            break
    return int(np.count_nonzero(found >= 0))


def sample(allowed: CandidateSet, size: int = SAMPLE) -> Indices:
    """Return rows that may be played: all, or `size` of them, evenly spread, always the same."""
    if allowed.upper_count <= size:
        return allowed.rows()
    if allowed.listed is not None:
        places = allowed.listed[_spread(len(allowed.listed), size)]
    else:  # of a mask little may be left
        places = _spread(allowed.count, size if allowed.mask is None else _PROBES)
    rows = places[allowed.contains(places)]
    if not len(rows):
        rows = allowed.rows()
    return rows[_spread(len(rows), size)]


def drawn(allowed: CandidateSet, rng: np.random.Generator) -> int:
    """Return one of the rows, each as likely as any other; there must be one."""
    if allowed.listed is None and allowed.upper_count > SAMPLE:
        for row in rng.integers(allowed.count, size=_DRAWS):
            if allowed.contains(np.array([row]))[0]:
                return int(row)
    rows = allowed.rows()
    return int(rows[rng.integers(len(rows))])


def _blocks(allowed: CandidateSet) -> Iterator[Indices]:
    """Yield the rows that may be played, few at first: most callers stop early."""
    listed, start, size = allowed.listed, 0, _FIRST_BLOCK
    end = allowed.count if listed is None else len(listed)
    while start < end:
        stop = min(start + size, end)
        rows = np.arange(start, stop) if listed is None else listed[start:stop]
        yield rows[allowed.contains(rows)]
        start, size = stop, size * _BLOCK_GROWTH


def _spread(count: int, most: int) -> Indices:
    """Return at most `most` places of `count`, evenly spread."""
    few = min(count, most)
    return np.arange(few) * count // max(few, 1)


# ── Spacing ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Spacing:
    """The gaps that keep the last songs away, over the songs that are not banned."""

    songs: int
    recordings: int
    artists: int

    @classmethod
    def over(cls, catalogue: Catalogue, eligible: CandidateSet) -> Spacing:
        """Return gaps that fit the songs to choose from."""
        recordings = distinct(catalogue.recording_codes, eligible, enough=_GAP_PART * RECORDING_GAP)
        artists = distinct(catalogue.artist_codes, eligible, enough=_GAP_PART * ARTIST_GAP)
        return cls(
            # Even of two or three songs, none comes twice in a row.
            songs=min(SONG_GAP, max(eligible.upper_count // _GAP_PART, 1)),
            recordings=min(RECORDING_GAP, recordings // _GAP_PART),
            artists=min(ARTIST_GAP, artists // _GAP_PART),
        )

    def left(
        self,
        catalogue: Catalogue,
        some: CandidateSet,
        last: Sequence[int],
        *,
        once: Sequence[int] = (),
    ) -> CandidateSet:
        """Return those of `some` that may follow the songs `last`, the latest of them first.

        Those in `once` are kept away whatever the gap, as long as there are others; then only
        the gaps hold. All of `some` come back where spacing would leave none.
        """
        for left in self._relaxations(catalogue, some, last, once):
            if is_any(left):
                return left
        return some

    def _relaxations(
        self, catalogue: Catalogue, some: CandidateSet, last: Sequence[int], once: Sequence[int]
    ) -> Iterator[CandidateSet]:
        """Yield the songs left by all gaps, then by fewer and fewer."""
        recordings = _differs(catalogue.recording_codes, last[: self.recordings])
        artists = _differs(catalogue.artist_codes, last[: self.artists])
        for planned in (once, ()) if len(once) else ((),):
            songs = some.without([*planned, *last[: self.songs]])
            yield songs.where(recordings).where(artists)
            yield songs.where(recordings)
            yield songs
        yield some.without(last[:1])


def _differs(codes: AnyArray, last: Sequence[int]) -> Test:
    """Return a test of rows: whether their codes are none of those of the songs `last`."""
    kept_away = np.unique([code for row in last if (code := int(codes[row])) != NOTHING])
    return lambda rows: ~is_among(codes[rows], kept_away)


# ── Years and stations ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Years:
    """The years from `first` to `last`, both included; either may be open.

    >>> str(Years(first=1970, last=1979)), str(Years(first=1970)), str(Years(last=1979))
    ('1970 to 1979', '1970 and later', '1979 and earlier')
    """

    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        """Refuse an impossible range."""
        for year in (self.first, self.last):
            if year is not None and not FIRST_YEAR <= year <= LAST_YEAR:
                msg = f"a year must be between {FIRST_YEAR} and {LAST_YEAR}, got {year}"
                raise InvalidInputError(msg)
        if self.first is not None and self.last is not None and self.first > self.last:
            msg = f"the first year must not be after the last one, got {self}"
            raise InvalidInputError(msg)

    def __bool__(self) -> bool:
        return self.first is not None or self.last is not None

    def __str__(self) -> str:
        if self.last is None:
            return "all years" if self.first is None else f"{self.first} and later"
        return f"{self.last} and earlier" if self.first is None else f"{self.first} to {self.last}"

    def among(self, years: AnyArray, songs: CandidateSet) -> CandidateSet:
        """Return those of `songs` that are known to be of these years."""
        if not self:
            return songs
        first = FIRST_YEAR if self.first is None else self.first
        marked = years >= np.int16(first)
        if self.last is not None:
            marked &= years <= np.int16(self.last)
        if songs.mask is not None:
            marked &= songs.mask
        return CandidateSet.marked(marked)


ALL_YEARS: Final = Years()


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """The start of a station: at most one of a song's id, an artist's name and a genre's name.

    Whatever it is, or nothing: only songs of `years` are played.
    """

    song: str | None = None
    artist: str | None = None
    genre: str | None = None
    years: Years = ALL_YEARS

    def __post_init__(self) -> None:
        """Refuse several starts at once."""
        if len(self.start) > 1:
            given = " and ".join(self.start)
            msg = f"a station must start from one of song, artist and genre, got {given}"
            raise InvalidInputError(msg)

    @property
    def start(self) -> dict[str, str]:
        """What to start from, if anything, by what it is."""
        names = {"song": self.song, "artist": self.artist, "genre": self.genre}
        return {scope: target for scope, target in names.items() if target is not None}

    def rows(self, catalogue: Catalogue) -> Indices:
        """Return the station's own songs."""
        for scope, target in self.start.items():
            rows = catalogue.rows_of(scope, target)
            if not len(rows):
                msg = f"the {scope} to start from must be one that can be played, got {target!r}"
                raise NotFoundError(msg)
            return rows
        return np.arange(len(catalogue))


ANY_SONG: Final = Station()


class StationSongs:
    """The songs of one station among those that may be played, looked up once."""

    def __init__(self, catalogue: Catalogue, station: Station, eligible: CandidateSet) -> None:
        self._catalogue = catalogue
        self._eligible = eligible
        self._seeds = station.rows(catalogue)
        self._playable = self._seeds[eligible.contains(self._seeds)]

    def next(self, play_times: PlayTimes, now: Minutes) -> tuple[CandidateSet, bool, str]:
        """Return the songs to choose from now, whether they are the station's own, and a note.

        All songs that may be played, where the station has none.
        """
        if len(self._playable) and not self._had_its_turn(play_times, now):
            return self._only(self._playable), True, ""
        if not len(self._near):
            return self._eligible, False, _NOTHING_NEAR
        return self._only(self._near), False, ""

    @property
    def nbytes(self) -> int:
        """The size of what is cached."""
        near = self.__dict__.get("_near")
        seeds = self._seeds.nbytes + self._playable.nbytes
        return int(seeds) + (0 if near is None else int(near.nbytes))

    def _only(self, rows: Indices) -> CandidateSet:
        return CandidateSet.only(rows, len(self._catalogue))

    def _had_its_turn(self, play_times: PlayTimes, now: Minutes) -> bool:
        """Return whether one of the station's own songs was heard recently."""
        recently = play_times.heard_rows[now - play_times.heard_at < _RECENT_MINUTES]
        return bool(self._only(self._playable).contains(recently).any())

    @cached_property
    def _near(self) -> Indices:
        """The station's own songs and their neighbours, as far as they may be played."""
        catalogue, eligible, seeds = self._catalogue, self._eligible, self._seeds
        known = seeds[catalogue.has_features[seeds]]
        if catalogue.sound is None or not len(known):
            return _related(catalogue, seeds, eligible.rows())
        others = eligible.without(seeds).where(lambda rows: catalogue.has_features[rows])
        count = neighbourhood(eligible.upper_count, len(self._playable))
        sound = catalogue.sound.song_features
        centre = centre_of(sound, known)
        return np.union1d(nearest_rows(sound, centre, count, others), self._playable)


def neighbourhood(songs: int, seeds: int) -> int:
    """Return the number of neighbours of `seeds` songs where `songs` may be played.

    >>> [neighbourhood(songs, 1) for songs in (12, 60, 200, 1_000, 10_000)]
    [5, 9, 32, 49, 499]
    >>> neighbourhood(60, 9), neighbourhood(10_000, 2_000)
    (5, 5)
    """
    of_small = min(songs // _SMALL_LIBRARY_PART, _MAX_OF_SMALL_LIBRARY)
    whole = max(of_small, round(_LARGE_LIBRARY_SHARE * songs))
    return max(whole - seeds, _MIN_NEIGHBOURS)


def centre_of(songs: SongFeatures, rows: Indices) -> Vector:
    """Return the mean of some songs, taken in blocks: a genre may be half of the library."""
    total = np.zeros(songs.features.shape[1])
    for start in range(0, len(rows), _BLOCK):
        block = songs.features[rows[start : start + _BLOCK]]
        total += block.sum(axis=0, dtype=np.float64)
    return total / len(rows)


def nearest_rows(songs: SongFeatures, centre: Vector, count: int, others: CandidateSet) -> Indices:
    """Return the songs among `others` that are nearest to `centre`.

    Distances in single precision leave few songs in doubt, which are compared in double precision.
    """
    rows = others.rows()
    if count < len(rows):
        rough, error = _rough_distances(songs, centre)
        far = np.partition(rough[rows], count - 1)[count - 1]
        rows = rows[rough[rows] <= far + 2 * error]
    distances = songs.distances(centre, rows)
    return rows[np.lexsort((rows, distances))[:count]]


def _rough_distances(songs: SongFeatures, centre: Vector) -> tuple[Vector, float]:
    """Return |x − c|² of each song but for |c|², and by how much it may be off."""
    features, norms = songs.features, songs.squared_norms
    single = np.finfo(features.dtype)
    with np.errstate(under="ignore"):
        products = features @ centre.astype(features.dtype)
        longest = np.sqrt(norms.max(initial=0.0) * (centre @ centre))
        # A sum of p products, each rounded, of factors that were rounded themselves.
        rounding = (features.shape[1] + 4) * (float(single.eps) * longest + float(single.tiny))
    return norms - 2.0 * products, 2 * float(rounding)


def _related(catalogue: Catalogue, seeds: Indices, eligible: Indices) -> Indices:
    """Return the songs that share an artist or a genre with the seeds, whose sound is not known."""
    codes = catalogue.artist_codes[seeds]
    related = np.isin(catalogue.artist_codes[eligible], codes[codes >= 0])
    genres = {name for row in seeds.tolist() for name in catalogue.genres_of(row)}
    for genre in sorted(genres):
        related |= np.isin(eligible, catalogue.rows_of("genre", genre))
    return eligible[related]


# ── What a listener may hear ─────────────────────────────────────────────────────────────


def unbanned(
    catalogue: Catalogue, rules: Iterable[Rule], missing: Indices = NO_ROWS
) -> CandidateSet:
    """Return the songs that none of the rules forbids, but for those in `missing`."""
    banned = [missing, *(catalogue.rows_of(rule.scope, rule.target) for rule in rules)]
    if not any(map(len, banned)):
        return CandidateSet.everything(len(catalogue))
    mask = np.ones(len(catalogue), dtype=np.bool_)
    for rows in banned:
        mask[rows] = False
    return CandidateSet.marked(mask)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Eligible:
    """The songs that some rules and years leave, and how far apart they are to be kept."""

    rules: tuple[Rule, ...]
    years: Years
    songs: CandidateSet
    spacing: Spacing


class ListenerFilter:
    """Caches which songs a listener's bans, year range and station allow; for one thread."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._all_have_features = bool(np.all(catalogue.has_features))
        self._missing = NO_ROWS
        self._eligible: Eligible | None = None
        self._station: tuple[Station, Eligible, StationSongs] | None = None

    def eligible(self, rules: tuple[Rule, ...], years: Years = ALL_YEARS) -> Eligible:
        """Return the songs that these rules and years leave; mostly the same as before."""
        known = self._eligible
        if known is not None and (known.rules, known.years) == (rules, years):
            return known
        songs = self._of_years(self._unbanned(rules), years)
        spacing = Spacing.over(self._catalogue, songs)
        self._eligible = found = Eligible(rules=rules, years=years, songs=songs, spacing=spacing)
        self._station = None  # it would keep the songs of before alive
        return found

    def _unbanned(self, rules: tuple[Rule, ...]) -> CandidateSet:
        songs = unbanned(self._catalogue, rules, self._missing)
        if not is_any(songs):
            left = len(self._catalogue) - len(self._missing)
            why = "every song is banned or snoozed" if left else "there are no songs"
            msg = f"nothing may be played: {why}"
            raise NotFoundError(msg)
        return songs

    def _of_years(self, songs: CandidateSet, years: Years) -> CandidateSet:
        year = self._catalogue.columns.year
        found = years.among(year, songs)
        if is_any(found):
            return found
        if is_any(years.among(year, CandidateSet.everything(len(self._catalogue)))):
            msg = f"nothing may be played: every song of {years} is banned or snoozed"
        else:
            msg = f"there must be songs of the years that are asked for, got {years}"
        raise NotFoundError(msg)

    def station(self, station: Station, eligible: Eligible) -> StationSongs:
        """Return the songs of a station; mostly the same as before."""
        known = self._station
        if known is not None and known[:2] == (station, eligible):
            return known[2]
        found = StationSongs(self._catalogue, station, eligible.songs)
        self._station = (station, eligible, found)
        return found

    def exclude_missing(self, songs: Sequence[str]) -> None:
        """Exclude songs that have left the library since the catalogue was loaded."""
        rows = self._catalogue.ids.rows(songs)
        self._missing = np.union1d(self._missing, rows[rows >= 0])
        self._eligible = self._station = None

    def with_features(self, songs: CandidateSet) -> CandidateSet:
        """Return those of the songs that have features."""
        if self._all_have_features:
            return songs
        has_features = self._catalogue.has_features
        return songs.where(lambda rows: has_features[rows])

    @property
    def nbytes(self) -> int:
        """The size of what is cached for this listener alone."""
        mask = None if self._eligible is None else self._eligible.songs.mask
        near = 0 if self._station is None else self._station[2].nbytes
        return near + int(self._missing.nbytes) + (0 if mask is None else int(mask.nbytes))

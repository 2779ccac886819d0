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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.candidates import CandidateSet
from bandstand.errors import NotFoundError
from bandstand.music.catalogue.catalogue import NO_ROWS
from bandstand.music.catalogue.names import NOTHING
from bandstand.music.catalogue.years import ALL_YEARS
from bandstand.radio.selection.stations import StationSongs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bandstand.core.model.candidates import Test
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.music.catalogue.years import Years
    from bandstand.radio.log.fold import Rule
    from bandstand.radio.selection.stations import Station
    from bandstand.types import AnyArray, Indices

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
        """Return those of `some` that may follow the songs `last`, the latest of them at its end.

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
        recordings = _differs(catalogue.recording_codes, _latest(last, self.recordings))
        artists = _differs(catalogue.artist_codes, _latest(last, self.artists))
        for planned in (once, ()) if len(once) else ((),):
            songs = some.without([*planned, *_latest(last, self.songs)])
            yield songs.where(recordings).where(artists)
            yield songs.where(recordings)
            yield songs
        yield some.without(_latest(last, 1))


def _latest(last: Sequence[int], count: int) -> Sequence[int]:
    return last[max(len(last) - count, 0) :] if count else last[:0]


def _differs(codes: AnyArray, last: Sequence[int]) -> Test:
    """Return a test of rows: whether their codes are none of those of the songs `last`."""
    kept_away = np.unique([code for row in last if (code := int(codes[row])) != NOTHING])
    if not len(kept_away):
        return lambda rows: np.ones(len(rows), dtype=np.bool_)
    final = len(kept_away) - 1

    def test(rows: Indices) -> AnyArray:
        found = codes[rows]
        places = np.minimum(np.searchsorted(kept_away, found), final)
        return np.asarray(kept_away[places] != found)

    return test


# ── Bans, years and stations ─────────────────────────────────────────────────────────────


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

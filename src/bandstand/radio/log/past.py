"""What was imported, as plays in the order of time: each once, with its evidence.

    segments of imports that count ─┐
    what the log itself heard ──────┴─ each play once ─ evidence ─ the newest ─ Past

Two files may have the same play, as Spotify and Last.fm do, or the log and ListenBrainz: plays of
one song in different files that begin within two minutes are one. A play that was in the log when
it was imported stays that of the log. Of ratings, favourites and counts of a song the last one
holds.

A rating that was given elsewhere says how a song is when it is fresh; so does a favourite or a
count. Only plays have a time since the song was heard before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from bandstand.radio.log import evidence
from bandstand.radio.log.evidence import FAVOURITE, FULL_LISTEN, MAX_IMPORTED, MAX_OF_SONG
from bandstand.store.events.imports import COUNT, RATING, UNKNOWN, Segment
from bandstand.types import AnyArray, Indices

SAME_PLAY: Final = 120_000  # milliseconds between the beginnings of a play in two files
_NEVER: Final = -1
_MAX_FILES: Final = 1 << 16
_LOG: Final = -1  # the source of plays of the log
_TENTHS: Final = 10.0
# The place in `fold.SOURCES` of LISTEN, SKIP, RATING, FAVOURITE, COUNT.
_SOURCE: Final = np.array([2, 1, 0, 2, 2])


class HeardInLog(NamedTuple):
    """A play that the log has."""

    song: str
    begin: int  # UTC, in milliseconds
    seq: int


class Counted(NamedTuple):
    """An import that counts, with the number and the time of its event."""

    segment: Segment
    seq: int
    at: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Past:
    """Imported plays, by the time of their end; the columns have one row for each.

    `since` is how long before the play the song had been heard, −1 for never or not known.
    """

    songs: Sequence[str]
    song: AnyArray  # which of `songs`
    begin: AnyArray  # UTC, in milliseconds
    at: AnyArray  # the end
    kind: AnyArray  # 0 for a rating, 1 for a skip, 2 for a listen, as in `fold.SOURCES`
    is_judgement: AnyArray  # of the song, not of one play
    rating: AnyArray
    weight: AnyArray
    since: AnyArray

    def __len__(self) -> int:
        """Return the number of plays."""
        return len(self.song)


class _Rows:
    """All rows of all segments, by one numbering of songs, with a number for each file."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        ids = [segment.songs for segment in segments]
        self.songs, place = np.unique(np.concatenate(ids), return_inverse=True)
        codes = np.split(place, np.cumsum([len(one) for one in ids])[:-1])
        self.song = np.concatenate(
            [code[segment.rows["song"]] for code, segment in zip(codes, segments, strict=True)]
        )
        rows = np.concatenate([segment.rows for segment in segments])
        self.begin = rows["at"].astype(np.int64) * 1_000
        self.kind, self.value = rows["kind"], rows["value"].astype(np.int64)
        self.segment = np.repeat(np.arange(len(segments)), [len(it.rows) for it in segments])
        self.source = self.segment * _MAX_FILES + rows["source"].astype(np.int64)

    @cached_property
    def is_play(self) -> AnyArray:
        """Whether each is a play, not a judgement."""
        return self.kind < RATING


def past_of(imports: Sequence[Counted], log: Sequence[HeardInLog]) -> Past:
    """Return the plays of imports; `log` is what was heard."""
    rows = _Rows([each.segment for each in imports])
    plays = _each_once(rows, np.array([each.seq for each in imports]), log)
    played = rows.value[plays]
    begin = rows.begin[plays]
    made = np.array([each.at for each in imports])[rows.segment[plays]]
    end = np.minimum(begin + np.where(played == UNKNOWN, 0, played), made)
    order = np.lexsort((rows.song[plays], end))
    plays, begin, end, played = plays[order], begin[order], end[order], played[order]
    song = rows.song[plays]
    ratings, weights = evidence.imported_plays(rows.kind[plays], played, begin, end)
    judged, stars, trust = _judgements(rows, song)
    return _in_order(
        songs=rows.songs.astype(str).tolist(),
        song=np.concatenate([rows.song[judged], song]),
        begin=np.concatenate([rows.begin[judged], begin]),
        at=np.concatenate([rows.begin[judged], end]),
        kind=np.concatenate([_SOURCE[rows.kind[judged]], _SOURCE[rows.kind[plays]]]),
        is_judgement=np.repeat([True, False], [len(judged), len(song)]),
        rating=np.concatenate([stars, ratings]),
        weight=_of_most_say(
            np.concatenate([rows.song[judged], song]), np.concatenate([trust, weights]), len(judged)
        ),
        since=np.concatenate([np.full(len(judged), _NEVER), _since(song, begin, end)]),
    )


def _in_order(*, songs: Sequence[str], at: AnyArray, **columns: AnyArray) -> Past:
    order = np.argsort(at, kind="stable")
    return Past(songs=songs, at=at[order], **{name: it[order] for name, it in columns.items()})


def _each_once(rows: _Rows, seqs: AnyArray, log: Sequence[HeardInLog]) -> Indices:
    """Return which rows are plays that no other file and not the log has."""
    plays = np.flatnonzero(rows.is_play)
    # Plays of the log come first of those that begin at one time.
    code_of = (
        {song: code for code, song in enumerate(rows.songs.astype(str).tolist())} if log else {}
    )
    own = [each for each in log if each.song in code_of]
    song = np.concatenate([[code_of[it.song] for it in own], rows.song[plays]]).astype(np.int64)
    begin = np.concatenate([[it.begin for it in own], rows.begin[plays]]).astype(np.int64)
    source = np.concatenate([np.full(len(own), _LOG), rows.source[plays]])
    # A play of the log counts for imports that were made after it.
    seq = np.concatenate([[it.seq for it in own], seqs[rows.segment[plays]]]).astype(np.int64)
    order = np.lexsort((source, begin, song))
    near = np.zeros(len(order), dtype=np.bool_)
    near[1:] = (np.diff(song[order]) == 0) & (np.diff(begin[order]) < SAME_PLAY)
    dropped = _doubles(order, near, source, seq, begin)
    kept = np.ones(len(order), dtype=np.bool_)
    kept[dropped] = False
    return plays[kept[len(own) :]]


def _doubles(
    order: Indices, near: AnyArray, source: AnyArray, seq: AnyArray, begin: AnyArray
) -> list[int]:
    """Return the plays that are another one of another file; `near`: soon after the one before."""
    # Runs of plays that are near each other; those of one file alone have no doubles.
    run = np.cumsum(~near)
    first = np.flatnonzero(~near)
    mixed = np.zeros(len(first) + 1, dtype=np.bool_)
    differs = near.copy()
    differs[1:] &= source[order[1:]] != source[order[:-1]]
    mixed[run[differs]] = True
    among = order[mixed[run]]
    runs, sources = run[mixed[run]].tolist(), source[among].tolist()
    moments, seqs = begin[among].tolist(), seq[among].tolist()
    dropped, kept, last = list[int](), list[_Kept](), 0
    for row, number, *values in zip(among.tolist(), runs, sources, moments, seqs, strict=True):
        if number != last:
            kept, last = [], number
        new = _Kept(row, *values)
        twin = next((it for it in kept if it.is_double(new)), None)
        if twin is None:
            kept.append(new)
        elif new.source == _LOG:
            kept[kept.index(twin)] = new
            new.doubles.update(twin.doubles)
            dropped.append(twin.row)
        else:
            twin.doubles.add(new.source)
            dropped.append(row)
    return dropped


class _Kept:
    """A play, and the files whose doubles of it were dropped: of each file one."""

    __slots__ = ("begin", "doubles", "row", "seq", "source")

    def __init__(self, row: int, source: int, begin: int, seq: int) -> None:
        self.row, self.source, self.begin, self.seq = row, source, begin, seq
        self.doubles = {source}

    def is_double(self, later: _Kept) -> bool:
        """Return whether a play that begins no earlier is this one in another file."""
        if later.begin - self.begin >= SAME_PLAY or later.source in self.doubles:
            return False
        if _LOG in {self.source, later.source}:
            return self.seq < later.seq if self.source == _LOG else later.seq < self.seq
        return True


def _judgements(rows: _Rows, plays: AnyArray) -> tuple[Indices, AnyArray, AnyArray]:
    """Return the last rating, favourite and count of each song, with their stars and weights."""
    found = np.flatnonzero(~rows.is_play)
    order = found[
        np.lexsort((rows.value[found], rows.begin[found], rows.kind[found], rows.song[found]))
    ]
    song, kind = rows.song[order], rows.kind[order]
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = (song[1:] != song[:-1]) | (kind[1:] != kind[:-1])
    order, song, kind = order[is_last], song[is_last], kind[is_last]
    value = rows.value[order]
    rated = np.zeros(len(rows.songs), dtype=np.bool_)
    rated[song[kind == RATING]] = True
    dated = np.bincount(plays, minlength=len(rows.songs))
    stars = np.where(kind == RATING, value / _TENTHS, FAVOURITE.rating or 0.0)
    weights = np.where(kind == RATING, 1.0, np.where(rated[song], 0.0, FAVOURITE.weight))
    is_count = kind == COUNT
    stars[is_count] = FULL_LISTEN.rating
    weights[is_count] = evidence.imported_count(value, dated[song])[is_count]
    return order, stars, weights


def _since(song: AnyArray, begin: AnyArray, end: AnyArray) -> AnyArray:
    """Return how long before each play, in order, its song had been heard; −1 for never."""
    order = np.argsort(song, kind="stable")
    since = np.full(len(song), _NEVER)
    again = np.flatnonzero(np.diff(song[order]) == 0)
    since[order[again + 1]] = np.maximum(begin[order[again + 1]] - end[order[again]], 0)
    return since


def _of_most_say(song: AnyArray, weight: AnyArray, judgements: int) -> AnyArray:
    """Return the weights, 0 for plays that are too many; the first rows are judgements."""
    counts = np.flatnonzero(weight > 0)
    # Judgements first, and then the newest play first.
    when = np.where(np.arange(len(song)) < judgements, -2 * len(song), -np.arange(len(song)))
    order = counts[np.lexsort((when[counts], song[counts]))]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = song[order[1:]] != song[order[:-1]]
    place = np.arange(len(order))
    rank = place - np.maximum.accumulate(np.where(first, place, 0))
    by_rank = np.lexsort((when[order], rank))
    chosen = by_rank[rank[by_rank] < MAX_OF_SONG][:MAX_IMPORTED]
    limited = np.zeros_like(weight)
    limited[order[chosen]] = weight[order[chosen]]
    return limited

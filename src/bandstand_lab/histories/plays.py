"""Plays: collected from all files, and merged into one history per listener."""

import time
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.music.histories import formats
from bandstand.music.histories.files import Document, documents
from bandstand.types import Indices, Vector, frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayHistory:
    """The plays of one listener, in the order in which they began.

    `items` are codes: places in `Histories.item_names`. `times` are seconds since 1970, or since
    an unknown beginning where not `is_dated`. Values that an export does not have are NaN.
    """

    name: str
    items: Indices  # (n,)
    times: Vector  # (n,), seconds, rising
    played: Vector  # (n,), seconds that the play lasted
    skipped: Vector  # (n,), 1 where the export says so, 0 where it says not
    is_dated: bool = True

    def __len__(self) -> int:
        """Return the number of plays."""
        return len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Entries of a source that are no plays of songs, and why."""

    reason: str
    count: int
    first: str  # position of the first: "line 17", "entry 4 (line 31)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file, or one file within an archive, and what was in it."""

    name: str
    format: str
    plays: int  # read from it; some may be duplicates of other sources' plays
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Histories:
    """The histories of all listeners, the one with most plays first."""

    listeners: tuple[PlayHistory, ...]
    item_names: tuple[str, ...]
    sources: tuple[Source, ...] = ()
    duplicates: int = 0  # plays that another source had as well, counted once
    ignored: tuple[str, ...] = ()  # files of archives that are no histories
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[PlayHistory]:
        """Return the listeners' histories one by one."""
        return iter(self.listeners)

    def __len__(self) -> int:
        """Return the number of listeners."""
        return len(self.listeners)

    @property
    def plays(self) -> int:
        """Return the number of plays of all listeners."""
        return sum(map(len, self.listeners))


# ── Collecting and merging ───────────────────────────────────────────────────────────────


UNNAMED: Final = "listener"  # the listener of exports without a name
_BETWEEN: Final = "\x1f"  # between artist and title in the key of a song


class _Play(NamedTuple):
    """One play, or a column of values for each field of all plays."""

    listener: Any
    item: Any
    time: Any
    played: Any
    skipped: Any
    # Plays of one song by one listener in two sources are the same if these are the same.
    stamp: Any
    mark: Any
    source: Any


class Collector:
    """All plays of all sources; with `apart`, every file is of another listener."""

    def __init__(self, *, apart: bool = False) -> None:
        self.apart = apart
        self.rows = array("d")  # play after play, with the fields of `_Play`
        self.listeners: dict[str, tuple[int, str]] = {}  # code and shown name, by key
        self.items: dict[str, tuple[int, str]] = {}  # the same of songs
        self.undated: set[int] = set()  # listeners whose times begin anywhere
        self.accounts: set[int] = set()  # listeners whom a service named
        self.sources: list[Source] = []
        self.ignored: list[str] = []  # files of archives that are no histories

    @property
    def plays(self) -> int:
        """The number of plays so far."""
        return len(self.rows) // len(_Play._fields)


@dataclass(slots=True)
class SourcePlays:
    """Collects the plays of one source, and counts the entries that are left out."""

    whole: Collector
    name: str
    whose: str | None = None  # the listener of entries without a name
    is_dated: bool = True
    _begins: int = field(init=False)
    _apart: str = field(init=False)
    _listeners: dict[str, int] = field(init=False, default_factory=dict)
    _songs: dict[tuple[str | None, str], int] = field(init=False, default_factory=dict)
    _left_out: dict[str, LeftOut] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._begins = self.whole.plays
        # Numbers of songs and people mean the same in all files, as far as times do.
        self._apart = "" if self.is_dated and not self.whole.apart else f"{self.name}: "

    def listener(self, name: str, *, is_account: bool = False) -> int:
        """Return the code of a listener, whose account a service may name; "" has no name."""
        if name not in self._listeners:
            self._listeners[name] = self._new_listener(name.strip() or self.whose or "")
        code = self._listeners[name]
        if name and is_account:
            self.whole.accounts.add(code)
        return code

    def take(self, play: formats.Listened) -> None:
        """Add one play."""
        song = self.song(play.artist, play.title)
        listener = self.listener(play.listener, is_account=play.is_account)
        times = (play.begin, play.played, play.skipped, play.stamp, play.mark)
        self.whole.rows.extend((listener, song, *times, len(self.whole.sources)))

    def song(self, artist: str | None, title: str) -> int:
        """Return the code of a song.

        Capitals and spaces in its names do not matter. Without an artist, the title is a single
        name or number, taken letter by letter.
        """
        written = (artist, title)
        if written not in self._songs:
            key, shown = f"{self._apart}{title}", title
            if artist is not None:
                key = f"{_plain(artist)}{_BETWEEN}{_plain(title)}"
                shown = f"{artist.strip()} – {title.strip()}"
            self._songs[written] = _code(self.whole.items, key, shown)
        return self._songs[written]

    def leave_out(self, reason: str, where: str) -> None:
        """Count an entry that is not a possible play of a song."""
        known = self._left_out.get(reason, LeftOut(reason=reason, count=0, first=where))
        self._left_out[reason] = replace(known, count=known.count + 1)

    def close(self, kind: str) -> None:
        """Note that the source has been read to its end."""
        left_out = tuple(sorted(self._left_out.values(), key=lambda each: -each.count))
        count = self.whole.plays - self._begins
        self.whole.sources.append(
            Source(name=self.name, format=kind, plays=count, left_out=left_out)
        )

    def _new_listener(self, name: str) -> int:
        shown = name or UNNAMED
        if self.whole.apart:
            shown = f"{self.name}: {name}" if name else self.name
        code = _code(self.whole.listeners, f"{self._apart}{name}", shown)
        if not self.is_dated:
            self.whole.undated.add(code)
        return code


def _code(codes: dict[str, tuple[int, str]], key: str, shown: str) -> int:
    return codes.setdefault(key, (len(codes), shown))[0]


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def merged(collector: Collector) -> Histories:
    """Return the history of every listener, the one with most plays first."""
    plays = _Play(*np.frombuffer(collector.rows).reshape(-1, len(_Play._fields)).T)
    notes = _join(collector, plays)
    kept = _without_duplicates(plays, sources=len(collector.sources))
    # Stable: plays of the same second stay in the order of their file.
    order = kept[np.lexsort((plays.time[kept], plays.listener[kept]))]
    codes, begins = np.unique(plays.listener[order], return_index=True)
    names = _different(collector.listeners)
    histories = [
        PlayHistory(
            name=names[int(code)],
            items=_codes(plays.item[rows]),
            times=frozen(plays.time[rows]),
            played=frozen(plays.played[rows]),
            skipped=frozen(plays.skipped[rows]),
            is_dated=int(code) not in collector.undated,
        )
        for code, rows in zip(codes, np.split(order, begins[1:]), strict=True)
    ]
    return Histories(
        listeners=tuple(sorted(histories, key=len, reverse=True)),
        item_names=tuple(shown for _, shown in collector.items.values()),
        sources=tuple(collector.sources),
        duplicates=collector.plays - len(kept),
        ignored=tuple(collector.ignored),
        notes=notes,
    )


def _join(collector: Collector, plays: _Play) -> tuple[str, ...]:
    """Give plays without a listener to the one account that other exports name."""
    unnamed = collector.listeners.get("")
    if unnamed is None or collector.apart or len(collector.accounts) != 1:
        return ()
    (account,) = collector.accounts
    plays.listener[plays.listener == unnamed[0]] = account
    name = list(collector.listeners.values())[account][1]
    return (f"Files that do not say whose they are were taken to be those of {name}.",)


def _different(listeners: dict[str, tuple[int, str]]) -> list[str]:
    """Return the listeners' names, with their file where two of different files have the same."""
    counts = Counter(name for _, name in listeners.values())
    return [key if counts[name] > 1 and key else name for key, (_, name) in listeners.items()]


def _codes(values: Vector) -> Indices:
    codes = values.astype(np.intp)
    codes.flags.writeable = False
    return codes


def _without_duplicates(plays: _Play, *, sources: int) -> Indices:
    """Return the rows of all different plays, rising.

    Within one source nothing is a duplicate, even where two rows are alike: a play that is
    there twice in one file and once in another counts twice.
    """
    place = np.arange(len(plays.item))
    if sources < 2:
        return place
    play = (plays.mark, plays.stamp, plays.item, plays.listener)
    by_source = np.lexsort((plays.source, *play))
    alike = _same_as_before(by_source, (*play, plays.source))
    occurrence = np.empty_like(place)
    occurrence[by_source] = place - np.maximum.accumulate(np.where(alike, 0, place))
    # Of two that are the same, the one with a value for skipped stays.
    across = np.lexsort((plays.source, np.isnan(plays.skipped), occurrence, *play))
    return np.sort(across[~_same_as_before(across, (*play, occurrence))])


def _same_as_before(order: Indices, keys: tuple[Any, ...]) -> Any:
    """Return, place by place in `order`, whether all keys are those of the place before."""
    same = np.ones(len(order), dtype=bool)
    same[:1] = False
    for key in keys:
        ordered = key[order]
        same[1:] &= ordered[1:] == ordered[:-1]
    return same


# ── Any file ─────────────────────────────────────────────────────────────────────────────


def read(
    paths: Sequence[PathLike[str] | str],
    *,
    apart: bool = False,
    now: float | None = None,
    on_file: Callable[[str], None] = lambda _: None,
) -> Histories:
    """Return the histories in the files, each play once.

    Files without a name are of one listener; with `apart`, every file is of another. Plays after
    `now` (epoch seconds; by default the clock's) are left out. An error names the file and the
    line or entry.
    """
    collector = Collector(apart=apart)
    last = formats.last_moment(time.time() if now is None else now)
    for path in paths:
        is_history = False
        for document in documents(Path(path)):
            on_file(document.name)
            if _read_document(document, collector, last):
                is_history = True
            else:
                collector.ignored.append(document.name)
        if not is_history:
            msg = f"{path}: expected an archive with a listening history, got none in it"
            raise InvalidInputError(msg)
    if not collector.plays:
        shown = ", ".join(map(str, paths)) or "no file"
        msg = f"expected at least one possible play of a song, got none in {shown}"
        raise InvalidInputError(msg)
    return merged(collector)


def _read_document(document: Document, collector: Collector, last: float) -> bool:
    """Collect the plays of a file; return whether it was a history at all."""
    found = formats.read_document(document, last)
    if found is None:
        return False
    form, entries = found
    plays = SourcePlays(collector, document.name, whose=form.whose, is_dated=form.is_dated)
    for entry in entries:
        if isinstance(entry, formats.LeftOut):
            plays.leave_out(entry.reason, entry.where)
        else:
            plays.take(entry)
    plays.close(form.name)
    return True

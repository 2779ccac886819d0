"""Plays: collected from all files, and merged into one history per listener."""

from __future__ import annotations

import math
import unicodedata
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.types import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.types import Indices, Vector


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
        return sum(len(history) for history in self.listeners)


# ── Collecting and merging ───────────────────────────────────────────────────────────────


UNNAMED: Final = "listener"  # the listener of exports without a name
NO_NAME: Final = "without the name of a song"
NO_TIME: Final = "without a time: playing when the export was made"
_BETWEEN: Final = "\x1f"  # between artist and title in the key of a song


@dataclass(slots=True)
class Codes:
    """Numbers for the names of listeners or songs."""

    names: list[str] = field(default_factory=list)
    by_key: dict[str, int] = field(default_factory=dict)

    def code(self, key: str, name: str) -> int:
        """Return the number of `key`, a new one if it is new; `name` is how it is shown."""
        known = self.by_key.setdefault(key, len(self.names))
        if known == len(self.names):
            self.names.append(name)
        return known


@dataclass(slots=True, kw_only=True)
class PlayColumns:
    """The fields of all plays, one column for each."""

    listener: array[int] = field(default_factory=lambda: array("q"))
    item: array[int] = field(default_factory=lambda: array("q"))
    time: array[float] = field(default_factory=lambda: array("d"))
    played: array[float] = field(default_factory=lambda: array("d"))
    skipped: array[float] = field(default_factory=lambda: array("d"))
    # Plays of one song by one listener in two sources are the same if these are the same.
    stamp: array[float] = field(default_factory=lambda: array("d"))
    mark: array[float] = field(default_factory=lambda: array("d"))
    source: array[int] = field(default_factory=lambda: array("q"))


@dataclass(slots=True)
class Collector:
    """All plays of all sources; with `apart`, every file is of another listener."""

    apart: bool = False
    listeners: Codes = field(default_factory=Codes)
    items: Codes = field(default_factory=Codes)
    undated: set[int] = field(default_factory=set)  # listeners whose times begin anywhere
    accounts: set[int] = field(default_factory=set)  # listeners whom a service named
    columns: PlayColumns = field(default_factory=PlayColumns)
    sources: list[Source] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)  # files of archives that are no histories

    def source(self, name: str, *, whose: str | None = None, is_dated: bool = True) -> SourcePlays:
        """Return an empty collection for the plays of the next source."""
        return SourcePlays(self, name, whose=whose, is_dated=is_dated)

    def close(self, plays: SourcePlays, kind: str) -> None:
        """Note that a source has been read to its end."""
        count = len(self.columns.item) - plays.begins
        left_out = plays.left_out()
        self.sources.append(Source(name=plays.name, format=kind, plays=count, left_out=left_out))


class SourcePlays:
    """Collects the plays of one source, and counts the entries that are left out."""

    def __init__(self, whole: Collector, name: str, *, whose: str | None, is_dated: bool) -> None:
        self.name = name
        self.begins = len(whole.columns.item)
        self._whole = whole
        self._number = len(whole.sources)
        self._is_dated = is_dated
        self._whose = whose
        # Numbers of songs and people mean the same in all files, as far as times do.
        self._apart = "" if is_dated and not whole.apart else f"{name}: "
        self._listeners: dict[str | None, int] = {}
        self._items: dict[str, int] = {}
        self._songs: dict[tuple[str, str], int] = {}
        self._left_out: dict[str, int] = {}
        self._first_left_out: dict[str, str] = {}

    def listener(self, name: str | None) -> int:
        """Return the code of a listener; None is the listener of the source."""
        known = self._listeners.get(name)
        if known is None:
            known = self._listeners[name] = self._new_listener(name)
        return known

    def account(self, name: str | None) -> int:
        """Return the code of the listener whose account a service names, if it does."""
        code = self.listener(name)
        if name:
            self._whole.accounts.add(code)
        return code

    def item(self, name: str) -> int:
        """Return the code of a song that has one name or number, taken letter by letter."""
        known = self._items.get(name)
        if known is None:
            known = self._whole.items.code(f"{self._apart}{name}", name)
            self._items[name] = known
        return known

    def song(self, artist: str, title: str) -> int:
        """Return the code of a song by its names; capitals and spaces do not matter."""
        written = (artist, title)
        known = self._songs.get(written)
        if known is None:
            key = f"{_plain(artist)}{_BETWEEN}{_plain(title)}"
            known = self._whole.items.code(key, f"{artist.strip()} – {title.strip()}")
            self._songs[written] = known
        return known

    def add(
        self,
        listener: int,
        item: int,
        time: float,
        *,
        played: float = math.nan,
        skipped: float = math.nan,
        stamp: float | None = None,
        mark: float = 0.0,
    ) -> None:
        """Add one play."""
        columns = self._whole.columns
        columns.listener.append(listener)
        columns.item.append(item)
        columns.time.append(time)
        columns.played.append(played)
        columns.skipped.append(skipped)
        columns.stamp.append(time if stamp is None else stamp)
        columns.mark.append(mark)
        columns.source.append(self._number)

    def leave_out(self, reason: str, where: str) -> None:
        """Count an entry that is not a possible play of a song."""
        self._left_out[reason] = self._left_out.get(reason, 0) + 1
        self._first_left_out.setdefault(reason, where)

    def left_out(self) -> tuple[LeftOut, ...]:
        """Return the reasons for leaving entries out, the most frequent first."""
        return tuple(
            LeftOut(reason=reason, count=count, first=self._first_left_out[reason])
            for reason, count in sorted(self._left_out.items(), key=lambda each: -each[1])
        )

    def _new_listener(self, name: str | None) -> int:
        named = (name or "").strip() or self._whose
        if self._whole.apart:
            shown = f"{self.name}: {named}" if named else self.name
        else:
            shown = named or UNNAMED
        code = self._whole.listeners.code(f"{self._apart}{named or ''}", shown)
        if not self._is_dated:
            self._whole.undated.add(code)
        return code


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def merged(collector: Collector) -> Histories:
    """Return the history of every listener, the one with most plays first."""
    columns = collector.columns
    notes = _joined(collector)
    kept = _without_duplicates(columns, sources=len(collector.sources))
    listener, time = _array(columns.listener)[kept], _array(columns.time)[kept]
    # Stable: plays of the same second stay in the order of their file.
    order = kept[np.lexsort((time, listener))]
    ends = np.cumsum(np.bincount(listener, minlength=len(collector.listeners.names)))
    parts = np.split(order, ends[:-1]) if len(ends) else []
    names = _different(collector.listeners)
    histories = [
        _history(collector, names[code], code, rows) for code, rows in enumerate(parts) if len(rows)
    ]
    return Histories(
        listeners=tuple(sorted(histories, key=len, reverse=True)),
        item_names=tuple(collector.items.names),
        sources=tuple(collector.sources),
        duplicates=len(columns.item) - len(kept),
        ignored=tuple(collector.ignored),
        notes=notes,
    )


def _joined(collector: Collector) -> tuple[str, ...]:
    """Give plays without a listener to the one account that other exports name."""
    unnamed = collector.listeners.by_key.get("")
    if unnamed is None or collector.apart or len(collector.accounts) != 1:
        return ()
    (account,) = collector.accounts
    listener = _array(collector.columns.listener)
    listener[listener == unnamed] = account
    name = collector.listeners.names[account]
    return (f"Files that do not say whose they are were taken to be those of {name}.",)


def _different(listeners: Codes) -> list[str]:
    """Return the listeners' names, with their file where two of different files have the same."""
    shared = {name for name, count in Counter(listeners.names).items() if count > 1}
    return [
        key if name in shared and key else name
        for key, name in zip(listeners.by_key, listeners.names, strict=True)
    ]


def _history(collector: Collector, name: str, code: int, rows: Indices) -> PlayHistory:
    columns = collector.columns
    items = _array(columns.item)[rows]
    items.flags.writeable = False
    return PlayHistory(
        name=name,
        items=items,
        times=frozen(_array(columns.time)[rows]),
        played=frozen(_array(columns.played)[rows]),
        skipped=frozen(_array(columns.skipped)[rows]),
        is_dated=code not in collector.undated,
    )


def _without_duplicates(columns: PlayColumns, *, sources: int) -> Indices:
    """Return the rows of all different plays, rising.

    Within one source nothing is a duplicate, even where two rows are alike: a play that is
    there twice in one file and once in another counts twice.
    """
    if sources < 2:
        return np.arange(len(columns.item))
    source = _array(columns.source)
    play = (
        *(_array(columns.mark), _array(columns.stamp)),
        *(_array(columns.item), _array(columns.listener)),
    )
    by_source = np.lexsort((source, *play))
    alike = _same_as_before(by_source, (*play, source))
    place = np.arange(len(by_source))
    begins = np.maximum.accumulate(np.where(alike, 0, place))
    occurrence = np.empty_like(place)
    occurrence[by_source] = place - begins
    # Of two that are the same, the one with a value for skipped stays.
    is_unknown = np.isnan(_array(columns.skipped))
    across = np.lexsort((source, is_unknown, occurrence, *play))
    return np.sort(across[~_same_as_before(across, (*play, occurrence))])


def _same_as_before(order: Indices, keys: tuple[Any, ...]) -> Any:
    """Return, place by place in `order`, whether all keys are those of the place before."""
    same = np.ones(len(order), dtype=bool)
    same[:1] = False
    for key in keys:
        ordered = key[order]
        same[1:] &= ordered[1:] == ordered[:-1]
    return same


def _array(column: array[Any]) -> Any:
    """Return a column as numbers of numpy, without a copy."""
    kind = np.intp if column.typecode == "q" else np.float64
    return np.frombuffer(column, dtype=kind) if len(column) else np.empty(0, dtype=kind)

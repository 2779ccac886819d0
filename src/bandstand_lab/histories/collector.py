"""Plays collected from all files, and merged into one history per listener."""

from __future__ import annotations

import math
import unicodedata
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.arrays import frozen
from bandstand_lab.histories.values import Histories, History, LeftOut, Source

if TYPE_CHECKING:
    from bandstand.arrays import Indices

# The name of everybody whose export does not say who it is.
UNNAMED: Final = "listener"
_BETWEEN: Final = "\x1f"  # between artist and title in the key of a song


@dataclass(slots=True)
class Codes:
    """Numbers for names: listeners, songs."""

    names: list[str] = field(default_factory=list)
    by_key: dict[str, int] = field(default_factory=dict)

    def code(self, key: str, name: str) -> int:
        """Return the number of `key`, a new one if it is new; `name` is how it is shown."""
        known = self.by_key.setdefault(key, len(self.names))
        if known == len(self.names):
            self.names.append(name)
        return known


@dataclass(slots=True, kw_only=True)
class Columns:
    """What is known of every play, a column for each thing."""

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
class Gathering:
    """All plays of all sources.

    With `apart`, what every file tells is somebody else's listening.
    """

    apart: bool = False
    listeners: Codes = field(default_factory=Codes)
    items: Codes = field(default_factory=Codes)
    undated: set[int] = field(default_factory=set)  # listeners whose times begin anywhere
    accounts: set[int] = field(default_factory=set)  # listeners whom a service named
    columns: Columns = field(default_factory=Columns)
    sources: list[Source] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)  # files of archives that are no histories

    def page(self, name: str, *, whose: str | None = None, is_dated: bool = True) -> Page:
        """Return an empty page for the plays of the next source."""
        return Page(self, name, whose=whose, is_dated=is_dated)

    def close(self, page: Page, kind: str) -> None:
        """Note that a source has been read to its end."""
        plays = len(self.columns.item) - page.begins
        left_out = page.left_out()
        self.sources.append(Source(name=page.name, format=kind, plays=plays, left_out=left_out))


class Page:
    """Takes the plays of one source, and counts what is left out of it."""

    def __init__(self, whole: Gathering, name: str, *, whose: str | None, is_dated: bool) -> None:
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
        """Return the code of a listener; None is whoever the source is about."""
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
        """Take one play."""
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
        """Count one more entry that is no play of a song, or cannot be one."""
        self._left_out[reason] = self._left_out.get(reason, 0) + 1
        self._first_left_out.setdefault(reason, where)

    def left_out(self) -> tuple[LeftOut, ...]:
        """Return what was left out, the most frequent reason first."""
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


def merged(gathering: Gathering) -> Histories:
    """Return the history of every listener, the one with most plays first."""
    columns = gathering.columns
    notes = _joined(gathering)
    kept = _without_duplicates(columns, sources=len(gathering.sources))
    listener, time = _array(columns.listener)[kept], _array(columns.time)[kept]
    # Stable: plays of the same second stay in the order of their file.
    order = kept[np.lexsort((time, listener))]
    ends = np.cumsum(np.bincount(listener, minlength=len(gathering.listeners.names)))
    parts = np.split(order, ends[:-1]) if len(ends) else []
    names = _different(gathering.listeners)
    histories = [
        _history(gathering, names[code], code, rows) for code, rows in enumerate(parts) if len(rows)
    ]
    return Histories(
        listeners=tuple(sorted(histories, key=len, reverse=True)),
        item_names=tuple(gathering.items.names),
        sources=tuple(gathering.sources),
        duplicates=len(columns.item) - len(kept),
        ignored=tuple(gathering.ignored),
        notes=notes,
    )


def _joined(gathering: Gathering) -> tuple[str, ...]:
    """Give plays of nobody in particular to the one account that other exports name."""
    nobody = gathering.listeners.by_key.get("")
    if nobody is None or gathering.apart or len(gathering.accounts) != 1:
        return ()
    (somebody,) = gathering.accounts
    listener = _array(gathering.columns.listener)
    listener[listener == nobody] = somebody
    name = gathering.listeners.names[somebody]
    return (f"Files that do not say whose they are were taken to be those of {name}.",)


def _different(listeners: Codes) -> list[str]:
    """Return the listeners' names, with their file where two of different files have the same."""
    shared = {name for name, count in Counter(listeners.names).items() if count > 1}
    return [
        key if name in shared and key else name
        for key, name in zip(listeners.by_key, listeners.names, strict=True)
    ]


def _history(gathering: Gathering, name: str, code: int, rows: Indices) -> History:
    columns = gathering.columns
    items = _array(columns.item)[rows]
    items.flags.writeable = False
    return History(
        name=name,
        items=items,
        times=frozen(_array(columns.time)[rows]),
        played=frozen(_array(columns.played)[rows]),
        skipped=frozen(_array(columns.skipped)[rows]),
        is_dated=code not in gathering.undated,
    )


def _without_duplicates(columns: Columns, *, sources: int) -> Indices:
    """Return the rows of all different plays, rising.

    Within one source nothing is a duplicate, even where two rows are alike: a play that is
    there twice in one file and once in another was twice.
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
    # Of two that are the same, the one that tells whether it was skipped stays.
    tells_less = np.isnan(_array(columns.skipped))
    across = np.lexsort((source, tells_less, occurrence, *play))
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

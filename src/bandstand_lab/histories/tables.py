"""Histories as tables: plain CSV, Last.fm's exports, and the Last.fm 1K data set."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from bandstand.errors import InvalidInputError
from bandstand_lab.histories.era import Era, era_of_recording, era_of_services, plain_seconds
from bandstand_lab.histories.layouts import Layout, layout_of_header, layout_without_header
from bandstand_lab.histories.lines import Row, rows
from bandstand_lab.histories.places import refusal, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand_lab.histories.gathering import Gathering, Page
    from bandstand_lab.histories.opening import Document

_TOLD: Final = {
    **dict.fromkeys(("true", "1", "yes"), 1.0),
    **dict.fromkeys(("false", "0", "no"), 0.0),
    "": math.nan,
}
NO_NAME: Final = "without the name of a song"
NO_TIME: Final = "without a time: playing when the export was made"


class _Table(NamedTuple):
    name: str
    layout: Layout
    era: Era
    page: Page


def read_table(document: Document, gathering: Gathering, *, now: float) -> bool:
    """Add the plays of a table to `gathering`; return whether it was a history at all.

    Only in an archive, which has other things as well, a file may be none.
    """
    begun = _begun(document)
    if begun is None:
        return False
    layout, found = begun
    page = gathering.page(document.name, whose=layout.whose, is_dated=layout.is_dated)
    era = era_of_services(now) if layout.is_service else era_of_recording(now)
    table = _Table(document.name, layout, era, page)
    for row in found:
        _take(table, row)
    gathering.close(page, layout.kind)
    return True


def _begun(document: Document) -> tuple[Layout, Iterator[Row]] | None:
    """Return where things are in the table, and its rows without the header; None if it is none."""
    head = document.stream.peek(1).split(b"\n", 1)[0]
    delimiter = max(",;\t", key=lambda each: head.count(each.encode()))
    found = rows(document.name, document.stream, delimiter=delimiter, quoted=delimiter != "\t")
    line: int | None = None
    try:
        first = next(found)
        line = first.line
        layout = layout_without_header(first.fields, delimiter)
        if layout is None:
            return layout_of_header(first.fields), found
        return layout, chain([first], found)
    except StopIteration:
        if document.may_be_other:
            return None
        raise refusal(
            document.name, None, "expected a listening history, got an empty file"
        ) from None
    except InvalidInputError as problem:
        if document.may_be_other and not document.is_likely:
            return None
        if line is None:
            raise
        raise refusal(document.name, f"line {line}", str(problem)) from None


def _take(table: _Table, row: Row) -> None:
    """Add one row's play to the page, or note why it is left out."""
    layout, page, fields = table.layout, table.page, row.fields
    if len(fields) != layout.width:
        fields = _mended(table, row)
    title, time_text = fields[layout.item], fields[layout.time].strip()
    artist = None if layout.artist is None else fields[layout.artist]
    if not title.strip() or artist == "":
        page.leave_out(NO_NAME, f"line {row.line}")
        return
    if not time_text and layout.is_service:
        page.leave_out(NO_TIME, f"line {row.line}")
        return
    time = _time(table, row.line, time_text)
    if layout.is_dated and not table.era.first <= time <= table.era.last:
        page.leave_out(table.era.doubt(time), f"line {row.line}")
        return
    page.add(
        page.listener(None if layout.listener is None else fields[layout.listener]),
        page.item(title) if artist is None else page.song(artist, title),
        time,
        played=math.nan if layout.played is None else _played(table, row.line, fields),
        skipped=math.nan if layout.skipped is None else _skipped(table, row.line, fields),
    )


def _mended(table: _Table, row: Row) -> list[str]:
    """Return the fields of a row of another length, if that can be put right."""
    layout, fields = table.layout, row.fields
    if not layout.has_header and len(fields) > layout.width and layout.item == layout.width - 1:
        # A tab within the name of a song, which is the last field and has no quotes.
        return [*fields[: layout.item], "\t".join(fields[layout.item :])]
    as_what = "in the header" if layout.has_header else "in the first line"
    expected = f"expected {layout.width} fields as {as_what}, got {len(fields)}"
    raise refusal(table.name, f"line {row.line}", expected)


def _time(table: _Table, line: int, text: str) -> float:
    try:
        return table.layout.clock(text)
    except (ValueError, OverflowError):
        pass
    form = "ISO-8601 or epoch seconds" if table.layout.is_dated else "seconds, not negative"
    raise refusal(table.name, f"line {line}", f"a time must be {form}, got {shown(text)}")


def _played(table: _Table, line: int, fields: list[str]) -> float:
    text = fields[table.layout.played or 0]
    if not text:
        return math.nan
    try:
        return plain_seconds(text) * table.layout.played_unit
    except ValueError:
        what = f"the time played must be a number, not negative, got {shown(text)}"
        raise refusal(table.name, f"line {line}", what) from None


def _skipped(table: _Table, line: int, fields: list[str]) -> float:
    text = fields[table.layout.skipped or 0]
    told = _TOLD.get(text.strip().lower())
    if told is None:
        what = f"skipped must be true or false, got {shown(text)}"
        raise refusal(table.name, f"line {line}", what)
    return told

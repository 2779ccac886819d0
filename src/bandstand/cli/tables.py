"""The CSV files of `bandstand recommend`: items with their features, and a history of ratings.

Whatever is wrong with a file is said in one sentence that names the file and the line.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand.arrays import frozen
from bandstand.domain import RATING_LIMIT
from bandstand.errors import InvalidInputError
from bandstand.moments import seconds_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence
    from decimal import Decimal
    from pathlib import Path
    from typing import NoReturn

    from bandstand.arrays import Matrix

_REQUIRED: Final = ("item_id", "time", "rating")
_OPTIONAL: Final = ("weight",)
# Longer values are cut when they are shown.
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """What can be recommended: an id and a row of features for each item."""

    ids: tuple[str, ...]
    features: Matrix


class HistoryRow(NamedTuple):
    """One rating, as the file has it."""

    item_id: str
    time: Decimal  # seconds since the epoch
    rating: float
    weight: float


class _Row(NamedTuple):
    line: int
    fields: list[str]


def read_items(path: Path, *, limit: float) -> Items:
    """Return the items of a file with a column `id` and otherwise numbers up to `limit` in size."""
    top, header, rows = _read(path, "id and at least one feature")
    _check_columns(path, top, header, required=("id",))
    if len(header) < 2:
        _refuse(path, top, "there must be at least one feature beside id, got none")
    place = header.index("id")
    names = header[:place] + header[place + 1 :]
    lines_by_id: dict[str, int] = {}
    table: list[list[float]] = []
    for line, fields in rows:
        item = _checked_id(path, line, "id", fields.pop(place))
        if lines_by_id.setdefault(item, line) != line:
            earlier = lines_by_id[item]
            _refuse(path, line, f"ids must differ, got {_shown(item)} as in line {earlier}")
        table.append(_numbers(path, line, names, fields))
    if not table:
        _refuse(path, None, "there must be at least one item, got none")
    features = np.array(table)
    _check_features(path, names, list(lines_by_id.values()), features, limit)
    return Items(ids=tuple(lines_by_id), features=frozen(features))


def read_history(path: Path, *, ids: Container[str]) -> list[HistoryRow]:
    """Return the ratings of a file with the columns `item_id,time,rating[,weight]`, in order."""
    top, header, rows = _read(path, "item_id,time,rating and perhaps weight")
    _check_columns(path, top, header, required=_REQUIRED, optional=_OPTIONAL)
    places = [header.index(name) for name in _REQUIRED]
    weight_place = header.index("weight") if "weight" in header else None
    history: list[HistoryRow] = []
    for line, fields in rows:
        item, time, rating = (fields[place] for place in places)
        weight = "1" if weight_place is None else fields[weight_place]
        row = HistoryRow(
            item_id=_known_id(path, line, item, ids),
            time=_time(path, line, time),
            rating=_number(path, line, "rating", rating, RATING_LIMIT),
            weight=_number(path, line, "weight", weight, RATING_LIMIT),
        )
        if row.weight < 0:
            _refuse(path, line, f"weight must not be negative, got {_shown(weight)}")
        if history and row.time < history[-1].time:
            _refuse(path, line, f"times must be in order, got {_shown(time)} after a later one")
        history.append(row)
    return history


def _read(path: Path, expected: str) -> tuple[int, list[str], Iterator[_Row]]:
    """Return the header's line, its names without spaces around them, and the rows below it."""
    text = _text(path)
    if not text.strip():
        _refuse(path, None, f"expected a header with {expected}, got an empty file")
    rows = _rows(path, text)
    line, fields = next(rows)
    header = [name.strip() for name in fields]
    return line, header, _of_length(path, rows, len(header))


def _text(path: Path) -> str:
    """Return the text of a file, with or without a byte order mark."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        _refuse(path, None, f"expected a file that can be read, got: {problem.strerror}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        byte = f"byte 0x{data[problem.start]:02x} at position {problem.start}"
        _refuse(path, line, f"expected UTF-8 text, got {byte}")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        _refuse(path, line, "expected text, got a NUL byte")
    return text


def _rows(path: Path, text: str) -> Iterator[_Row]:
    """Yield the rows that are not blank, each with the line on which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begins = 1
    try:
        for fields in reader:
            if fields:
                yield _Row(begins, fields)
            begins = reader.line_num + 1
    except csv.Error as problem:
        _refuse(path, begins, f"expected comma-separated values, got: {problem}")


def _of_length(path: Path, rows: Iterator[_Row], length: int) -> Iterator[_Row]:
    for row in rows:
        if len(row.fields) != length:
            _refuse(
                path, row.line, f"expected {length} fields as in the header, got {len(row.fields)}"
            )
        yield row


def _check_columns(
    path: Path,
    line: int,
    header: list[str],
    *,
    required: Sequence[str],
    optional: Sequence[str] | None = None,
) -> None:
    """Refuse a header that lacks a name or has one twice, or others than `optional` if given."""
    for name in required:
        if name not in header:
            _refuse(path, line, f"expected a column named {name}, got {_listed(header)}")
    twice = [name for place, name in enumerate(header) if name in header[:place]]
    if twice:
        _refuse(path, line, f"column names must differ, got {_shown(twice[0])} twice")
    if "" in header:
        _refuse(path, line, f"every column must have a name, got none for {header.index('') + 1}")
    if optional is not None:
        allowed = (*required, *optional)
        others = [name for name in header if name not in allowed]
        if others:
            _refuse(path, line, f"expected only {', '.join(allowed)}, got also {_listed(others)}")


def _check_features(
    path: Path, names: list[str], lines: list[int], features: Matrix, limit: float
) -> None:
    bad = ~(np.abs(features) <= limit)  # also true for NaN
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        value = float(features[row, column])
        expected = f"at most {limit:g} in size" if math.isfinite(value) else "a finite number"
        name = _shown(names[column])
        _refuse(path, lines[row], f"feature {name} must be {expected}, got {value}")


def _numbers(path: Path, line: int, names: list[str], fields: list[str]) -> list[float]:
    try:
        if "_" not in "".join(fields):  # 1_000 is a number to Python, not to people
            return [float(field) for field in fields]
    except ValueError:
        pass
    return [
        _number(path, line, f"feature {_shown(name)}", field, math.inf)
        for name, field in zip(names, fields, strict=True)
    ]


def _number(path: Path, line: int, name: str, field: str, limit: float) -> float:
    try:
        value = math.nan if "_" in field else float(field)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        _refuse(path, line, f"{name} must be a finite number, got {_shown(field)}")
    if abs(value) > limit:
        _refuse(path, line, f"{name} must be at most {limit:g} in size, got {_shown(field)}")
    return value


def _time(path: Path, line: int, field: str) -> Decimal:
    try:
        return seconds_of(field)
    except InvalidInputError as problem:
        _refuse(path, line, str(problem))


def _checked_id(path: Path, line: int, name: str, field: str) -> str:
    if not field:
        _refuse(path, line, f"{name} must not be empty, got nothing")
    return field


def _known_id(path: Path, line: int, field: str, ids: Container[str]) -> str:
    item = _checked_id(path, line, "item_id", field)
    if item not in ids:
        _refuse(path, line, f"item_id must be the id of an item, got {_shown(item)}")
    return item


def _shown(value: str) -> str:
    return repr(value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}...")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(_shown(name) for name in names[:8]) + (" …" if len(names) > 8 else "")


def _refuse(path: Path, line: int | None, what: str) -> NoReturn:
    place = path if line is None else f"{path} line {line}"
    msg = f"{place}: {what}"
    raise InvalidInputError(msg)

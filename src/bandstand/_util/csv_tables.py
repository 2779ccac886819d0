"""CSV files: read whole, and refused in one sentence that names the file and the line.

`read_table` gives the rows of any file with a header; `read_items` the items that can be
recommended, each with its features and texts. A file may have a byte order mark, any line ends,
blank lines and quoted values that go over several lines.
"""

import csv
import io
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.types import Matrix, frozen

# Longer values are cut when they are shown.
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """Items that can be recommended: an id, a row of features and texts for each."""

    ids: tuple[str, ...]
    features: Matrix
    texts: Mapping[str, tuple[str, ...]]  # by kind, such as "artist"


class Row(NamedTuple):
    """The values of one row, and the line on which it begins."""

    line: int
    fields: list[str]


def read_items(
    path: Path,
    *,
    limit: float,
    id_columns: Sequence[str] = ("id",),
    texts: Mapping[str, str | None] | None = None,
) -> Items:
    """Return the items of a file with a column `id` and otherwise numbers up to `limit` in size.

    The first of `id_columns` that the file has takes the place of `id`. `texts` says which
    column has each kind of text; None stands for one called like the kind, if there is one.
    """
    top, header, rows = read_table(path, f"{' or '.join(id_columns)} and at least one feature")
    id_column = next((name for name in id_columns if name in header), id_columns[0])
    text_columns = _text_columns(path, top, header, id_column, texts or {})
    others = {id_column, *text_columns.values()}
    number_places = [place for place, name in enumerate(header) if name not in others]
    if not number_places and not text_columns:
        refuse(path, top, f"there must be at least one feature beside {id_column}, got none")
    names = [header[place] for place in number_places]
    lines_by_id: dict[str, int] = {}
    numbers, kept = [], []
    for line, fields in rows:
        item = checked_id(path, line, id_column, fields[header.index(id_column)])
        if lines_by_id.setdefault(item, line) != line:
            earlier = lines_by_id[item]
            refuse(path, line, f"ids must differ, got {shown(item)} as in line {earlier}")
        numbers.append(_numbers(path, line, names, [fields[place] for place in number_places]))
        kept.append([fields[header.index(name)] for name in text_columns.values()])
    if not numbers:
        refuse(path, None, "there must be at least one item, got none")
    features = np.array(numbers)
    _check_features(path, names, list(lines_by_id.values()), features, limit)
    return Items(
        ids=tuple(lines_by_id),
        features=frozen(features),
        texts=dict(zip(text_columns, zip(*kept, strict=True), strict=True)),
    )


def _text_columns(
    path: Path, line: int, header: list[str], id_column: str, texts: Mapping[str, str | None]
) -> dict[str, str]:
    """Return the column of each kind of text that there is."""
    asked = [name for name in texts.values() if name is not None]
    check_columns(path, line, header, required=(id_column, *asked))
    columns = {kind: name or kind for kind, name in texts.items()}
    return {kind: name for kind, name in columns.items() if name in header}


def read_table(path: Path, expected: str) -> tuple[int, list[str], Iterator[Row]]:
    """Return the header's line, its names without spaces around them, and the rows below it."""
    text = _text(path)
    if not text.strip():
        refuse(path, None, f"expected a header with {expected}, got an empty file")
    rows = _rows(path, text)
    line, fields = next(rows)
    header = [name.strip() for name in fields]
    return line, header, rows


def check_columns(
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
            refuse(path, line, f"expected a column named {name}, got {listed(header)}")
    twice = [name for place, name in enumerate(header) if name in header[:place]]
    if twice:
        refuse(path, line, f"column names must differ, got {shown(twice[0])} twice")
    if "" in header:
        refuse(path, line, f"every column must have a name, got none for {header.index('') + 1}")
    if optional is not None:
        allowed = (*required, *optional)
        others = [name for name in header if name not in allowed]
        if others:
            refuse(path, line, f"expected only {', '.join(allowed)}, got also {listed(others)}")


def number(path: Path, line: int, name: str, field: str, limit: float) -> float:
    """Return a value as a number up to `limit` in size."""
    try:
        value = math.nan if "_" in field else float(field)  # 1_000 is a number to Python only
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        refuse(path, line, f"{name} must be a finite number, got {shown(field)}")
    if abs(value) > limit:
        refuse(path, line, f"{name} must be at most {limit:g} in size, got {shown(field)}")
    return value


def checked_id(path: Path, line: int, name: str, field: str) -> str:
    """Return a value that names something."""
    if not field:
        refuse(path, line, f"{name} must not be empty, got nothing")
    return field


def known_id(path: Path, line: int, field: str, ids: Container[str]) -> str:
    """Return a value that is the id of an item."""
    item = checked_id(path, line, "item_id", field)
    if item not in ids:
        refuse(path, line, f"item_id must be the id of an item, got {shown(item)}")
    return item


def shown(value: object) -> str:
    """Return a value as it is shown in a sentence: text in quotes, and not too long.

    >>> shown("a" * 80) == repr("a" * 57 + "...")
    True
    """
    text = value if isinstance(value, str) else repr(value)
    cut = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
    return repr(cut) if isinstance(value, str) else cut


def listed(names: Sequence[str]) -> str:
    """Return the first few names, as they are shown in a sentence.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(map(shown, names[:8])) + (" …" if len(names) > 8 else "")


def refuse(path: Path, line: int | None, what: str) -> NoReturn:
    """Say what is wrong with a file, and where."""
    place = path if line is None else f"{path} line {line}"
    msg = f"{place}: {what}"
    raise InvalidInputError(msg)


def _text(path: Path) -> str:
    """Return the text of a file, with or without a byte order mark."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        refuse(path, None, f"expected a file that can be read, got: {problem.strerror}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        byte = f"byte 0x{data[problem.start]:02x} at position {problem.start}"
        refuse(path, line, f"expected UTF-8 text, got {byte}")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        refuse(path, line, "expected text, got a NUL byte")
    return text


def _rows(path: Path, text: str) -> Iterator[Row]:
    """Yield the rows that are not blank, as long as the first, with the line each begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begins, length = 1, 0
    try:
        for fields in reader:
            length = length or len(fields)
            if fields and len(fields) != length:
                refuse(
                    path, begins, f"expected {length} fields as in the header, got {len(fields)}"
                )
            if fields:
                yield Row(begins, fields)
            begins = reader.line_num + 1
    except csv.Error as problem:
        refuse(path, begins, f"expected comma-separated values, got: {problem}")


def _check_features(
    path: Path, names: list[str], lines: list[int], features: Matrix, limit: float
) -> None:
    bad = ~(np.abs(features) <= limit)  # also true for NaN
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        value = float(features[row, column])
        expected = f"at most {limit:g} in size" if math.isfinite(value) else "a finite number"
        name = shown(names[column])
        refuse(path, lines[row], f"feature {name} must be {expected}, got {value}")


def _numbers(path: Path, line: int, names: list[str], fields: list[str]) -> list[float]:
    try:
        if "_" not in "".join(fields):
            return [float(field) for field in fields]
    except ValueError:
        pass
    return [
        number(path, line, f"feature {shown(name)}", field, math.inf)
        for name, field in zip(names, fields, strict=True)
    ]

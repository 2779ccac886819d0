"""Rows of a CSV file whose values are checked as they are read: whole numbers, seconds, words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from bandstand._util.csv_tables import check_columns, number, read_table, refuse, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import NoReturn

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRow:
    """One row; each method returns a value or refuses it, naming file, line and column."""

    path: Path
    line: int
    values: Mapping[str, str]

    def whole(self, name: str, least: int, most: int) -> int:
        """Return a whole number from `least` to `most`, written in digits alone."""
        field = self.values[name]
        # More digits than the largest number has are none; int() would take its time.
        is_digits = field.isascii() and field.isdigit() and len(field) <= len(str(most))
        if not is_digits or not least <= int(field) <= most:
            self.refuse(f"{name} must be a whole number from {least} to {most}, got {shown(field)}")
        return int(field)

    def seconds(self, name: str) -> float | None:
        """Return a number of at least 0, or None where nothing is written."""
        field = self.values[name]
        if not field:
            return None
        value = number(self.path, self.line, name, field, math.inf)
        if value < 0:
            self.refuse(f"{name} must not be negative, got {shown(field)}")
        return value

    def one_of(self, name: str, meanings: Mapping[str, _Value]) -> _Value:
        """Return what a word means that must be one of few."""
        field = self.values[name]
        if field not in meanings:
            self.refuse(f"{name} must be one of {', '.join(meanings)}, got {shown(field)}")
        return meanings[field]

    def refuse(self, what: str) -> NoReturn:
        """Say what is wrong with this row."""
        refuse(self.path, self.line, what)


def checked_rows(path: Path, columns: Sequence[str]) -> Iterator[CheckedRow]:
    """Yield the rows of a file with exactly these columns, in any order."""
    top, header, rows = read_table(path, ", ".join(columns))
    check_columns(path, top, header, required=columns, optional=())
    for line, fields in rows:
        yield CheckedRow(path=path, line=line, values=dict(zip(header, fields, strict=True)))

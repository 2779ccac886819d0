"""Text lines of a stream of bytes, and rows of fields, each with the number of its line."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final

from bandstand._util.csv_tables import Row
from bandstand_lab.histories.places import refusal

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator

__all__ = ["Row", "rows", "text_lines"]

_MARK: Final = b"\xef\xbb\xbf"
# No line of a history is as long: a file without ends of lines is something else.
_LONGEST: Final = 1 << 20  # bytes


def text_lines(name: str, stream: io.BufferedReader) -> Iterator[str]:
    """Yield the lines with their ends; a byte order mark before the first is dropped."""
    number = 0
    while data := stream.readline(_LONGEST):
        number += 1
        if len(data) == _LONGEST:
            what = f"expected less than {_LONGEST:,} bytes, got more"
            raise refusal(name, f"line {number}", what)
        if number == 1:
            data = data.removeprefix(_MARK)
        yield _text(name, number, data)


def rows(name: str, stream: io.BufferedReader, *, delimiter: str, quoted: bool) -> Iterator[Row]:
    """Yield the rows of a table; empty lines are passed over."""
    lines = text_lines(name, stream)
    quote = '"' if quoted else None
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quotechar=quote,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    begins = 1
    try:
        for fields in reader:
            if fields:
                yield Row(begins, fields)
            begins = reader.line_num + 1
    except csv.Error as problem:
        raise refusal(name, f"line {begins}", f"expected a row of fields, got: {problem}") from None


def _text(name: str, number: int, data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        byte = data[problem.start]
        raise refusal(
            name, f"line {number}", f"expected UTF-8 text, got the byte 0x{byte:02x}"
        ) from None
    if "\0" in text:
        raise refusal(name, f"line {number}", "expected text, got a NUL byte")
    return text

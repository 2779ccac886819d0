"""The lines of an export: their spelling, the header, and the digest at the end."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import InvalidInputError
from bandstand.store.values import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FORMAT: Final = 1
WHOLE: Final = "store"
ONE_ACCOUNT: Final = "account"


def header(content: str) -> dict[str, Any]:
    """Return the first line of an export of a whole store, or of one account."""
    return {"type": "header", "bandstand": "export", "format": FORMAT, "content": content}


def spell(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield entries as lines without a line feed, and the line `end` after them."""
    digest, count = sha256(), 0
    for entry in entries:
        line = _spell(entry)
        digest.update(line.encode() + b"\n")
        count += 1
        yield line
    yield _spell({"type": "end", "lines": count, "sha256": digest.hexdigest()})


def _spell(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the content of each line between the header and the end.

    Raises InvalidInputError, with the number of the line, unless this is the export of a store.
    """
    digest, number, is_ended = sha256(), 0, False
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")
        entry = _parsed(line, number)
        if number == 1:
            _check_header(entry)
        elif is_ended:
            msg = f"line {number}: an export must end with its line `end`, got another after it"
            raise InvalidInputError(msg)
        elif entry.get("type") == "end":
            if entry != {"type": "end", "lines": number - 1, "sha256": digest.hexdigest()}:
                msg = f"line {number}: the lines of an export must fit its end, got changed ones"
                raise InvalidInputError(msg)
            is_ended = True
        else:
            yield number, entry
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    if not is_ended:
        msg = f"an export must end with its line `end`, got {number:,} lines without: cut short"
        raise InvalidInputError(msg)


def _parsed(line: str, number: int) -> dict[str, Any]:
    try:
        entry = json.loads(line, parse_constant=_refuse, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as problem:
        msg = f"line {number}: each line of an export must be a JSON object, got: {problem}"
        raise InvalidInputError(msg) from problem
    if not isinstance(entry, dict):
        msg = f"line {number}: each line of an export must be a JSON object, got {shown(entry)}"
        raise InvalidInputError(msg)
    return entry


def _refuse(constant: str) -> None:
    msg = f"{constant}, which is no JSON"
    raise ValueError(msg)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        msg = "a name that comes twice"
        raise ValueError(msg)
    return entry


def _check_header(entry: dict[str, Any]) -> None:
    if entry.get("type") != "header" or entry.get("bandstand") != "export":
        expected, got = "an export of Bandstand must begin with its header", shown(entry)
    elif entry.get("format") != FORMAT:
        expected, got = f"an export must be of format {FORMAT}", shown(entry.get("format"))
    elif entry.get("content") != WHOLE:
        expected, got = "an export of a whole store was expected", "that of one account"
    elif entry != header(WHOLE):
        expected, got = "a header must say nothing else", shown(entry)
    else:
        return
    msg = f"line 1: {expected}, got {got}"
    raise InvalidInputError(msg)

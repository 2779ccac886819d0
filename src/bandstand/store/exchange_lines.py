"""One line of an export: how it is spelt, and how it is read again."""

from __future__ import annotations

import base64
import binascii
import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import InvalidInputError
from bandstand.store.values import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

FORMAT: Final = 1
WHOLE: Final = "store"
ONE_ACCOUNT: Final = "account"


def header(content: str) -> dict[str, Any]:
    """Return the first line of an export of a whole store, or of one account."""
    return {"type": "header", "bandstand": "export", "format": FORMAT, "content": content}


def spelt(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield entries as lines, without an end of line, and after them a line that ends them."""
    digest, count = sha256(), 0
    for entry in entries:
        line = _spell(entry)
        digest.update(line.encode() + b"\n")
        count += 1
        yield line
    yield _spell({"type": "end", "lines": count, "sha256": digest.hexdigest()})


def _spell(entry: Mapping[str, Any]) -> str:
    # Without the escapes that only JavaScript of old needs, and with those for control characters.
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the content of each line between the header and the end.

    Raises InvalidInputError, with the number of the line, for what is no export of a store.
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
            _check_end(entry, number, digest.hexdigest())
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
        msg = f"line 1: an export of Bandstand must begin with its header, got {shown(entry)}"
        raise InvalidInputError(msg)
    if entry.get("format") != FORMAT:
        msg = f"line 1: an export must be of format {FORMAT}, got {shown(entry.get('format'))}"
        raise InvalidInputError(msg)
    if entry.get("content") != WHOLE:
        msg = "line 1: an export of a whole store was expected, got that of one account"
        raise InvalidInputError(msg)
    if entry != header(WHOLE):
        msg = f"line 1: a header must say nothing else, got {shown(entry)}"
        raise InvalidInputError(msg)


def _check_end(entry: dict[str, Any], number: int, digest: str) -> None:
    if entry != {"type": "end", "lines": number - 1, "sha256": digest}:
        msg = f"line {number}: the lines of an export must fit its end, got changed ones"
        raise InvalidInputError(msg)


def path_fields(path: bytes) -> dict[str, str]:
    r"""Return a path as text, or in base64 where it is no text.

    >>> path_fields(b"/a/b"), path_fields(b"/a/\xff")
    ({'path': '/a/b'}, {'path_base64': 'L2Ev/w=='})
    """
    try:
        return {"path": path.decode()}
    except UnicodeDecodeError:
        return {"path_base64": to_base64(path)}


def path_of(fields: Mapping[str, Any]) -> bytes:
    """Return the path that `path_fields` wrote."""
    text = fields.get("path")
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    return from_base64(fields.get("path_base64"), "path_base64")


def to_base64(content: bytes) -> str:
    """Return bytes as text."""
    return base64.b64encode(content).decode()


def from_base64(value: Any, name: str) -> bytes:
    """Return the bytes of a text."""
    return _decoded(value, name, "base64", lambda text: base64.b64decode(text, validate=True))


def from_hex(value: Any, name: str) -> bytes:
    """Return the bytes of a text of hexadecimal digits."""
    return _decoded(value, name, "hexadecimal digits", binascii.unhexlify)


def _decoded(value: Any, name: str, what: str, decode: Callable[[str], bytes]) -> bytes:
    if isinstance(value, str):
        try:
            return decode(value)
        except ValueError:
            pass
    msg = f"{name} must be {what}, got {shown(value)}"
    raise InvalidInputError(msg)

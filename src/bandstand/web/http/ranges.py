"""Parts of a file over HTTP: conditional requests and one Range, after RFC 9110.

    If-Match, If-Unmodified-Since      412 unless the file is the one that is meant     13.2.2
    If-None-Match, If-Modified-Since   304 if the client has it already
    Range, with If-Range               206 with one part, 416 if there is no such part  14

Several ranges at once are answered with the whole file, which the standard allows and which
cannot be abused: no answer ever needs more than one part. What cannot be understood is ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# Optional white space around it, and empty elements of the list beside it, mean nothing.
_ONE_RANGE: Final = re.compile(r"bytes=[ \t,]*([0-9]*)-([0-9]*)[ \t,]*", re.ASCII | re.IGNORECASE)
_LONGEST_RANGE: Final = 200
_TAG: Final = re.compile(r'(W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_LONGEST_CONDITION: Final = 4_000
_LATEST: Final = 253_402_300_799  # the last second of 9999: a header has four digits for the year
# A date says which version is meant only if no other can have been made in the same second.
_SETTLED_SECONDS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """What is sent: its size, and how versions of it are told apart."""

    size: int  # bytes
    tag: str  # without quotes; another for other bytes
    modified: int  # seconds since 1970

    @property
    def etag(self) -> str:
        """The tag as the header has it."""
        return f'"{self.tag}"'

    @property
    def last_modified(self) -> str:
        """The date as the header has it."""
        return format_datetime(
            datetime.fromtimestamp(min(self.modified, _LATEST), UTC), usegmt=True
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which part is sent, with which status and headers; `length` is 0 where there is no body."""

    status: int
    start: int
    length: int
    headers: Mapping[str, str]


def plan(entity: Entity, method: str, headers: Mapping[str, str], *, now: int) -> Plan:
    """Return the answer to a GET or HEAD with these headers, whose names are in lower case.

    >>> song = Entity(size=1000, tag="a", modified=0)
    >>> plan(song, "GET", {"range": "bytes=990-"}, now=10).headers["Content-Range"]
    'bytes 990-999/1000'
    >>> plan(song, "GET", {"range": "bytes=1000-"}, now=10).status
    416
    """
    known = {
        "Accept-Ranges": "bytes",
        "ETag": entity.etag,
        "Last-Modified": entity.last_modified,
    }
    status = _condition(entity, headers)
    if status is not None:
        return Plan(status=status, start=0, length=0, headers=known)
    part = wanted_part(headers.get("range"), entity.size) if method == "GET" else None
    if part is None or not _is_same(entity, headers.get("if-range"), now):
        return Plan(status=200, start=0, length=entity.size, headers=known)
    if part == _NOWHERE:
        none = {"Content-Range": f"bytes */{entity.size}"}
        return Plan(status=416, start=0, length=0, headers=known | none)
    first, last = part
    some = {"Content-Range": f"bytes {first}-{last}/{entity.size}"}
    return Plan(status=206, start=first, length=last - first + 1, headers=known | some)


_NOWHERE: Final = (-1, -1)


def wanted_part(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first and the last byte that a Range asks for, both included.

    None if all is wanted, also where the header makes no sense or wants several parts;
    (-1, -1) if nothing there can be sent.

    >>> wanted_part("bytes=-3", 10), wanted_part("bytes=5-99", 10), wanted_part("bytes=1-0", 10)
    ((7, 9), (5, 9), None)
    """
    match = _ONE_RANGE.fullmatch(header) if header and len(header) <= _LONGEST_RANGE else None
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":
        length = min(int(match[2]), size)
        if size == 0 and int(match[2]) > 0:
            return None  # all of nothing, which no Content-Range can say
        return (size - length, size - 1) if length else _NOWHERE
    first = int(match[1])
    last = int(match[2]) if match[2] else first
    if last < first:
        return None
    if first >= size:
        return _NOWHERE
    return first, min(last, size - 1) if match[2] else size - 1


def _condition(entity: Entity, headers: Mapping[str, str]) -> int | None:
    """Return the status that the conditions of a request lead to; None to go on."""
    if "if-match" in headers:
        if not _names(headers["if-match"], entity, strongly=True):
            return 412
    elif "if-unmodified-since" in headers:
        since = _moment(headers["if-unmodified-since"])
        if since is not None and entity.modified > since:
            return 412
    if "if-none-match" in headers:
        return 304 if _names(headers["if-none-match"], entity, strongly=False) else None
    since = _moment(headers.get("if-modified-since", ""))
    return 304 if since is not None and entity.modified <= since else None


def _is_same(entity: Entity, condition: str | None, now: int) -> bool:
    """Return whether an If-Range, if there is one, means this version of the file."""
    if condition is None or condition.strip() == entity.etag:
        return True
    is_settled = entity.modified + _SETTLED_SECONDS <= now
    return condition.strip() == entity.last_modified and is_settled


def _names(header: str, entity: Entity, *, strongly: bool) -> bool:
    """Return whether a list of tags, or a star, includes this version of the file."""
    if header.strip() == "*":
        return True
    if len(header) > _LONGEST_CONDITION:
        return False
    tags = {found[0] for found in _TAG.finditer(header)}
    return entity.etag in tags or (not strongly and f"W/{entity.etag}" in tags)


def _moment(header: str) -> int | None:
    """Return the time that a header names, in seconds since 1970; None if it names none."""
    if not header.strip().endswith("GMT") or len(header) > 60:
        return None
    try:
        return int(parsedate_to_datetime(header).timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None

"""Files over HTTP: conditional requests and one Range (RFC 9110), streams, download names.

    If-Match, If-Unmodified-Since      412 unless the file is the one that is meant     13.2.2
    If-None-Match, If-Modified-Since   304 if the client has it already
    Range, with If-Range               206 with one part, 416 if there is no such part  14

Several ranges at once are answered with the whole file, which the standard allows and which
cannot be abused. A header that cannot be parsed is ignored.
"""

import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import BinaryIO, Final, Literal
from urllib.parse import quote

import anyio
import anyio.to_thread
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

# With optional white space and empty elements of the list, as the standard allows.
_ONE_RANGE: Final = re.compile(r"bytes=[ \t,]*([0-9]*)-([0-9]*)[ \t,]*", re.ASCII | re.IGNORECASE)
_MAX_RANGE_CHARS: Final = 200
_TAG: Final = re.compile(r'(W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_MAX_CONDITION_CHARS: Final = 4_000
_LAST_SECOND: Final = 253_402_300_799  # of 9999: a header has four digits for the year
# A date identifies a version only if no other can have been made in the same second.
_SETTLED_SECONDS: Final = 2
BLOCK_BYTES: Final = 1 << 17
_MAX_STEM_CHARS: Final = 120
# Characters that some system forbids in a name, or takes for a folder or a device.
_UNSAFE: Final = re.compile(r'[\\/:*?"<>|]+')


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """The size and the version of a file."""

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
            datetime.fromtimestamp(min(self.modified, _LAST_SECOND), UTC), usegmt=True
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The part to send, its status and headers; `length` is 0 where there is no body."""

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
    match = _ONE_RANGE.fullmatch(header) if header and len(header) <= _MAX_RANGE_CHARS else None
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":
        length = min(int(match[2]), size)
        if size == 0 and int(match[2]) > 0:
            return None  # all of an empty file, which no Content-Range can express
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
    if len(header) > _MAX_CONDITION_CHARS:
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


class FileResponse(Response):
    """A part of an open file, read by other threads a block at a time; it closes the file."""

    def __init__(self, file: BinaryIO, plan: Plan, headers: dict[str, str]) -> None:
        super().__init__(status_code=plan.status, headers={**headers, **plan.headers})
        self._file = file
        self._plan = plan
        # 304 has no length of its own; 412 and 416 have no body.
        del self.headers["content-length"]
        if plan.status in {200, 206}:
            self.headers["content-length"] = str(plan.length)
        elif plan.status in {412, 416}:
            self.headers["content-length"] = "0"
            del self.headers["content-type"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the part, until it is sent or the client is gone."""
        try:
            head = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **head})
            if scope["method"] == "HEAD" or not self._plan.length:
                await send({"type": "http.response.body", "body": b""})
                return
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
                await self._send_part(send)
                tasks.cancel_scope.cancel()
        finally:
            self._file.close()

    async def _send_part(self, send: Send) -> None:
        place, end = self._plan.start, self._plan.start + self._plan.length
        handle = self._file.fileno()
        while place < end:
            wanted = min(BLOCK_BYTES, end - place)
            block = await anyio.to_thread.run_sync(os.pread, handle, wanted, place)
            if not block:
                # The file became shorter: the client sees a body short of its length.
                break
            place += len(block)
            await send({"type": "http.response.body", "body": block, "more_body": place < end})


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def disposition(kind: Literal["inline", "attachment"], stem: str, ending: str) -> str:
    """Return the Content-Disposition (RFC 6266, RFC 8187) of a file with any text as `stem`.

    >>> disposition("inline", 'AC/DC - "Thunder"', ".mp3")
    'inline; filename="AC DC - Thunder.mp3"'
    >>> print(disposition("attachment", "Björk", ".m3u8"))
    attachment; filename="Bjork.m3u8"; filename*=UTF-8''Bj%C3%B6rk.m3u8
    """
    name = safe_name(stem) + ending
    letters = unicodedata.normalize("NFKD", safe_name(stem)).encode("ascii", "ignore").decode()
    # Made safe once more: wide forms turn into quotes, slashes and dots.
    plain = safe_name(letters) + ending
    if plain == name:
        return f'{kind}; filename="{name}"'
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def safe_name(text: str) -> str:
    """Return a text as the name of a file on any system, without an ending."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    words = _UNSAFE.sub(" ", shown).split()
    return " ".join(words)[:_MAX_STEM_CHARS].strip(" .") or "song"

"""Strict reading of requests: JSON bodies, and the values of queries.

    body: Annotated[NewPlaylist, JsonBody(NewPlaylist)]

A body is `application/json`, UTF-8 without a byte order mark, at most 64 kB and 32 levels deep; no
NaN or Infinity, no key twice, no lone surrogates, no NUL. A number that Python would round to
infinity, or that has more digits than any of ours, is refused too.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

from fastapi import Depends
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from starlette.requests import Request  # noqa: TC002  # FastAPI reads the annotation

from bandstand.music.catalogue.columns import FIRST_YEAR, LAST_YEAR
from bandstand.store.database.schema import is_storable
from bandstand.web.http.problems import Problem, invalid_fields

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_DEPTH: Final = 32
BODY_SECONDS: Final = 10.0  # seconds for a whole body
_MAX_DIGITS: Final = 20
# An unterminated text is one match too: to start again at each of its quotes would take time
# quadratic in its length.
_BRACKETS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


class Body(BaseModel):
    """Base of the models of all bodies: nothing is converted, unknown fields are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class BodyReader:
    """A dependency that reads a request's body as a model.

    With `most_kb` the route has its own limit, and takes a body without a type from who proves who
    they are by a header: some programs name none, and no page of another site can send both.
    """

    def __init__(self, model: type[BaseModel], most_kb: int | None) -> None:
        self.model: Final = model
        self._most_kb: Final = most_kb

    async def __call__(self, request: Request) -> Any:
        """Return the model; Problem if the body is not one."""
        is_untyped = not {"content-type", "content-encoding"} & {*request.headers}
        if not (is_untyped and self._most_kb and "authorization" in request.headers):
            _check_type(request)
        limit = 1_024 * (self._most_kb or request.app.state.context.settings.max_body_kb)
        value = parse(await _read(request, limit=limit))
        try:
            return self.model.model_validate(value)
        except ValidationError as problem:
            errors = problem.errors(include_url=False, include_context=False, include_input=False)
            raise invalid_fields(errors) from None


def JsonBody(model: type[BaseModel], most_kb: int | None = None) -> Any:  # noqa: N802  # used like FastAPI's Body
    """Return the dependency that reads a body as `model`."""
    return Depends(BodyReader(model, most_kb))


def parse(body: bytes) -> Any:
    """Parse strict JSON; Problem if it is not.

    >>> parse(b'{"stars": 5}')
    {'stars': 5}
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        _malformed("the body must be UTF-8")
    if text.startswith("\ufeff"):
        _malformed("the body must not begin with a byte order mark")
    if _depth(text) > MAX_DEPTH:
        _malformed(f"the body must be at most {MAX_DEPTH} levels deep")
    try:
        value = json.loads(
            text,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_short,
            object_pairs_hook=_no_duplicate_keys,
        )
    except json.JSONDecodeError:
        _malformed("the body must be JSON")
    _check_texts(value)
    return value


def _malformed(message: str) -> NoReturn:
    raise Problem(400, "bad_json", message) from None


def _unusable(message: str) -> NoReturn:
    raise Problem(422, "invalid", message) from None


def _check_type(request: Request) -> None:
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if kind.strip().lower() != "application/json" or charset not in {"", "utf-8"}:
        raise Problem(415, "not_json", "the body must be application/json in UTF-8")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "encoded", "the body must not be compressed")


async def _read(request: Request, *, limit: int) -> bytes:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read_limited(request, limit=limit)
    except TimeoutError:
        message = "the body must come within some seconds"
        raise Problem(408, "too_slow", message, {"Connection": "close"}) from None


async def _read_limited(request: Request, *, limit: int) -> bytes:
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > limit:
        _too_large(limit)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            _too_large(limit)
    return bytes(body)


def _too_large(limit: int) -> NoReturn:
    message = f"the body must have at most {limit:,} bytes"
    raise Problem(413, "too_large", message, {"Connection": "close"})


def _depth(text: str) -> int:
    """Return how deep brackets are nested, without recursion."""
    depth = deepest = 0
    for token in _BRACKETS.finditer(text):
        if token[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in "]}":
            depth -= 1
    return deepest


def _no_constant(_text: str) -> NoReturn:
    _unusable("numbers must be finite")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _unusable("numbers must be finite")
    return number


def _short(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        _unusable(f"whole numbers must have fewer than {_MAX_DIGITS} digits")
    return int(text)


def _no_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    together = dict(pairs)
    if len(together) != len(pairs):
        _malformed("an object must not have the same key twice")
    return together


def _check_texts(value: Any) -> None:
    """Refuse text that no store can hold."""
    for text in _texts(value):
        if not is_storable(text):
            _unusable("text must be valid Unicode without NUL")


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, dict):
        yield from value
        for part in value.values():
            yield from _texts(part)


# Pydantic alone would take "5.0", " 5" and "5_0" for whole numbers.
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)


def _checked_whole(value: Any) -> Any:
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        msg = "must be a whole number"
        raise ValueError(msg)
    return value


def _checked_text(value: Any) -> Any:
    if isinstance(value, str) and not is_storable(value):
        msg = "must be valid Unicode without NUL"
        raise ValueError(msg)
    return value


Whole = Annotated[int, BeforeValidator(_checked_whole)]
Year = Annotated[Whole, Field(ge=FIRST_YEAR, le=LAST_YEAR)]
Text = Annotated[str, BeforeValidator(_checked_text)]
Id = Annotated[str, StringConstraints(pattern="^[0-9a-f]{16}$")]

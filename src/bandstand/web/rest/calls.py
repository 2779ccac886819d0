"""A call of an endpoint: its parameters, whose it is, and the table of all endpoints.

    @endpoint("getSong", scope="read")
    def get_song(call: Call) -> Tree: …

Every endpoint declares the scope that an app password needs for it. One that reads the store runs
in another thread; one that is a coroutine waits by itself.
"""

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from bandstand.store.app_passwords import SCOPES, App, AppScope
from bandstand.store.database.schema import is_storable
from bandstand.web.http.problems import Problem
from bandstand.web.http.request_input import read_body
from bandstand.web.requests.authentication import check_scope, verify_secret, verify_token
from bandstand.web.requests.context import Context
from bandstand.web.rest.answers import (
    CONFLICTING_LOGIN,
    FAILED,
    MISSING_PARAMETER,
    WRONG_KEY,
    Refusal,
    Tree,
    refusal_of,
)
from bandstand.web.rest.memory import RestMemory

MAX_FORM_BYTES: Final = 1 << 20
MAX_CLIENT_CHARS: Final = 60
_MAX_FIELDS: Final = 20_000
_FORM_TYPE: Final = "application/x-www-form-urlencoded"
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]+)?", re.ASCII)
_HINT: Final = "wrong name or app password; the page makes one: Settings, Apps"


class Params:
    """The parameters of a call, from its address and its form; unknown ones are ignored."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value if is_storable(value) else "\ufffd")

    def all(self, name: str) -> list[str]:
        """Return all values of a name, without empty ones."""
        return [value for value in self._values.get(name, []) if value]

    def text(self, name: str) -> str | None:
        """Return a value; None where there is none or an empty one."""
        return next(iter(self.all(name)), None)

    def required(self, name: str) -> str:
        """Return a value that must be there, though it may be empty."""
        if name not in self._values:
            raise Refusal(MISSING_PARAMETER, f"required parameter is missing: {name}")
        return self._values[name][0]

    def whole(self, name: str, default: int, *, least: int = 0, most: int = 10**15) -> int:
        """Return a whole number, brought between its bounds."""
        found = self.optional_whole(name)
        return min(max(default if found is None else found, least), most)

    def optional_whole(self, name: str) -> int | None:
        """Return a whole number; None where there is none."""
        text = self.text(name)
        if text is None:
            return None
        if _WHOLE.fullmatch(text) is None:
            raise Refusal(FAILED, f"{name} must be a whole number")
        return int(text.partition(".")[0])

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return whether a value is true."""
        text = self.text(name)
        return default if text is None else text.lower() in {"true", "1", "yes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call, of an app that has proved who it is."""

    request: Request
    context: Context
    memory: RestMemory
    params: Params
    app: App

    @property
    def account(self) -> str:
        """The id of the account."""
        return self.app.account.id

    @property
    def client(self) -> str:
        """What the app calls itself, as an event's key can hold it."""
        name = "".join(it for it in self.params.text("c") or "app" if it.isprintable())
        return name.strip()[:MAX_CLIENT_CHARS] or "app"

    @property
    def player(self) -> tuple[str, str, str]:
        """What tells one player from others: account, app password and client."""
        return self.account, self.app.password.id, self.client


Handler: TypeAlias = "Callable[[Call], Tree | Response | Awaitable[Tree | Response]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An endpoint, and the scope that it needs."""

    handler: Handler
    scope: AppScope
    waits: bool  # it is a coroutine

    async def run(self, call: Call) -> Tree | Response:
        """Return what the endpoint answers."""
        check_scope(call.app.password.scope, self.scope)
        if self.waits:
            found: Any = self.handler(call)
            return await found  # type: ignore[no-any-return]
        return await call.context.pool.run(self.handler, call)  # type: ignore[arg-type]


ENDPOINTS: Final[dict[str, Endpoint]] = {}


def endpoint(name: str, *, scope: AppScope) -> Callable[[Any], Any]:
    """Declare an endpoint with its scope."""
    if scope not in SCOPES:
        msg = f"{name} must declare one of {', '.join(SCOPES)}, got {scope!r}"
        raise ValueError(msg)

    def declare(handler: Any) -> Any:
        waits = inspect.iscoroutinefunction(handler)
        ENDPOINTS[name] = Endpoint(handler=handler, scope=scope, waits=waits)
        return handler

    return declare


async def params_of(request: Request) -> Params:
    """Return the parameters of the address, and of the form that a POST has."""
    pairs = _pairs(request.scope["query_string"])
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and kind == _FORM_TYPE:
        pairs += _pairs(await read_body(request, limit=MAX_FORM_BYTES))
    return Params(pairs)


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("latin-1"), keep_blank_values=True, max_num_fields=_MAX_FIELDS
        )
    except ValueError:
        raise Refusal(FAILED, f"at most {_MAX_FIELDS:,} parameters can be read") from None


async def app_of(context: Context, address: str, params: Params) -> App:
    """Return the app that proves who it is in one of the ways of the protocol."""
    key, name, password = (params.text(each) for each in ("apiKey", "u", "p"))
    token, salt = params.text("t"), params.text("s")
    if key is not None and any((name, password, token, salt)):
        raise Refusal(CONFLICTING_LOGIN, "apiKey must come alone: without u, p, t and s")
    if password is not None and token is not None:
        raise Refusal(CONFLICTING_LOGIN, "either p or t with s must be given, not both")
    try:
        if key is not None:
            return await verify_secret(context, address, key)
        if name is not None and password is not None:
            return await verify_secret(context, address, password, name=name)
        if name is not None and token is not None and salt is not None:
            return await verify_token(context, address, name, token=token, salt=salt)
    except Problem as problem:
        if problem.status != 401:
            raise
        if key is not None:
            raise Refusal(WRONG_KEY, "wrong apiKey; the page makes one: Settings, Apps") from None
        raise Refusal(refusal_of(problem).code, _HINT) from None
    raise Refusal(MISSING_PARAMETER, "required parameter is missing: apiKey, or u with p or t, s")

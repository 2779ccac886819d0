"""Security middleware around the whole app.

In: a request id; limits on the address and the headers; the Host allow-list; the CSRF check on
methods that change something; no cookies but ours. Out: the security headers, the request id, one
line of access log. An error that no handler has caught becomes a bare 500.

`/rest` is for music apps, pages of other sites among them: it takes longer addresses, is asked
from anywhere, and its answers may be read anywhere. It sees no cookie, so that a page can do no
more there than its own app password allows.
"""

import logging
import secrets
import time
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bandstand.web.http.problems import RETRY_AFTER, Problem, answer, note, problem_of
from bandstand.web.http.timeouts import TOO_MANY_CONNECTIONS
from bandstand.web.requests.context import Context
from bandstand.web.security.access import client_address, is_known_host, is_own_origin
from bandstand.web.security.browser_sessions import strip_foreign_cookies

ACCESS_LOG: Final = logging.getLogger("bandstand.access")

MAX_ADDRESS_BYTES: Final = 8_192  # path and query together
MAX_REST_ADDRESS_BYTES: Final = 65_536  # clients name hundreds of songs in one address
MAX_HEADER_BYTES: Final = 32_768
REST: Final = "/rest/"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
    "object-src 'none'; frame-ancestors 'none'; "
    # Trusted Types without any policy: writing to innerHTML is an error.
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY_HEADERS: Final = {
    "Content-Security-Policy": _CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_REST_HEADERS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD, POST",
    "Access-Control-Allow-Headers": "Content-Type, Range, If-None-Match, If-Range",
    "Access-Control-Expose-Headers": (
        "Accept-Ranges, Content-Length, Content-Range, ETag, X-Request-Id, X-Total-Count"
    ),
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


class SecurityMiddleware:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, context: Context) -> None:
        self._app = app
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; there are no web sockets."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        await _Exchange(self._app, self._context, scope, receive, send).run()


class _Exchange:
    """One request and its response."""

    def __init__(
        self, app: ASGIApp, context: Context, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._app, self._context = app, context
        self._scope, self._receive, self._send = scope, receive, send
        self._headers = Headers(scope=scope)
        self._id = secrets.token_hex(8)
        self._is_rest = scope["path"].startswith(REST)
        self._began = time.monotonic()
        self._status: int | None = None
        peer = scope["client"][0] if scope.get("client") else None
        forwarded = self._headers.getlist("x-forwarded-for")
        self._address = client_address(context.access, peer, forwarded)
        scope.setdefault("state", {}).update(request_id=self._id, address=self._address)

    async def run(self) -> None:
        """Pass the request on, or refuse it; in either case there is one answer."""
        try:
            self._check()
            self._scope["headers"] = self._own_headers()
            await self._app(self._scope, self._receive, self._send_with_headers)
        except Exception as error:  # noqa: BLE001  # every error has the same shape
            await self._refuse(error)
        finally:
            self._log()

    def _own_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers with no cookies but ours, and with none at all for `/rest`."""
        headers = self._scope["headers"]
        if self._is_rest:
            return [each for each in headers if each[0] not in {b"cookie", b"authorization"}]
        return strip_foreign_cookies(headers, self._context.access)

    def _check(self) -> None:
        scope, headers = self._scope, self._headers
        if scope["state"].get(TOO_MANY_CONNECTIONS):
            again = {"Retry-After": str(RETRY_AFTER), "Connection": "close"}
            raise Problem(503, "busy", "there are too many connections; try again", again)
        longest = MAX_REST_ADDRESS_BYTES if self._is_rest else MAX_ADDRESS_BYTES
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > longest:
            raise Problem(414, "address_too_long", "the address is too long")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            raise Problem(431, "headers_too_large", "the headers are too large")
        if "transfer-encoding" in headers and "content-length" in headers:
            # Request smuggling: a proxy may have believed the other header.
            message = "the length of the body must be said in one way"
            raise Problem(400, "bad_request", message, {"Connection": "close"})
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not is_known_host(self._context.access, hosts[0]):
            message = "this server is not known by that name; see `hosts` in its settings"
            raise Problem(400, "unknown_host", message)
        is_free = self._is_rest or scope["method"] in SAFE_METHODS
        if not is_free and not self._is_from_our_page(hosts[0]):
            raise Problem(403, "cross_origin", "only the server's own pages may change something")

    def _is_from_our_page(self, host: str) -> bool:
        """Return whether no page of another site sends this; programs send neither header."""
        site = self._headers.get("sec-fetch-site")
        if site is not None and site not in {"same-origin", "none"}:
            return False
        origin = self._headers.get("origin")
        return origin is None or is_own_origin(self._context.access, origin, host)

    async def _refuse(self, error: Exception) -> None:
        problem = problem_of(error)
        note(error, problem, self._id)
        if self._status is None:
            response = answer(problem, self._id)
            await response(self._scope, self._receive, self._send_with_headers)

    async def _send_with_headers(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in (_REST_HEADERS if self._is_rest else {}).items():
                headers[name] = value
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-Id"] = self._id
            if self._scope["path"].startswith("/api/"):
                headers.setdefault("Cache-Control", "no-store")
        await self._send(message)

    def _log(self) -> None:
        if not self._context.settings.access_log:
            return
        # No query, headers or body: they may hold secrets.
        path = (self._scope.get("raw_path") or b"?").decode("latin-1")[:200]
        ACCESS_LOG.info(
            "%s %s %s %s %.0f ms %s",
            self._address,
            self._scope["method"],
            ascii(path)[1:-1],
            self._status or "-",
            1_000 * (time.monotonic() - self._began),
            self._id,
        )

"""Asking an app as a server would: every byte of the request is the test's own choice.

A client library would tidy the address up before the app sees it.
"""

from __future__ import annotations

import asyncio
import json as json_text
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message

HOST = "localhost:8260"
PATIENCE = 60.0  # seconds until a test gives up on an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name.lower()), None)

    def json(self) -> Any:
        return json_text.loads(self.body)

    @property
    def code(self) -> str:
        """The code of the error, in the one shape of errors."""
        error = self.json()["error"]
        assert set(error) - {"until"} == {"code", "message", "request_id"}, error
        assert self.header("x-request-id") == error["request_id"]
        return str(error["code"])


class Client:
    """Somebody at one address, with cookies of their own."""

    def __init__(self, app: ASGIApp, runner: asyncio.Runner, address: str = "127.0.0.1") -> None:
        self.app = app
        self.runner = runner
        self.address = address
        self.cookies: dict[str, str] = {}

    def ask(
        self,
        method: str,
        target: str,
        *,
        json: Any = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        return self.runner.run(self.asking(method, target, json=json, body=body, headers=headers))

    async def asking(
        self,
        method: str,
        target: str,
        *,
        json: Any = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return the answer; to be awaited, so that many can be asked at once."""
        given = {"host": HOST, "user-agent": "tests"}
        if json is not None:
            body = json_text.dumps(json).encode()
            given["content-type"] = "application/json"
        if body is not None:
            given["content-length"] = str(len(body))
        if self.cookies:
            given["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        given |= {name.lower(): value for name, value in (headers or {}).items()}
        scope = self._scope(method, target, given)
        async with asyncio.timeout(PATIENCE):
            answer = await _exchange(self.app, scope, body or b"")
        self._keep_cookies(answer)
        return answer

    def _scope(self, method: str, target: str, headers: Mapping[str, str]) -> dict[str, Any]:
        raw_path, _, query = target.partition("?")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(raw_path),
            "raw_path": raw_path.encode("latin-1"),
            "root_path": "",
            "query_string": query.encode("latin-1"),
            "headers": [
                (name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
            ],
            "client": (self.address, 50_000),
            "server": ("127.0.0.1", 8260),
        }

    def _keep_cookies(self, answer: Answer) -> None:
        for key, value in answer.headers:
            if key == "set-cookie":
                name, _, content = value.partition(";")[0].partition("=")
                if "max-age=0" in value.lower():
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = content


async def _exchange(app: ASGIApp, scope: dict[str, Any], body: bytes) -> Answer:
    to_come = [{"type": "http.request", "body": body, "more_body": False}]
    gone = asyncio.Event()
    parts: list[Message] = []

    async def receive() -> Message:
        if to_come:
            return to_come.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        parts.append(message)
        is_stream = b"text/event-stream" in dict(parts[0].get("headers", ())).values()
        if not message.get("more_body", True) or (is_stream and len(parts) > 1):
            gone.set()

    await app(scope, receive, send)
    start = parts[0]
    return Answer(
        status=start["status"],
        headers=tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in start["headers"]),
        body=b"".join(part.get("body", b"") for part in parts[1:]),
    )

"""The one cookie: which session a browser belongs to.

HttpOnly, since no script needs it. SameSite=Strict, since the page itself is public and its
requests are its own: a link from elsewhere opens the page, and only then is the cookie sent. Under
TLS it is Secure, and its name begins with `__Host-`, so that neither plain HTTP nor a neighbouring
subdomain can set it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from bandstand.web.security.access import Access

NAME: Final = "bandstand_session"
SECURE_NAME: Final = f"__Host-{NAME}"
# 256 bits in URL-safe base 64.
_TOKEN: Final = re.compile(rb"[A-Za-z0-9_-]{1,64}")


def name_of(access: Access) -> str:
    """Return what the cookie is called."""
    return SECURE_NAME if access.is_https else NAME


def token_of(request: Request, access: Access) -> str | None:
    """Return the token that a request brings, whether it is worth anything or not."""
    return request.cookies.get(name_of(access))


def without_others(
    headers: Sequence[tuple[bytes, bytes]], access: Access
) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request with no cookie but ours, and that only if it is a token.

    Browsers send along what other servers of the same computer have set, which is none of our
    business; and to read what it is takes some versions of Python seconds (CVE-2024-7592). Of
    several of our name the last counts, which is the one that was set for the whole server.

    >>> from bandstand.web.security.access import Access
    >>> without_others([(b"cookie", b"theme=dark; bandstand_session=x")], Access())
    [(b'cookie', b'bandstand_session=x')]
    """
    kept = [(name, value) for name, value in headers if name != b"cookie"]
    brought = b";".join(value for name, value in headers if name == b"cookie")
    wanted = name_of(access).encode()
    pairs = [part.strip().partition(b"=") for part in brought.split(b";")]
    tokens = [token for name, _, token in pairs if name == wanted and _TOKEN.fullmatch(token)]
    return [*kept, (b"cookie", wanted + b"=" + tokens[-1])] if tokens else kept


def give(response: Response, access: Access, token: str, *, seconds: int) -> None:
    """Let a browser keep a token for so long."""
    response.set_cookie(
        name_of(access),
        token,
        max_age=seconds,
        path="/",
        secure=access.is_https,
        httponly=True,
        samesite="strict",
    )


def take_back(response: Response, access: Access) -> None:
    """Let a browser forget its token."""
    response.delete_cookie(
        name_of(access), path="/", secure=access.is_https, httponly=True, samesite="strict"
    )

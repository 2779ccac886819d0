"""The page, and the few files that it is made of."""

from importlib.resources import files
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from bandstand.web.context import ContextDep
from bandstand.web.guards import PUBLIC
from bandstand.web.problems import not_found

router = APIRouter(tags=["page"])

_TYPES: Final = {
    "index.html": "text/html; charset=utf-8",
    "radio.css": "text/css; charset=utf-8",
    "radio.js": "text/javascript; charset=utf-8",
    "telling.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_DESCRIBED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {kind: {} for kind in sorted(set(_TYPES.values()))}}
}
# What is not in this list is not served, so no name in an address ever becomes a path.
_FILES: Final = {
    name: files("bandstand.web").joinpath("static", name).read_bytes() for name in _TYPES
}


@router.api_route(
    "/",
    methods=["GET", "HEAD"],
    dependencies=[PUBLIC],
    operation_id="page",
    response_class=Response,
    responses={200: {"content": {"text/html": {}}}},
)
async def page(request: Request, context: ContextDep) -> Response:
    """Show the radio, where to log in, or where to make the first account."""
    content = _FILES["index.html"]
    if context.setup.is_open:
        content = content.replace(b'data-setup="closed"', b'data-setup="open"', 1)
    return _answer(request, content, _TYPES["index.html"])


@router.api_route(
    "/static/{name}",
    methods=["GET", "HEAD"],
    dependencies=[PUBLIC],
    operation_id="static",
    response_class=Response,
    responses=_DESCRIBED,
)
async def static(
    request: Request, name: Annotated[str, Path(description="the name of a file of the page")]
) -> Response:
    """Send one of the files that the page is made of."""
    if name not in _FILES:
        raise not_found(what="file")
    return _answer(request, _FILES[name], _TYPES[name])


def _answer(request: Request, content: bytes, media_type: str) -> Response:
    headers = {"Cache-Control": "no-cache", "Content-Length": str(len(content))}
    body = b"" if request.method == "HEAD" else content
    return Response(body, headers={**headers, "Content-Type": media_type})

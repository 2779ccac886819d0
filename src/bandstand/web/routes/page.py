"""The page, and the files that it is made of."""

from functools import cache
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from bandstand.errors import StoreError
from bandstand.web.http.page_files import MEDIA_TYPES, PageFile, read_page_files, takes_gzip
from bandstand.web.http.problems import Problem, not_found
from bandstand.web.http.ranges import Entity, plan
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import PUBLIC, visitor

router = APIRouter(tags=["page"])

Session = Literal["open", "closed", "ask"]

PAGE: Final = read_page_files()

_DESCRIBED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {kind: {} for kind in sorted(MEDIA_TYPES.values())}},
    304: {"description": "the client has it already"},
}
_FOR_EVER: Final = "public, max-age=31536000, immutable"


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
    setup: Literal["open", "closed"] = "open" if context.setup.is_open else "closed"
    file = _index(setup, await _session(request, context))
    # Kept by nobody: it says who is there.
    return _answer(request, file, {"Cache-Control": "no-store"})


@router.api_route(
    "/static/{version}/{path:path}",
    methods=["GET", "HEAD"],
    dependencies=[PUBLIC],
    operation_id="static",
    response_class=Response,
    responses=_DESCRIBED,
)
async def static(
    request: Request,
    version: Annotated[str, Path(description="the version that the page names")],
    path: Annotated[str, Path(description="the name of a file of the page")],
) -> Response:
    """Send one of the files that the page is made of."""
    file = PAGE.files.get(path)
    if file is None:
        raise not_found(what="file")
    # Where the server was updated under an open tab, the tab asks for pages that it shows for the
    # first time under its own version. It gets them as they are now, to be kept by nobody; a
    # refusal would end the music, and a redirect start a second player beside the first.
    caching = _FOR_EVER if version == PAGE.version else "no-cache"
    headers = {"Cache-Control": caching}
    _, tag, _ = file.chosen(takes_gzip=_takes_gzip(request))
    known = ",".join(request.headers.getlist("if-none-match"))
    entity = Entity(size=len(file.plain), tag=tag, modified=0)
    conditions = {"if-none-match": known} if known else {}
    if plan(entity, "HEAD", conditions, now=0).status == 304:
        kept = {**headers, "ETag": entity.etag, "Vary": "Accept-Encoding"}
        return Response(status_code=304, headers=kept)
    return _answer(request, file, {**headers, "ETag": entity.etag})


async def _session(request: Request, context: Context) -> Session:
    """Return whether somebody is logged in; "ask" where only a request by the page can tell."""
    try:
        if await visitor(request, context) is not None:
            return "open"
    except (StoreError, Problem):
        return "ask"  # the page is shown all the same, and can say what is wrong
    # The cookie does not come along when a link on another site is followed.
    return "ask" if request.headers.get("sec-fetch-site") == "cross-site" else "closed"


@cache
def _index(setup: Literal["open", "closed"], session: Session) -> PageFile:
    return PAGE.index(setup=setup, session=session)


def _takes_gzip(request: Request) -> bool:
    return takes_gzip(",".join(request.headers.getlist("accept-encoding")))


def _answer(request: Request, file: PageFile, headers: dict[str, str]) -> Response:
    content, _, encoding = file.chosen(takes_gzip=_takes_gzip(request))
    told = {
        **headers,
        **encoding,
        "Content-Length": str(len(content)),
        "Content-Type": file.media_type,
        "Vary": "Accept-Encoding",
    }
    return Response(b"" if request.method == "HEAD" else content, headers=told)

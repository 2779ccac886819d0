"""The page, and its files: read once, and held in memory as they are sent.

A name in an address is looked up among the files that were found, so it never becomes a path. The
addresses hold a version, which changes with any file: a browser may cache them for ever.
"""

# No postponed annotations: FastAPI reads them when the program runs.

import gzip
import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from bandstand.errors import StoreError
from bandstand.web.http.files import Entity, plan
from bandstand.web.http.problems import Problem, not_found
from bandstand.web.requests.authentication import PUBLIC, visitor
from bandstand.web.requests.context import Context, ContextDep

# Files of any other kind are not served.
MEDIA_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "webmanifest": "application/manifest+json",
}
INDEX: Final = "index.html"
FIRST_MODULE: Final = "app/main.js"
FOLDER_MARK: Final = "{static}"
PRELOAD_MARK: Final = "<!-- modulepreload -->"

# `import … from "…"`, `export … from "…"` and `import "…"` at the beginning of a line, but not
# `import("…")`, which loads later.
_IMPORT: Final = re.compile(
    r"""^[ \t]*(?:import|export)\b(?:[^"'();]*?\bfrom\b)?\s*["']([^"']+)["']""", re.MULTILINE
)
_VERSION_LENGTH: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile:
    """One file, as it is and compressed; `gzipped` is None where that is no shorter."""

    media_type: str
    plain: bytes
    gzipped: bytes | None
    tag: str  # another for other bytes

    def chosen(self, *, takes_gzip: bool) -> tuple[bytes, str, Mapping[str, str]]:
        """Return the bytes to send, their tag, and the header of their encoding."""
        if self.gzipped is None or not takes_gzip:
            return self.plain, self.tag, {}
        return self.gzipped, f"{self.tag}-gzip", {"Content-Encoding": "gzip"}


@dataclass(frozen=True, kw_only=True)
class PageFiles:
    """All files of the page by their names, such as `app/main.js`, and the page itself."""

    files: Mapping[str, PageFile]
    template: str
    version: str

    @property
    def folder(self) -> str:
        """The address that the names are relative to."""
        return f"/static/{self.version}"

    @cached_property
    def first_modules(self) -> tuple[str, ...]:
        """The modules without which nothing can be shown, the first one first."""
        found = [FIRST_MODULE] if FIRST_MODULE in self.files else []
        for name in found:  # which grows meanwhile
            found += [one for one in self._imported(name) if one not in found]
        return tuple(found)

    def _imported(self, name: str) -> list[str]:
        names = imports(name, self.files[name].plain.decode())
        return [one for one in dict.fromkeys(names) if one in self.files]

    def index(self, *, setup: str, session: str) -> PageFile:
        """Return the page, marked with whether the first account and a session exist."""
        # A browser finds a module only through another: named here, all load at once.
        links = (
            f'<link rel="modulepreload" href="{self.folder}/{name}">' for name in self.first_modules
        )
        text = self.template.replace(PRELOAD_MARK, "\n".join(links))
        text = text.replace(FOLDER_MARK, self.folder)
        text = text.replace('data-setup="closed"', f'data-setup="{setup}"', 1)
        text = text.replace('data-session="closed"', f'data-session="{session}"', 1)
        return _page_file(INDEX, text.encode())


def read_page_files(static: Traversable | None = None) -> PageFiles:
    """Read the page of a folder; without one, that of the package."""
    root = files("bandstand.web").joinpath("static") if static is None else static
    contents = dict(_read_folder(root, ""))
    template = contents.pop(INDEX)
    digest = hashlib.sha256()
    for name, content in (*sorted(contents.items()), (INDEX, template)):
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return PageFiles(
        files=MappingProxyType({name: _page_file(name, one) for name, one in contents.items()}),
        template=template.decode(),
        version=digest.hexdigest()[:_VERSION_LENGTH],
    )


def imports(name: str, text: str) -> list[str]:
    """Return the names of the modules that a module imports.

    >>> imports("app/main.js", 'import { radio } from "../player/radio.js";')
    ['player/radio.js']
    >>> imports("app/main.js", 'const page = await import("../taste/page.js");')
    []
    """
    folder = posixpath.dirname(name)
    return [posixpath.normpath(posixpath.join(folder, one)) for one in _IMPORT.findall(text)]


def takes_gzip(accept_encoding: str) -> bool:
    """Return whether a client accepts gzip.

    >>> takes_gzip("gzip, deflate, br"), takes_gzip("br;q=1, gzip;q=0"), takes_gzip("")
    (True, False, False)
    """
    weights: dict[str, bool] = {}
    for part in accept_encoding.lower().split(","):
        name, _, parameters = part.partition(";")
        weights[name.strip()] = not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", parameters)
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", False)))


def _read_folder(folder: Traversable, above: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _read_folder(entry, f"{above}{entry.name}/")
        elif _suffix(entry.name) in MEDIA_TYPES:
            yield above + entry.name, entry.read_bytes()


def _page_file(name: str, content: bytes) -> PageFile:
    gzipped = gzip.compress(content, 9, mtime=0)
    return PageFile(
        media_type=MEDIA_TYPES[_suffix(name)],
        plain=content,
        gzipped=gzipped if len(gzipped) < len(content) else None,
        tag=hashlib.sha256(content).hexdigest()[:32],
    )


def _suffix(name: str) -> str:
    return name.rpartition(".")[2].lower()


router = APIRouter(tags=["page"])

Session = Literal["open", "closed", "ask"]

PAGE: Final = read_page_files()

_DESCRIBED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {kind: {} for kind in sorted(MEDIA_TYPES.values())}},
    304: {"description": "the client has it already"},
}
_IMMUTABLE: Final = "public, max-age=31536000, immutable"


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
    # Not cached: it depends on the session.
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
    # After an update of the server an open tab still asks under its own version. It gets the files
    # as they are now, uncached; a refusal would end the music, a redirect start a second player.
    caching = _IMMUTABLE if version == PAGE.version else "no-cache"
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
    """Return whether there is a session; "ask" where only a request by the page can find out."""
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
    all_headers = {
        **headers,
        **encoding,
        "Content-Length": str(len(content)),
        "Content-Type": file.media_type,
        "Vary": "Accept-Encoding",
    }
    return Response(b"" if request.method == "HEAD" else content, headers=all_headers)

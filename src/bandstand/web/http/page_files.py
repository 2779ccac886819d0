"""The files that the page is made of: read once, and held in memory as they are sent.

A name in an address is looked up among those that were found, so it never becomes a path. The
addresses hold a version, which is another as soon as any file is: a browser may keep what it got
for ever, and asks for nothing twice.
"""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

# What is not of one of these kinds is not served, wherever it may come from.
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

# `import … from "…"`, `export … from "…"` and `import "…"`, at the beginning of a line;
# `import("…")` is for later and not among them.
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
        """Return what is sent, its tag (they are not the same bytes), and what says so."""
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
        """Return the page, in which it says whether the first account and a session are there."""
        # A browser learns of a module only from another: named here, all come at once.
        links = (
            f'<link rel="modulepreload" href="{self.folder}/{name}">' for name in self.first_modules
        )
        text = self.template.replace(PRELOAD_MARK, "\n".join(links))
        text = text.replace(FOLDER_MARK, self.folder)
        text = text.replace('data-setup="closed"', f'data-setup="{setup}"', 1)
        text = text.replace('data-session="closed"', f'data-session="{session}"', 1)
        return _page_file(INDEX, text.encode())


def read_page_files(static: Traversable | None = None) -> PageFiles:
    """Return the page of a folder; without one, that of the package."""
    root = files("bandstand.web").joinpath("static") if static is None else static
    contents = dict(_walked(root, ""))
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
    """Return the names of what a module needs before it can run.

    >>> imports("app/main.js", 'import { radio } from "../player/radio.js";')
    ['player/radio.js']
    >>> imports("app/main.js", 'const page = await import("../taste/page.js");')
    []
    """
    folder = posixpath.dirname(name)
    return [posixpath.normpath(posixpath.join(folder, one)) for one in _IMPORT.findall(text)]


def takes_gzip(accept_encoding: str) -> bool:
    """Return whether a client takes what is compressed.

    >>> takes_gzip("gzip, deflate, br"), takes_gzip("br;q=1, gzip;q=0"), takes_gzip("")
    (True, False, False)
    """
    weights: dict[str, bool] = {}
    for part in accept_encoding.lower().split(","):
        name, _, parameters = part.partition(";")
        weights[name.strip()] = not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", parameters)
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", False)))


def _walked(folder: Traversable, above: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _walked(entry, f"{above}{entry.name}/")
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

"""A report as one HTML file that needs nothing else, not even a network.

Pictures are in it; there is no script, and a policy forbids the browser to fetch anything.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final

from bandstand_lab.report.markup import Markup, element

if TYPE_CHECKING:
    from bandstand_lab.report.markup import Child

_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'"


def document(title: str, *body: Child) -> bytes:
    """Return the whole file, in the style of all reports."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} · Bandstand"),
        # Our own style sheet, not escaped: a quotation mark in it is one.
        Markup(f"<style>\n{_style()}</style>"),
    )
    return f"<!doctype html>\n{element('html', head, element('body', *body), lang='en')}\n".encode()


def entry(name: str, title: str) -> Markup:
    """Return a line of the contents that leads to a section."""
    return element("li", element("a", title, href=f"#{name}"))


def fact(name: str, value: object) -> Markup:
    """Return a name beside its value."""
    return element("div", element("dt", name.replace("_", " ")), element("dd", str(value)))


def _style() -> str:
    return files("bandstand_lab.report").joinpath("report.css").read_text(encoding="utf-8")

"""HTML in which everything is escaped unless it was made here.

>>> element("p", "1 < 2 & ", element("b", "bold"), class_="lead")
'<p class="lead">1 &lt; 2 &amp; <b>bold</b></p>'
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

_WITHOUT_END: Final = frozenset({"br", "col", "hr", "img", "link", "meta"})
_CODE: Final = re.compile(r"`([^`\n]+)`")


class Markup(str):
    """HTML that is safe to put into a page."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[Child] | None"


def element(name: str, /, *children: Child, **attributes: str | int | None) -> Markup:
    """Return an element; children that are plain text are escaped, None is left out.

    An attribute's underscores are hyphens; one at the end is for names that Python has taken.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _WITHOUT_END:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: Child) -> Markup:
    """Return the children one after the other, as HTML."""
    return Markup("".join(_written(child) for child in children))


def prose(text: str) -> Markup:
    """Return one sentence or more, in which `words in backticks` are code.

    >>> prose("run `a < b` now")
    'run <code>a &lt; b</code> now'
    """
    parts = _CODE.split(text)
    return join(element("code", part) if number % 2 else part for number, part in enumerate(parts))


def paragraphs(text: str, **attributes: str) -> Markup:
    """Return text as paragraphs, which blank lines part."""
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return join(element("p", prose(part), **attributes) for part in parts if part)


def _written(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return html.escape(child)
    return join(*child)

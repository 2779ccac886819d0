"""The few files that the page is made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bandstand.web.routes import page as page_module

if TYPE_CHECKING:
    from tests.web.worlds import World


def test_the_page_is_for_everybody(world: World) -> None:
    answer = world.stranger().ask("GET", "/")
    assert (answer.status, answer.header("content-type")) == (200, "text/html; charset=utf-8")
    assert b'data-setup="closed"' in answer.body
    world.context.setup.issue()
    assert b'data-setup="open"' in world.stranger().ask("GET", "/").body


def test_the_files_of_the_page_are_for_everybody(world: World) -> None:
    for name, kind in page_module._TYPES.items():
        answer = world.stranger().ask("GET", f"/static/{name}")
        assert (answer.status, answer.header("content-type")) == (200, kind)
        head = world.stranger().ask("HEAD", f"/static/{name}")
        assert head.header("content-length") == str(len(answer.body))
    assert world.stranger().ask("GET", "/static/other.js").status == 404


def test_nothing_in_the_page_is_inline_or_from_elsewhere() -> None:
    html = page_module._FILES["index.html"].decode()
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]+src=)|javascript:", html)
    for name in ("index.html", "radio.js", "telling.js", "radio.css"):
        text = page_module._FILES[name].decode()
        assert not re.search(
            r"https?://|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text
        )
        assert text.count("\n") <= 400

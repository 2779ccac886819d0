"""Fills docs/scale.md with what a run has measured.

    bandstand bench --scale --json scale.json
    python -m benchmarks.scale.page '{"json": "scale.json", "page": "docs/scale.md"}'

On the page everything between `<!-- measured: NAME -->` and `<!-- end -->` is replaced.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import InvalidInputError
from benchmarks.program import run_as_program
from benchmarks.scale.blocks import BLOCKS

if TYPE_CHECKING:
    from collections.abc import Mapping

_BLOCK: Final = re.compile(
    r"(?P<start><!-- measured: (?P<name>\w+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def filled(page: str, document: Mapping[str, Any]) -> str:
    """Return a page with every block as `document` has it.

    >>> filled("no block", {})
    'no block'
    """

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in BLOCKS:
            msg = f"a block must be one of {', '.join(BLOCKS)}, got {name!r}"
            raise InvalidInputError(msg)
        return f"{found['start']}\n{BLOCKS[name](document)}\n\n{found['end']}"

    return _BLOCK.sub(block, page)


def main(order: str) -> None:
    """Fill the page that the order (JSON) names from the run that it names."""
    asked = json.loads(order)
    page = Path(asked["page"])
    document = json.loads(Path(asked["json"]).read_text(encoding="utf-8"))
    page.write_text(filled(page.read_text(encoding="utf-8"), document), encoding="utf-8")


if __name__ == "__main__":
    run_as_program(main)

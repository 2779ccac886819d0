"""A pair of files for `bandstand recommend`, small and sound until a test writes something else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.cli.running import Outcome, run

if TYPE_CHECKING:
    from pathlib import Path

ITEMS = "id,a,b\nx,1,0\ny,0,1\nz,1,1\nw,-1,0.5\n"
HISTORY = """\
item_id,time,rating
x,2026-01-01T10:00:00Z,4
y,2026-01-01T10:04:00Z,2
x,2026-01-01T10:08:00Z,3
z,2026-01-01T10:12:00Z,5
x,2026-01-02T10:08:00Z,4
"""


class Files:
    def __init__(self, folder: Path) -> None:
        self.items = folder / "items.csv"
        self.history = folder / "history.csv"
        self.write()

    def write(self, items: str | bytes = ITEMS, history: str | bytes = HISTORY) -> None:
        for path, content in ((self.items, items), (self.history, history)):
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def arguments(self, *options: str) -> list[str]:
        files = ["--items", str(self.items), "--history", str(self.history)]
        return ["recommend", *files, *options]

    def recommend(self, *options: str) -> Outcome:
        return run(*self.arguments(*options))

    def ranking(self, *options: str) -> Any:
        """Return what --json prints, which must be strict JSON."""
        outcome = self.recommend("--json", *options)
        assert outcome.code == 0, outcome.err
        assert not outcome.err
        return json.loads(outcome.out, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    message = f"strict JSON has no {constant}"
    raise AssertionError(message)

"""The words of a study: a TOML file of Jinja2 templates beside it, filled with its numbers.

    introduction = "…"      method = "…"
    [findings.NAME]         paper, place, measured, why
    [tables.NAME]           title, columns (divided by "|"), note
    [figures.NAME]          caption; NAME is the name of the file

A file of several chapters has these below the name of each (`part`); a table of texts is text of
several paragraphs. A study computes numbers and verdicts; its file says what they mean. A name
that a template uses and the study does not give is an error, never a gap in the text.
"""

from __future__ import annotations

import tomllib
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.report.study import Chapter, Drawing, Finding, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from jinja2 import Environment
    from matplotlib.figure import Figure

    from bandstand_lab.report.study import Cell, Verdict

_PARTS: Final = ("paper", "place", "measured", "why")


class Texts:
    """The templates of one study.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "small.toml")
    >>> _ = file.write_text('method = "{{ runs }} runs, {{ share | percent }} of them short."')
    >>> Texts(file)("method", runs=3, share=0.5)
    '3 runs, 50 % of them short.'
    """

    def __init__(self, file: Path, part: str = "") -> None:
        self._file = file
        self._part = part

    def part(self, name: str) -> Texts:
        """Return the templates below that name, for one chapter of a file of several."""
        return Texts(self._file, f"{name}.")

    def __call__(self, name: str, **values: Any) -> str:
        """Return the text of that name ("method", "tables.times.note"), filled with `values`."""
        found: Any = _read(self._file)
        for part in f"{self._part}{name}".split("."):
            found = found[part]
        if isinstance(found, dict):  # paragraph by paragraph
            return "\n\n".join(self(f"{name}.{each}", **values) for each in found)
        return " ".join(_environment().from_string(found).render(values).split())

    def finding(self, name: str, verdict: Verdict, **values: Any) -> Finding:
        """Return the finding of that name: its four texts share `values`."""
        texts = {part: self(f"findings.{name}.{part}", **values) for part in _PARTS}
        return Finding(verdict=verdict, **texts)

    def table(self, name: str, rows: Iterable[tuple[Cell, ...]], **values: Any) -> Table:
        """Return the table of that name: title, columns and note share `values`."""
        title, columns, note = (
            self(f"tables.{name}.{part}", **values) for part in ("title", "columns", "note")
        )
        heads = tuple(column.strip() for column in columns.split("|"))
        return Table(name=name, title=title, columns=heads, rows=tuple(rows), note=note)

    def drawing(
        self,
        name: str,
        draw: Callable[[Figure], None],
        *,
        inches: tuple[float, float] = (8.0, 4.5),
        **values: Any,
    ) -> Drawing:
        """Return the figure of that name, with its caption filled."""
        caption = self(f"figures.{name}.caption", **values)
        return Drawing(name=name, caption=caption, draw=draw, width=inches[0], height=inches[1])

    def chapter(self, *, method: Mapping[str, Any] | None = None, **parts: Any) -> Chapter:
        """Return a chapter of these findings, tables, drawings and data."""
        introduction, how = (self(name, **(method or {})) for name in ("introduction", "method"))
        return Chapter(introduction=introduction, method=how, **parts)


@cache
def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    # Imported here: the jobs of a study do without.
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415

    # The page escapes what it shows; here a text is a text.
    environment = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701
    environment.filters.update(percent=_percent, signed_percent=_signed_percent, listed=_listed)
    return environment


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _signed_percent(change: float) -> str:
    """Return a relative change in per cent; what rounds to nothing has no sign."""
    rounded = f"{100 * change:+.0f}"
    return "0 %" if rounded in {"+0", "-0"} else f"{rounded} %".replace("-", "−")


def _listed(items: Iterable[object]) -> str:
    """Return the items with commas and an "and", or "none"."""
    words = [str(item) for item in items]
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part) or "none"

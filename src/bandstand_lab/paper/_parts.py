"""Tables and figures whose words come from a study's templates.

[tables.NAME]     title, columns (divided by "|"), note
[figures.NAME]    caption; NAME is the name of the file
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bandstand_lab.report.study import Drawing, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.figure import Figure

    from bandstand_lab.report.study import Cell
    from bandstand_lab.report.texts import Texts


def table(texts: Texts, name: str, rows: Iterable[tuple[Cell, ...]], **values: Any) -> Table:
    """Return the table of that name; title, columns and note share `values`."""
    title, columns, note = (
        texts(f"tables.{name}.{part}", **values) for part in ("title", "columns", "note")
    )
    cells = tuple(column.strip() for column in columns.split("|"))
    return Table(title=title, columns=cells, rows=tuple(rows), note=note)


def drawing(
    texts: Texts,
    name: str,
    draw: Callable[[Figure], None],
    *,
    inches: tuple[float, float] = (8.0, 4.5),
    **values: Any,
) -> Drawing:
    """Return the figure of that name, with its caption filled."""
    caption = texts(f"figures.{name}.caption", **values)
    return Drawing(name=name, caption=caption, draw=draw, width=inches[0], height=inches[1])

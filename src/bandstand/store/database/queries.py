"""Reading and writing many rows, a bounded number at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, RowMapping, Select

# Below what either database takes as the parameters of one statement, old versions included.
ROWS_PER_STATEMENT: Final = 500

Item = TypeVar("Item")


def chunks(items: Sequence[Item], size: int = ROWS_PER_STATEMENT) -> Iterator[Sequence[Item]]:
    """Yield `items` in runs of at most `size`.

    >>> list(chunks("abcde", 2))
    ['ab', 'cd', 'e']
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]


def in_order(
    connection: Connection, statement: Select[Any], key: ColumnElement[Any], *, page: int = 1000
) -> Iterator[RowMapping]:
    """Yield all rows in the order of `key`, with no more than a page of them in memory.

    `key` must be a column of the statement, different in each row. A page starts behind the last
    row of the one before, so no cursor is held between them.
    """
    pages = statement.order_by(key).limit(page)
    rows = connection.execute(pages).mappings().all()
    while rows:
        yield from rows
        if len(rows) < page:
            return
        rows = connection.execute(pages.where(key > rows[-1][key])).mappings().all()

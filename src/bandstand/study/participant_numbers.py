"""Which number somebody gets in a study: which row of the Latin square.

Numbers are drawn, so that neither the order of the invitations nor having withdrawn and come
back tells which order of the algorithms one has. They are drawn from as few as possible, so that
the square stays balanced: all of its rows are given before any of them is given again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstand.store import studies
from bandstand.study.allotment import drawn
from bandstand.study.latin_square import period

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand.study.allotment import Draw
    from bandstand.study.design import Design


def drawn_number(connection: Connection, study: str, design: Design, *, draw: Draw = drawn) -> int:
    """Return one of the numbers that nobody has, of the first square that is not whole.

    It stays free until the transaction ends, which must be one that writes.
    """
    least = studies.free_number(connection, study)  # first, since it holds the study
    taken = {one.number for one in studies.participants(connection, study)}
    rows = period(len(design.algorithms))
    first = least - (least - 1) % rows
    free = [number for number in range(first, first + rows) if number not in taken]
    return free[draw(len(free))]

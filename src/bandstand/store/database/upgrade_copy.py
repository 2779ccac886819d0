"""A store of an older version is copied before it is changed.

The copy lies beside it, as FILE.before-version-N, where N is the first version that the store did
not have yet. An older Bandstand can go on with it: `bandstand restore`.
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

from bandstand.store.database.engines import single_file
from bandstand.store.database.sqlite_copy import copy_sqlite, written_beside

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection


class _Overtaken(Exception):  # noqa: N818  # it is no error
    """Somebody else has brought the store up already, and has made the copy."""


def copy_place(path: Path, version: int) -> Path:
    """Return where the copy of a store goes that has this version and is to get the next.

    >>> from pathlib import Path
    >>> print(copy_place(Path("radio.db"), 1))
    radio.db.before-version-2
    """
    return path.with_name(f"{path.name}.before-version-{version + 1}")


def keep_copy(connection: Connection, path: Path, version: int) -> None:
    """Copy the SQLite store at `path`, which had this version a moment ago."""
    with suppress(_Overtaken), written_beside(copy_place(path, version)) as unfinished:
        copy_sqlite(connection, unfinished)
        _check_version(unfinished, version)


def _check_version(path: Path, version: int) -> None:
    with closing(single_file(path)) as copy:
        ((found,),) = copy.execute("SELECT max(version) FROM schema_version").fetchall()
    if found != version:
        raise _Overtaken

"""Listening histories from files, whatever exports they are."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bandstand.errors import InvalidInputError
from bandstand_lab.histories.gathering import Gathering
from bandstand_lab.histories.merging import merged
from bandstand_lab.histories.opening import documents
from bandstand_lab.histories.services import read_entries
from bandstand_lab.histories.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from bandstand_lab.histories.opening import Document
    from bandstand_lab.histories.values import Histories

_JSON: Final = (b"[", b"{")
_MARKS: Final = b"\xef\xbb\xbf \t\r\n"  # a byte order mark, and space


def read(
    paths: Sequence[PathLike[str] | str],
    *,
    apart: bool = False,
    now: float | None = None,
    on_file: Callable[[str], None] = lambda _: None,
) -> Histories:
    """Return the histories that the files tell, each play once.

    Files that do not say whose they are, are of one listener; with `apart`, every file is
    somebody else's. Plays after `now` (epoch seconds; by default the clock's) are left out.
    An error names the file, and in it the line or entry.
    """
    gathering = Gathering(apart=apart)
    latest = time.time() if now is None else now
    for path in paths:
        is_history = False
        for document in documents(Path(path)):
            on_file(document.name)
            if _read_document(document, gathering, now=latest):
                is_history = True
            else:
                gathering.ignored.append(document.name)
        if not is_history:
            msg = f"{path}: expected an archive with a listening history, got none in it"
            raise InvalidInputError(msg)
    if not gathering.columns.item:
        shown = ", ".join(map(str, paths)) or "no file"
        msg = f"expected at least one play of a song that can be true, got none in {shown}"
        raise InvalidInputError(msg)
    return merged(gathering)


def _read_document(document: Document, gathering: Gathering, *, now: float) -> bool:
    head = document.stream.peek(1).lstrip(_MARKS)
    reader = read_entries if head.startswith(_JSON) else read_table
    return reader(document, gathering, now=now)

"""The study of a store that a file names by its title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstand.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.store.connection import Store
    from bandstand.store.studies import StudyRow


def named_study(store: Store, file: Path) -> StudyRow:
    """Return the study with the title that a file says, open or closed."""
    from bandstand.store import studies  # noqa: PLC0415  # takes a while to import
    from bandstand.study.design_file import read_design  # noqa: PLC0415

    title = read_design(file).title
    with store.reading() as connection:
        found = studies.by_title(connection, title)
    if found is None:
        msg = (
            f"{file}: a study of this store was expected, got the title {title!r}, which none has; "
            f"`bandstand study run {file} DIR` opens it"
        )
        raise NotFoundError(msg)
    return found

"""The study of a store that a file names by its title."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bandstand.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.store.database.connection import Store
    from bandstand.store.studies import StudyRow


def same_study(store: Store, file: Path) -> StudyRow:
    """Return the study that a file describes, open or closed; refuse a file that was changed."""
    from bandstand.study.design import read_design
    from bandstand.study.study_store import find_study

    design = read_design(file)
    return _there(find_study(store, design), file, design.title)


def named_study(store: Store, file: Path) -> StudyRow:
    """Return the study with a file's title, for reading; warn where the file was changed."""
    from bandstand.store import studies
    from bandstand.study.design import (
        differences,
        read_design,
    )
    from bandstand.study.study_store import design_of

    design = read_design(file)
    with store.reading() as connection:
        found = _there(studies.by_title(connection, design.title), file, design.title)
    changed = differences(design_of(found), design)
    if changed:
        told = f"the study {found.title!r} goes by the design that it was opened with; in this file"
        click.echo(f"Warning: {told} {'; '.join(changed)}.", err=True)
    return found


def _there(found: StudyRow | None, file: Path, title: str) -> StudyRow:
    if found is None:
        msg = (
            f"{file}: a study of this store was expected, got the title {title!r}, "
            f"which none has; `bandstand study run {file} DIR` opens it"
        )
        raise NotFoundError(msg)
    return found

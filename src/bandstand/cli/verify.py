"""`bandstand verify`: the check of a store or a backup."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bandstand.cli._options import opened_store, require_store, store_option
from bandstand.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command()
@click.option(
    "--backup", type=click.Path(path_type=Path), metavar="FILE", help="Verify this backup instead."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@store_option
def verify(*, backup: Path | None, as_json: bool, store: str | None) -> None:
    """Check that the store is whole, every event of every log included.

    Exit code 1 if it is not, with a sentence for each thing that is wrong.
    """
    problems, counts = _of_backup(backup) if backup is not None else _of_store(store)
    if as_json:
        click.echo(json.dumps({"problems": problems, "counts": counts}, indent=2))
    else:
        for problem in problems:
            click.echo(problem)
        if not problems:
            click.echo(_in_words(counts))
    if problems:
        msg = f"a whole store was expected, got one with {len(problems):,} problems"
        raise StoreError(msg)


def _of_store(store: str | None) -> tuple[list[str], Mapping[str, int]]:
    from bandstand.radio.log.snapshots import check
    from bandstand.store.transfer.verify import verify as examine
    from bandstand.study.study_store import unreadable_studies

    require_store(store)
    with opened_store(store) as opened:
        report = examine(opened)
        # Derived data of a damaged log need no check.
        problems = list(report.problems) or [*check(opened), *unreadable_studies(opened)]
    return problems, report.counts


def _of_backup(file: Path) -> tuple[list[str], Mapping[str, int]]:
    from bandstand.store.transfer.backup import check_backup

    return [], check_backup(file)


def _in_words(counts: Mapping[str, int]) -> str:
    shown = ", ".join(f"{counts.get(name, 0):,} {name}s" for name in ("song", "account", "event"))
    return f"Whole: {shown}."

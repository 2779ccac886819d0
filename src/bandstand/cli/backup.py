"""`bandstand backup`: a safety copy of the store, also while it is used."""

from pathlib import Path

import click

from bandstand.cli._options import opened_store, require_store, store_option


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Write over an older backup.")
@store_option
def backup(*, file: Path, replace: bool, store: str | None) -> None:
    """Write a safety copy of the store to FILE, also while a server uses it.

    FILE is SQLite, also for a PostgreSQL store, and only its owner can read it. It appears when
    it is complete. `bandstand restore` makes a store of it again.
    """
    from bandstand.store.transfer.backup import backup as write

    require_store(store)
    with opened_store(store) as opened:
        write(opened, file, replace=replace)
    click.echo(f"Backed up to {file} ({file.stat().st_size:,} bytes).")

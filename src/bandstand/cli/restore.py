"""`bandstand restore`: a store from a safety copy."""

from pathlib import Path

import click

from bandstand.cli._options import store_option


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--replace", is_flag=True, help="Replace an existing store; the old one is kept beside it."
)
@store_option
def restore(*, file: Path, replace: bool, store: str | None) -> None:
    """Make a store of the backup in FILE.

    A backup that is damaged, cut short, foreign or of a newer version is refused, and so is a
    store that a server uses; nothing is changed then. With --replace the store that was there is
    kept beside the new one.
    """
    from bandstand.store.database.location import parse_location
    from bandstand.store.transfer.backup import restore as make

    location = parse_location(store)
    kept = make(file, location, replace=replace)
    click.echo(f"Restored {location} from {file}.")
    if kept is not None:
        click.echo(f"The store that was there is kept as {kept}.")

"""`bandstand rebuild`: what is derived from the listeners' logs, computed again."""

import json

import click

from bandstand._util.words import counted
from bandstand.cli._options import opened_store, require_store, store_option


@click.command()
@click.option("--catalogue", is_flag=True, help="Rebuild the matrix of all songs too.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the counts and digests as JSON.")
def rebuild(*, catalogue: bool, store: str | None, as_json: bool) -> None:
    """Rebuild what is derived from the listeners' logs.

    The logs themselves are only read. The same logs give the same digest, at any time and
    on every machine.
    """
    from bandstand.cli._progress import counting
    from bandstand.radio.log.snapshots import rebuild as rebuild_all

    require_store(store)
    with opened_store(store) as opened, counting("Rebuilding", of="events") as progress:
        rebuilt = rebuild_all(opened, catalogue=catalogue, progress=progress)
    if as_json:
        report = {
            "listeners": rebuilt.listeners,
            "events": rebuilt.events,
            "digest": rebuilt.digest,
            "digests": dict(rebuilt.digests),
        }
        click.echo(json.dumps(report, indent=2))
        return
    listeners, events = counted(rebuilt.listeners, "listener"), counted(rebuilt.events, "event")
    click.echo(f"{listeners}, {events}, digest {rebuilt.digest}")

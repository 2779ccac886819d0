"""`bandstand serve`: the radio for everybody in the house."""

from __future__ import annotations

import logging
import os
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import click

from bandstand.cli._options import store_option

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from bandstand.settings import Settings
    from bandstand.store.database.connection import Store
    from bandstand.web.requests.context import Context

LOG: Final = logging.getLogger("bandstand.store")


_OPTIONS: Final = (
    click.option(
        "--config", metavar="FILE", help="Settings; config.toml in your own unless given."
    ),
    store_option,
    click.option("--listen", metavar="ADDRESS", help="Where to listen: 127.0.0.1 unless given."),
    click.option("--port", type=int, metavar="N", help="8260 unless given; 0 takes a free one."),
    click.option(
        "--host", "hosts", multiple=True, metavar="NAME", help="Also answer to this name."
    ),
    click.option("--public-url", metavar="URL", help="The address where a proxy shows the server."),
    click.option(
        "--trusted-proxy",
        "trusted_proxies",
        multiple=True,
        metavar="ADDRESS",
        help="A proxy whose word on the client's address counts.",
    ),
    click.option("--rescan-minutes", type=int, metavar="N", help="60 unless given; 0 is never."),
    click.option("--workers", type=int, metavar="N", help="Processes that analyse music."),
    click.option("--log-level", metavar="NAME", help="debug, info, warning or error."),
)


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a server, the same for every command that starts one."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("folders", nargs=-1, metavar="DIR…")
@server_options
def serve(*, config: str | None, **options: Any) -> None:
    """Play the music below folders to everybody who may log in.

    Scans in the background and serves at once. Every setting can also stand in a file or in the
    environment. Only this computer can reach it, unless it is told to --listen wider.
    """
    from bandstand.settings import load_settings  # noqa: PLC0415

    settings = load_settings(options=options, environment=os.environ, config=config)
    run_server(settings)


def run_server(settings: Settings) -> None:
    """Serve until told to stop."""
    # Imported here, so that `bandstand --help` and a wrong option answer at once.
    from bandstand.store.database.location import parse_location  # noqa: PLC0415
    from bandstand.store.database.serving_lock import serving_lock  # noqa: PLC0415
    from bandstand.web.security.access import check_public_url, listening_socket  # noqa: PLC0415

    check_public_url(settings)
    location = parse_location(settings.store)
    opened = listening_socket(settings.listen, settings.port)
    with closing(opened) as listening, serving_lock(location):
        _serve(settings, listening)


def _serve(settings: Settings, listening: socket.socket) -> None:
    from bandstand._util.clock import system_clock  # noqa: PLC0415
    from bandstand.cli._scan_display import showing  # noqa: PLC0415
    from bandstand.store.database.connection import open_store  # noqa: PLC0415
    from bandstand.web.logs import set_up_logging  # noqa: PLC0415
    from bandstand.web.security.access import check_exposure, shown_address  # noqa: PLC0415
    from bandstand.web.server import serve as serve_app  # noqa: PLC0415
    from bandstand.web.server import server_context  # noqa: PLC0415

    with open_store(settings.store) as store:
        check_exposure(settings, store)
        _check_folders(settings, store)
        _warn(settings)
        set_up_logging(settings)
        with (
            server_context(store, settings, clock=system_clock) as context,
            showing(context.scanner),
        ):
            address = shown_address(listening)
            serve_app(context, listening, on_start=lambda: _greet(context, address))
    click.echo("Stopped.")


def _check_folders(settings: Settings, store: Store) -> None:
    """Refuse a folder that is not there, unless its songs are known: a disk may come later."""
    from bandstand.errors import InvalidInputError  # noqa: PLC0415
    from bandstand.music.library.walk import library_roots  # noqa: PLC0415
    from bandstand.store.songs import files  # noqa: PLC0415

    with store.reading() as connection:
        counts = files.counts(connection)
        if not settings.folders and not counts.songs:
            msg = "at least one folder of music must be given, got none, and the store has no songs"
            raise InvalidInputError(msg)
        for folder in settings.folders:
            try:
                library_roots([folder])
            except InvalidInputError:
                place = os.fsencode(os.path.realpath(folder)) if "\0" not in folder else b""
                if not place or next(files.under(connection, place), None) is None:
                    raise


def _warn(settings: Settings) -> None:
    from bandstand.web.security.access import is_loopback  # noqa: PLC0415

    if settings.public_url is None and not is_loopback(settings.listen):
        click.echo(
            "Note: everybody in this network can reach the server, and passwords travel to it "
            "unencrypted; a proxy with TLS avoids that (docs/serve.md).",
            err=True,
        )


def _greet(context: Context, address: str) -> None:
    """Print where the radio plays, and at the first start the token that makes an account."""
    from bandstand.store import accounts  # noqa: PLC0415

    with context.store.reading() as connection:
        is_new = accounts.count(connection) == 0
    lines = [f"Bandstand plays at {context.settings.public_url or address}"]
    if is_new:
        told = "There is no account yet. Open that address and make one with this token; it works"
        lines += [f"{told} once:", f"    {context.setup.issue()}"]
    click.echo("\n".join([*lines, "Ctrl-C stops it."]))
    _note_version(context.store)


def _note_version(store: Store) -> None:
    """Leave a word in the log on a version of SQLite that is safe only as Bandstand uses it."""
    from bandstand.store.database.location import SqliteLocation  # noqa: PLC0415
    from bandstand.store.database.sqlite_file import sqlite_warning  # noqa: PLC0415

    if isinstance(store.location, SqliteLocation) and (warning := sqlite_warning()) is not None:
        LOG.info("%s", warning)

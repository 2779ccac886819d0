"""`bandstand serve`: the server of the radio."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from bandstand.cli._options import store_option
from bandstand.cli._progress import counting

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from bandstand.music.library.scanner import Progress, Scanner
    from bandstand.settings import Settings
    from bandstand.store.database.connection import Store
    from bandstand.web.requests.context import Context

LOG: Final = logging.getLogger("bandstand.store")


_OPTIONS: Final = (
    click.option(
        "--config",
        metavar="FILE",
        help="Settings file; by default config.toml in your configuration folder.",
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
        help="A proxy that may state the client's address.",
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
    """Play the music below folders to all who may log in.

    Serves at once and scans in the background. Every setting can also be in a file or in the
    environment. Only this computer can reach the server, unless you --listen on another address.
    """
    from bandstand.settings import load_settings

    settings = load_settings(options=options, environment=os.environ, config=config)
    run_server(settings)


def run_server(settings: Settings) -> None:
    """Serve until stopped."""
    from bandstand.store.database.location import parse_location
    from bandstand.store.database.serving_lock import serving_lock
    from bandstand.web.security.access import check_public_url, listening_socket

    check_public_url(settings)
    location = parse_location(settings.store)
    opened = listening_socket(settings.listen, settings.port)
    with closing(opened) as listening, serving_lock(location):
        _serve(settings, listening)


def _serve(settings: Settings, listening: socket.socket) -> None:
    from bandstand._util.clock import system_clock
    from bandstand.store.database.connection import open_store
    from bandstand.web.logs import set_up_logging
    from bandstand.web.security.access import check_exposure, shown_address
    from bandstand.web.server import serve as serve_app
    from bandstand.web.server import server_context

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
    from bandstand.errors import InvalidInputError
    from bandstand.music.library.walk import library_roots
    from bandstand.store.songs import files

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
    from bandstand.web.security.access import is_loopback

    if settings.public_url is None and not is_loopback(settings.listen):
        click.echo(
            "Note: every device in this network can reach the server, and passwords are sent "
            "unencrypted; a proxy with TLS avoids that (docs/serve.md).",
            err=True,
        )


def _greet(context: Context, address: str) -> None:
    """Print where the radio plays, and at the first start the token that makes an account."""
    from bandstand.store import accounts

    with context.store.reading() as connection:
        is_new = accounts.count(connection) == 0
    lines = [f"Bandstand plays at {context.settings.public_url or address}"]
    if is_new:
        lines += [
            "There is no account yet. Open that address and make one with this token, once:",
            f"    {context.setup.issue()}",
        ]
    click.echo("\n".join([*lines, "Ctrl-C stops it."]))
    _note_version(context.store)


def _note_version(store: Store) -> None:
    """Log a version of SQLite that is safe only in the way that Bandstand uses it."""
    from bandstand.store.database.location import SqliteLocation
    from bandstand.store.database.sqlite_file import sqlite_warning

    if isinstance(store.location, SqliteLocation) and (warning := sqlite_warning()) is not None:
        LOG.info("%s", warning)


_POLL_EVERY: Final = 0.25  # seconds
_NAMES: Final = {"first look": "First look", "counting": "Counting", "scanning": "Scanning"}
_NEWS: Final = ("added", "changed", "moved", "missing", "failed")


@contextmanager
def showing(scanner: Scanner | None) -> Iterator[None]:
    """Show a scanner's progress on standard error during the block."""
    if scanner is None or not scanner.has_folders:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=watch, args=(scanner, ended), name="scan display", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def watch(scanner: Scanner, ended: threading.Event) -> None:
    """Show a scanner's progress, and what each scan has found, until `ended`."""
    reported: int | None = None
    while not ended.wait(_POLL_EVERY):
        progress = scanner.progress
        if progress.is_busy:
            _show(scanner, ended)
        elif progress.finished_at not in {reported, None}:
            reported = progress.finished_at
            click.echo(in_words(progress), err=True)


def _show(scanner: Scanner, ended: threading.Event) -> None:
    """Show a bar for each step of one scan, until that scan is over."""
    with ExitStack() as bars:
        shown, update = None, None
        while not ended.wait(_POLL_EVERY) and (progress := scanner.progress).is_busy:
            if progress.state in _NAMES and progress.state != shown:
                bars.close()
                shown = progress.state
                update = bars.enter_context(counting(_NAMES[shown], lasting=False))
            if update is not None and progress.state == shown:
                update(progress.done, progress.total)


def in_words(progress: Progress) -> str:
    """Return what a scan has found, or why it failed, as one line."""
    if progress.problem is not None:
        return f"Scan: {progress.problem}"
    counts = progress.counts
    news = [f"{getattr(counts, name):,} {name}" for name in _NEWS if getattr(counts, name)]
    return (
        f"Scanned {counts.found:,} files: {', '.join(news) or 'nothing new'}. "
        f"{progress.songs:,} songs can be played."
    )

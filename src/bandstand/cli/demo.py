"""`bandstand demo`: the radio with music that it composes itself, for this computer only."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from bandstand.settings import Settings
    from bandstand.store.database.connection import Store

_LISTENER: Final = "Demo listener"
# The taste of the made-up history: the stars that a piece of each genre deserves.
_LIKING: Final = {
    "Jazz": 4.8,
    "Folk": 4.5,
    "String quartet": 4.2,
    "Ambient": 3.7,
    "Waltz": 3.4,
    "Lullaby": 3.1,
    "March": 2.6,
    "House": 2.2,
    "Drum and bass": 1.8,
    "Chiptune": 1.5,
}


@click.command(short_help="Try the radio with music that it composes itself.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8260,
    metavar="N",
    show_default=True,
    help="Port; another one if it is in use.",
)
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
def demo(*, port: int, no_browser: bool) -> None:
    """Try the radio with music that it composes itself.

    The first start composes twenty pieces, opens the radio and goes on composing while it plays.
    Its listener begins with a made-up history, so that there is something to see; the page offers
    to start afresh. Only this computer can reach it, without a login. What was rated is still
    known the next time.
    """
    # Imported here, so that `bandstand --help` and a wrong option answer at once.
    from bandstand.settings import Settings  # noqa: PLC0415
    from bandstand.store.database.location import parse_location, user_data_folder  # noqa: PLC0415
    from bandstand.store.database.serving_lock import serving_lock  # noqa: PLC0415
    from bandstand.web.logs import set_up_logging  # noqa: PLC0415

    home = user_data_folder()
    settings = Settings(
        store=str(home / "demo.db"),
        folders=(str(home / "demo-library"),),
        port=port,
        rescan_minutes=0,
        access_log=False,
        log_level="warning",
    )
    set_up_logging(settings)
    with closing(_listening(settings)) as listening, serving_lock(parse_location(settings.store)):
        _play(settings, listening, home / "demo-library", opens_browser=not no_browser)


def _listening(settings: Settings) -> socket.socket:
    """Return a socket on the chosen port of this computer, or on another one."""
    from bandstand.errors import BandstandError  # noqa: PLC0415
    from bandstand.web.security.access import listening_socket  # noqa: PLC0415

    try:
        return listening_socket(settings.listen, settings.port)
    except BandstandError:
        return listening_socket(settings.listen, 0)


def _play(
    settings: Settings, listening: socket.socket, folder: Path, *, opens_browser: bool
) -> None:
    from bandstand._util.clock import system_clock  # noqa: PLC0415
    from bandstand.cli._demo_music import DemoMusic  # noqa: PLC0415
    from bandstand.store.database.connection import open_store  # noqa: PLC0415
    from bandstand.web.security.access import shown_address  # noqa: PLC0415
    from bandstand.web.server import serve, server_context  # noqa: PLC0415

    address = shown_address(listening)
    with ExitStack() as open_parts:
        store = open_parts.enter_context(open_store(settings.store))
        music = DemoMusic(folder)
        music.prepare(store, clock=system_clock)
        context = open_parts.enter_context(
            server_context(store, settings, clock=system_clock, guest=_listener(store))
        )
        open_parts.callback(music.stop)

        def begin() -> None:
            click.echo(f"Bandstand plays at {address}\nCtrl-C stops it.")
            if context.scanner is not None:
                music.complete(context.scanner)
            if opens_browser:
                _open_browser(address)

        serve(context, listening, on_start=begin)
    click.echo("Stopped.")


def _listener(store: Store) -> str:
    """Return the name of the account that rates in the demo; at first it gets a history."""
    import numpy as np  # noqa: PLC0415

    from bandstand._util.clock import system_clock  # noqa: PLC0415
    from bandstand.radio.demo_history import start_with_history  # noqa: PLC0415
    from bandstand.store import accounts  # noqa: PLC0415
    from bandstand.store.songs import songs  # noqa: PLC0415

    with store.writing() as connection:
        if accounts.by_name(connection, _LISTENER) is None:
            there = sorted(songs.present(connection), key=lambda song: song.path)
            now, rng = system_clock(), np.random.default_rng(1)
            start_with_history(connection, _LISTENER, there, _LIKING, now=now, rng=rng)
    return _LISTENER


def _open_browser(address: str) -> None:
    """Open the page, where there is a screen: elsewhere a text browser would take the terminal."""
    has_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if not has_screen and sys.platform.startswith("linux"):
        return
    import webbrowser  # noqa: PLC0415

    def show() -> None:
        with suppress(Exception):  # the address was printed
            webbrowser.open(address)

    threading.Thread(target=show, daemon=True).start()

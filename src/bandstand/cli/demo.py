"""`bandstand demo`: the radio with music that it composes itself, for this computer only."""

from __future__ import annotations

import logging
import os
import sys
import threading
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Final

import click

from bandstand.errors import BandstandError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from bandstand.music.library.scanner import Scanner
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
    to start afresh. Only this computer can reach it, without a login. Your ratings are kept for
    the next start.
    """
    from bandstand.settings import Settings
    from bandstand.store.database.location import parse_location, user_data_folder
    from bandstand.store.database.serving_lock import serving_lock
    from bandstand.web.logs import set_up_logging

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
    from bandstand.web.security.access import listening_socket

    try:
        return listening_socket(settings.listen, settings.port)
    except BandstandError:
        return listening_socket(settings.listen, 0)


def _play(
    settings: Settings, listening: socket.socket, folder: Path, *, opens_browser: bool
) -> None:
    from bandstand._util.clock import system_clock
    from bandstand.store.database.connection import open_store
    from bandstand.web.security.access import shown_address
    from bandstand.web.server import serve, server_context

    address = shown_address(listening)
    with ExitStack() as open_parts:
        store = open_parts.enter_context(open_store(settings.store))
        music = _DemoMusic(folder)
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
    import numpy as np

    from bandstand._util.clock import system_clock
    from bandstand.radio.demo_history import start_with_history
    from bandstand.store import accounts
    from bandstand.store.songs import songs

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
    import webbrowser

    def show() -> None:
        with suppress(Exception):  # the address was printed
            webbrowser.open(address)

    threading.Thread(target=show, daemon=True).start()


_log: Final = logging.getLogger("bandstand.demo")

_FIRST_PIECES: Final = 20  # two of each style
_SCAN_EVERY: Final = 10  # pieces
_NICENESS: Final = 10
_STOP_TIMEOUT: Final = 5.0  # seconds
_RETRY_EVERY: Final = 0.2  # seconds


class _StoppedError(Exception):
    """The demo ends."""


class _DemoMusic:
    """A folder of music that composes itself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def prepare(self, store: Store, *, clock: Callable[[], int]) -> None:
        """Put the first pieces into the store, unless it has them."""
        import numpy as np

        from bandstand.music.catalogue.refresh import refreshed
        from bandstand.music.library.analysers import LocalAnalyser
        from bandstand.music.library.scan import first_look, sample_files
        from bandstand.music.library.walk import library_roots
        from bandstand.store.songs import files
        from bandstand_demo.library import demo_library

        with store.reading() as connection:
            is_ready = files.counts(connection).songs >= _FIRST_PIECES
        if is_ready and self._folder.is_dir():
            return
        click.echo("Composing the first pieces; more follow while they play …", err=True)
        demo_library(self._folder, at_least=_FIRST_PIECES)
        seen = sample_files(library_roots([self._folder]), rng=np.random.default_rng(1))
        with LocalAnalyser() as analyser:
            first_look(store, seen, analyser, now=clock)
        refreshed(store, now=clock())

    def complete(self, scanner: Scanner) -> None:
        """Compose what is missing in the background, and have it scanned every few pieces."""
        self._thread = threading.Thread(
            target=self._compose, args=(scanner,), name="composer", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End composing; what is finished stays."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_STOP_TIMEOUT)

    def _compose(self, scanner: Scanner) -> None:
        from bandstand_demo.library import demo_library

        _lower_priority()
        scanned = 0

        def progress(done: int, total: int) -> None:
            nonlocal scanned
            if self._stopping.is_set():
                raise _StoppedError
            if done < total and done >= scanned + _SCAN_EVERY and scanner.request():
                scanned = done

        try:
            demo_library(self._folder, progress=progress)
        except _StoppedError:
            return
        except BandstandError as problem:
            _log.warning("The demo library is not complete: %s", problem)
        while not (scanner.request() or self._stopping.wait(_RETRY_EVERY)):
            pass


def _lower_priority() -> None:
    """Let this thread, and the processes that it starts, run at low priority."""
    # On Linux a thread has a priority of its own, which its processes inherit.
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)

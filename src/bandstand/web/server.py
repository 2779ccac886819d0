"""The server: all parts of the app together, run by uvicorn until a signal.

On SIGTERM or SIGINT the server accepts no more connections, answers pending requests, ends endless
streams, stops the scan, and exits within ten seconds.
"""

from __future__ import annotations

import gc
import resource
import signal
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from bandstand._util.process_memory import return_large_blocks
from bandstand.media.media import Media
from bandstand.music.library.scanner import Scanner, reachable
from bandstand.radio.background import CatalogueWatcher
from bandstand.radio.scrobbling.sender import Sender
from bandstand.radio.service import Radio
from bandstand.store import sessions
from bandstand.web.app import create_app
from bandstand.web.http.timeouts import TimeoutProtocol
from bandstand.web.requests.context import make_context
from bandstand.web.security.access import BACKLOG

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from types import FrameType

    from bandstand._util.clock import Clock
    from bandstand.settings import Settings
    from bandstand.store.database.connection import Store
    from bandstand.web.requests.context import Context

_SHUTDOWN_SECONDS: Final = 4  # for requests that are pending at a signal
_OTHER_FILES: Final = 256  # the store, logs, children
_KEEP_ALIVE_SECONDS: Final = 20


@contextmanager
def server_context(
    store: Store, settings: Settings, *, clock: Clock, guest: str | None = None
) -> Iterator[Context]:
    """Yield the context of a whole server; its scanner is not started yet.

    `guest` is the name of the account of visitors without a session: for a demo on this computer.
    """
    with ExitStack() as parts:
        radio = Radio(store, clock=clock, listener_cache_mb=settings.listener_cache_mb)
        parts.callback(radio.close)
        roots, _ = reachable(settings.folders)
        media = Media(
            store.location.data_folder,
            roots=roots,
            conversion_cache_mb=settings.conversion_cache_mb,
            cover_cache_mb=settings.cover_cache_mb,
        )
        parts.callback(media.close)
        scanner = Scanner(
            store,
            settings.folders,
            clock=clock,
            rescan_minutes=settings.rescan_minutes,
            workers=settings.workers,
            on_refresh=radio.refresh,
        )
        sender = Sender(store, radio.write, clock=clock, hosts=settings.scrobble_hosts)
        parts.callback(sender.close)
        context = make_context(
            store,
            radio,
            clock=clock,
            settings=settings,
            guest=guest,
            scanner=scanner,
            media=media,
            sender=sender,
        )
        parts.callback(context.close)
        watching = CatalogueWatcher(
            store,
            known=lambda: radio.catalogue,
            on_change=radio.refresh,
            is_busy=lambda: scanner.is_busy,
        )
        parts.callback(watching.close)
        parts.callback(scanner.stop)
        with store.writing() as connection:
            sessions.prune(connection, clock())
        yield context


def serve(
    context: Context, listening: socket.socket, *, on_start: Callable[[], None] = lambda: None
) -> None:
    """Answer requests until a signal; to be called by the main thread."""
    config = uvicorn.Config(
        create_app(context),
        http=TimeoutProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        limit_concurrency=context.settings.max_connections,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    _allow_many_files(context.settings.max_connections)
    return_large_blocks()
    with _signals_ignored():
        _Server(config, context, on_start).run([listening])


class _Server(uvicorn.Server):
    """uvicorn's server, with hooks for its start and for signals."""

    def __init__(
        self, config: uvicorn.Config, context: Context, on_start: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._context = context
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What exists by now stays: the garbage collector need not scan it again and again.
        gc.collect()
        gc.freeze()
        self._on_start()
        if self._context.scanner is not None:
            self._context.scanner.start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._context.stopping.set()
        if self._context.scanner is not None:
            self._context.scanner.stop_soon()
        super().handle_exit(sig, frame)


def _allow_many_files(connections: int) -> None:
    """Raise the limit of open files to a socket and a file per connection, if that is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextmanager
def _signals_ignored() -> Iterator[None]:
    """Ignore the signal that has stopped the server: uvicorn raises it again afterwards."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before: dict[int, Any] = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""Put the app on the air: all its parts together, and uvicorn until somebody says stop.

Told to stop (SIGTERM, SIGINT), the server takes no more connections, answers what was asked,
ends streams that have no end of their own, lets the scan go, and is gone within ten seconds.
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
from bandstand.radio.service import Radio
from bandstand.store import sessions
from bandstand.web.app import create_app
from bandstand.web.http.http_timeouts import protocol
from bandstand.web.requests.context import make_context
from bandstand.web.security.bind_checks import BACKLOG

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from types import FrameType

    from bandstand._util.clock import Clock
    from bandstand.settings import Settings
    from bandstand.store.database.connection import Store
    from bandstand.web.requests.context import Context

_SECONDS_TO_ANSWER: Final = 4  # what was asked before the server was told to stop
_OTHER_FILES: Final = 256  # the store, logs, children
_SECONDS_KEPT_ALIVE: Final = 20  # a connection on which nothing is asked


@contextmanager
def on_air(
    store: Store, settings: Settings, *, clock: Clock, guest: str | None = None
) -> Iterator[Context]:
    """Give the context of a server with everything in it; the scanner waits to be started.

    `guest` is the name of the account that acts for whoever is not logged in: for a demo on this
    computer.
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
        context = make_context(
            store,
            radio,
            clock=clock,
            settings=settings,
            guest=guest,
            scanner=scanner,
            media=media,
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
    """Answer requests until a signal says stop; to be called by the main thread."""
    config = uvicorn.Config(
        create_app(context),
        http=protocol(),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        limit_concurrency=context.settings.max_connections,
        timeout_keep_alive=_SECONDS_KEPT_ALIVE,
        timeout_graceful_shutdown=_SECONDS_TO_ANSWER,
    )
    _allow_many_files(context.settings.max_connections)
    return_large_blocks()
    with _signals_without_effect():
        _Server(config, context, on_start).run([listening])


class _Server(uvicorn.Server):
    """uvicorn, which tells the other parts when it begins and when it was told to stop."""

    def __init__(
        self, config: uvicorn.Config, context: Context, on_start: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._context = context
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What is there by now stays; to look through it again and again would cost time.
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
    """Let this process have a socket and a file open for each connection, if the system agrees."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextmanager
def _signals_without_effect() -> Iterator[None]:
    """Let a signal that has stopped the server do no more: uvicorn raises it again afterwards."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before: dict[int, Any] = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

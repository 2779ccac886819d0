"""The music of the demo: a few pieces before it begins, the others while it plays."""

from __future__ import annotations

import logging
import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click
import numpy as np

from bandstand.errors import BandstandError
from bandstand.music.catalogue.refresh import refreshed
from bandstand.music.library.analysers import LocalAnalyser
from bandstand.music.library.scan import first_look, sample_files
from bandstand.music.library.walk import library_roots
from bandstand.store.songs import files
from bandstand_demo.library import demo_library

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bandstand.music.library.scanner import Scanner
    from bandstand.store.database.connection import Store

_log: Final = logging.getLogger("bandstand.demo")

_FIRST: Final = 20  # pieces: two of each style
_SCAN_EVERY: Final = 10  # pieces
_NICENESS: Final = 10
_PATIENCE: Final = 5.0  # seconds in which composing must have stopped
_LOOK_EVERY: Final = 0.2


class _StoppedError(Exception):
    """The demo ends."""


class DemoMusic:
    """A folder of music that composes itself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def prepare(self, store: Store, *, clock: Callable[[], int]) -> None:
        """Have some songs in the store that can be played."""
        with store.reading() as connection:
            is_ready = files.counts(connection).songs >= _FIRST
        if is_ready and self._folder.is_dir():
            return
        click.echo("Composing the first pieces; more follow while they play …", err=True)
        demo_library(self._folder, at_least=_FIRST)
        seen = sample_files(library_roots([self._folder]), rng=np.random.default_rng(1))
        with LocalAnalyser() as analyser:
            first_look(store, seen, analyser, now=clock)
        refreshed(store, now=clock())

    def complete(self, scanner: Scanner) -> None:
        """Compose what is missing in the background, and have it scanned now and then."""
        self._thread = threading.Thread(
            target=self._compose, args=(scanner,), name="composer", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End composing; what is finished stays."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def _compose(self, scanner: Scanner) -> None:
        _stand_back()
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
        while not (scanner.request() or self._stopping.wait(_LOOK_EVERY)):
            pass


def _stand_back() -> None:
    """Let this thread, and the processes that it starts, give way to whoever listens."""
    # On Linux a thread has a priority of its own, which its processes inherit.
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)

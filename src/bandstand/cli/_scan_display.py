"""A scan in the background, shown on the terminal; lines where there is none."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

import click

from bandstand.cli._progress import counting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.music.library.scanner import Progress, Scanner

_LOOK_EVERY: Final = 0.25  # seconds
_NAMES: Final = {"first look": "First look", "counting": "Counting", "scanning": "Scanning"}
_NEWS: Final = ("added", "changed", "moved", "missing", "failed")


@contextmanager
def showing(scanner: Scanner | None) -> Iterator[None]:
    """Show on standard error what a scanner does, as long as the block lasts."""
    if scanner is None or not scanner.has_folders:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(
        target=_watch, args=(scanner, ended), name="scan display", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(scanner: Scanner, ended: threading.Event) -> None:
    told: int | None = None
    while not ended.wait(_LOOK_EVERY):
        progress = scanner.progress
        if progress.is_busy:
            _show(scanner, ended)
        elif progress.finished_at not in {told, None}:
            told = progress.finished_at
            click.echo(in_words(progress), err=True)


def _show(scanner: Scanner, ended: threading.Event) -> None:
    """Show a bar for each step of one scan, until that scan is over."""
    with ExitStack() as bars:
        shown, update = None, None
        while not ended.wait(_LOOK_EVERY) and (progress := scanner.progress).is_busy:
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

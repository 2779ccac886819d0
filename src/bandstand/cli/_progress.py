"""A progress bar on standard error; a line every half minute if that is no terminal."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE_EVERY: Final = 30.0  # seconds


class Progress(Protocol):
    """A function that shows the progress of work."""

    def __call__(self, done: int, total: int | None, /) -> None:
        """Show that `done` of `total` are done; None if the total is unknown."""
        ...


@contextmanager
def counting(what: str, *, lasting: bool = True, of: str = "files") -> Iterator[Progress]:
    """Yield a function that shows how many are done, how fast, and the time left.

    If not `lasting`, the bar is removed at the end.
    """
    if not sys.stderr.isatty():
        yield _lines(what, of)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar
    from rich.text import Text

    class PerSecond(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.1f} {of}/s", style="cyan")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        PerSecond(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=not lasting) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(what: str, of: str) -> Progress:
    last, done_then = time.monotonic(), 0

    def line(done: int, total: int | None) -> None:
        nonlocal last, done_then
        now = time.monotonic()
        if now - last >= _LINE_EVERY:
            # The recent rate: files skipped at the start would inflate an average.
            pace = "" if total is None else _pace(done - done_then, total - done, now - last, of)
            of_all = "" if total is None else f" of {total:,}"
            last, done_then = now, done
            click.echo(f"{what}: {done:,}{of_all}{pace}", err=True)

    return line


def _pace(done: int, left: int, seconds: float, of: str) -> str:
    """Return the rate and the time left; nothing if nothing was done.

    >>> _pace(300, 2_100, 30.0, "files"), _pace(0, 2_400, 30.0, "files")
    (', 10.0 files/s, 210 s left', '')
    """
    if not done:
        return ""
    speed = done / seconds
    return f", {speed:.1f} {of}/s, {left / speed:,.0f} s left"

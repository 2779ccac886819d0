"""A process that keeps swapping a name in the library for a link to something outside."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    Opener = Callable[[bytes, bytes], BinaryIO]

INSIDE, OUTSIDE = b"inside", b"outside"


def make_world(folder: Path) -> tuple[Path, Path]:
    """Return a library with album/song.mp3 in it, and the folder outside it that is its like."""
    library, outside = folder / "library", folder / "outside"
    for place, content in ((library, INSIDE), (outside, OUTSIDE)):
        (place / "album").mkdir(parents=True)
        (place / "album" / "song.mp3").write_bytes(content)
    return library, outside


@contextmanager
def swapping(inside: Path, outside: Path) -> Iterator[None]:
    """Swap `inside` for a link to `outside` and back, as fast as possible, meanwhile."""
    over = threading.Event()
    thread = threading.Thread(target=_swap_until, args=(inside, outside, over))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _swap_until(inside: Path, outside: Path, over: threading.Event) -> None:
    aside, link = inside.with_name("aside"), inside.with_name("link")
    while not over.is_set():
        os.symlink(outside, link)  # noqa: PTH211 - as quick as can be
        os.rename(inside, aside)  # noqa: PTH104
        os.rename(link, inside)  # noqa: PTH104
        os.unlink(inside)  # noqa: PTH108
        os.rename(aside, inside)  # noqa: PTH104


def outcomes(opener: Opener, library: Path, *, tries: int) -> dict[bytes | None, int]:
    """Return how often each content was read, and under None how often nothing could be."""
    counts: dict[bytes | None, int] = {INSIDE: 0, OUTSIDE: 0, None: 0}
    root, path = bytes(library), bytes(library / "album" / "song.mp3")
    for _ in range(tries):
        try:
            with opener(root, path) as file:
                content = file.read()
        except Exception:  # noqa: BLE001 - whatever an opener raises, it has read nothing
            counts[None] += 1
        else:
            counts[content] += 1
    return counts


def careless(root: bytes, path: bytes) -> BinaryIO:
    """Open a file after looking whether it leads out of the root: the classic mistake."""
    if not os.path.realpath(path).startswith(root + b"/"):
        raise PermissionError
    return open(path, "rb")  # noqa: PTH123


def half_careful(_: bytes, path: bytes) -> BinaryIO:
    """Open a file that is no link itself, whatever its folders are: the other mistake."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb")

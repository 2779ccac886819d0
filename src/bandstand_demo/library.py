"""The demo library: made on first use, continued where it was interrupted, free afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from bandstand._util.parallel import usable_cores
from bandstand.errors import InvalidInputError
from bandstand_demo.pieces import PIECES
from bandstand_demo.writing import UNFINISHED, place, write

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path

    from bandstand_demo.pieces import Piece

# Of the music: a library of another version is made again.
VERSION: Final = "3"
MARKER: Final = ".bandstand-demo"
_MAX_THREADS: Final = 8


def demo_library(
    folder: Path,
    *,
    at_least: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Path]:
    """Return the files of the demo library in `folder`, after making those that are missing.

    at_least: this many pieces are enough for now, of as many styles as possible; all unless given.
    progress: called with the number of pieces that are there and of those that there will be;
        what it raises ends the work.

    A marker says which version of the music the folder holds. Pieces of another version are
    replaced; no other file is touched.
    """
    paths = [place(folder, piece) for piece in PIECES]
    with _explained(folder):
        _prepare(folder, paths)
        missing = [piece for piece in PIECES if not _is_there(place(folder, piece))]
    there = len(PIECES) - len(missing)
    if at_least is not None:
        # Each style in its turn.
        missing.sort(key=lambda piece: (piece.variant, piece.number))
        missing = missing[: max(0, at_least - there)]
    total = there + len(missing)
    progress(there, total)
    with closing(_made(folder, missing)) as making:
        for done, _ in enumerate(making, start=there + 1):
            progress(done, total)
    # What runs that were killed have left half-written.
    for left in folder.glob(f"*/*/.*{UNFINISHED}") if missing else ():
        left.unlink(missing_ok=True)
    return [path for path in paths if _is_there(path)]


def _made(folder: Path, missing: Sequence[Piece]) -> Generator[None, None, None]:
    """Make pieces and yield after each of them.

    Threads are enough: most of the time is spent in NumPy and in the encoder, which let others
    work meanwhile.
    """
    pool = ThreadPoolExecutor(min(usable_cores(), _MAX_THREADS))
    try:
        for made in as_completed([pool.submit(write, piece, folder) for piece in missing]):
            with _explained(folder):
                made.result()
            yield
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses into a sentence."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        msg = f"the demo library needs a folder that it can write to, got {folder}: {reason}"
        raise InvalidInputError(msg) from problem


def _prepare(folder: Path, paths: Sequence[Path]) -> None:
    """Make the folder ready: remove the pieces of another version, and say which one it holds."""
    marker = folder / MARKER
    with suppress(FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        if marker.read_text(encoding="utf-8") == VERSION:
            return
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        path.unlink(missing_ok=True)
    marker.write_text(VERSION, encoding="utf-8")


def _is_there(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0

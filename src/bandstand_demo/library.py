"""The demo library: made on first use, continued where it was interrupted, free afterwards."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bandstand._util.parallel import usable_cores
from bandstand.errors import InvalidInputError
from bandstand_demo.pieces import pieces
from bandstand_demo.writing import SUFFIX, UNFINISHED, place, write

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from io import FileIO

    from bandstand_demo.pieces import Piece

# Of the music: a library of another version is made again.
VERSION: Final = 2
MARKER: Final = ".bandstand-demo.json"
_WORKER: Final = "bandstand_demo.worker"
_MOST_WORKERS: Final = 8
# A worker needs half a second to start, as long as two pieces take.
_LEAST_SHARE: Final = 4
_SILENCE: Final = 0.25  # seconds


def demo_library(
    folder: Path,
    *,
    seed: int = 1,
    at_least: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Return the files of the demo library in `folder`, after making those that are missing.

    at_least: so many pieces are enough for now, of as many styles as possible; all unless given.
    progress: is told how many pieces are there, and how many there will be; also now and then
        while nothing is finished, so that whoever has had enough can raise.

    A marker says which library the folder holds. Where it names another version or seed, the
    files that it lists are replaced; no other file is touched.
    """
    wanted = pieces(seed)
    paths = [place(folder, piece) for piece in wanted]
    report = progress or (lambda _done, _total: None)
    with _explained(folder):
        _prepare(folder, seed, paths)
        missing = [p for p, path in zip(wanted, paths, strict=True) if not _is_there(path)]
    there = len(wanted) - len(missing)
    if at_least is not None:
        missing = _style_by_style(missing)[: max(0, at_least - there)]
    total = there + len(missing)
    report(there, total)
    with closing(_make(folder, seed, missing)) as making:
        for made in making:
            there += made is not None
            report(there, total)
    if missing:
        with _explained(folder):
            _sweep(paths)
    return paths if at_least is None else [path for path in paths if _is_there(path)]


def _style_by_style(missing: Sequence[Piece]) -> list[Piece]:
    """Return the pieces in an order in which each style has its turn."""
    return sorted(missing, key=lambda piece: (piece.variant, piece.number))


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses into a sentence."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        msg = f"the demo library needs a folder that it can write to, got {folder}: {reason}"
        raise InvalidInputError(msg) from problem


def _prepare(folder: Path, seed: int, paths: Sequence[Path]) -> None:
    """Make the folder ready: remove a library of another version or seed, say what comes."""
    marker = _read_marker(folder)
    if marker is not None and (marker.get("version"), marker.get("seed")) == (VERSION, seed):
        return
    folder.mkdir(parents=True, exist_ok=True)
    listed = (marker or {}).get("files")
    for name in listed if isinstance(listed, list) else []:
        _remove(folder, name)
    _write_marker(folder, seed, paths)


def _sweep(paths: Sequence[Path]) -> None:
    """Clear away what runs that were killed have left half-written."""
    for parent in {path.parent for path in paths}:
        for left in parent.glob(f".*{UNFINISHED}"):
            left.unlink(missing_ok=True)


def _make(folder: Path, seed: int, missing: Sequence[Piece]) -> Generator[int | None, None, None]:
    """Yield the number of each piece when it is made, by several processes where that helps.

    None is yielded while they are all at work.
    """
    made = set()
    workers = min(usable_cores(), _MOST_WORKERS, len(missing) // _LEAST_SHARE)
    if workers > 1 and sys.executable:
        with suppress(OSError):  # no process could be started
            for number in _shared(folder, seed, missing, workers):
                made.add(number)
                yield number
    # All of them on one core; and whatever a worker that failed has left, so that the reason
    # of its failure is met here and can be told.
    for piece in missing:
        if piece.number not in made:
            with _explained(folder):
                write(piece, folder)
            yield piece.number


def _shared(
    folder: Path, seed: int, missing: Sequence[Piece], workers: int
) -> Iterator[int | None]:
    """Yield the numbers of pieces as worker processes make them; None where that takes a while.

    Programs rather than `multiprocessing`, which would run the caller's main module again.
    All of them write to one pipe, a line for a piece; a pipe keeps short lines whole.
    """
    reading, writing = os.pipe()
    started: list[subprocess.Popen[bytes]] = []
    try:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            try:
                for turn in range(workers):
                    numbers = [str(piece.number) for piece in missing[turn::workers]]
                    started.append(_start([str(folder.absolute()), str(seed), *numbers], writing))
            finally:
                os.close(writing)
            yield from _numbers(pipe)
    finally:
        for process in started:
            process.kill()
            process.wait()


def _numbers(pipe: FileIO) -> Iterator[int | None]:
    """Yield the number on each line of a pipe; None whenever it has been silent for a while."""
    rest = b""
    with selectors.DefaultSelector() as waiting:
        waiting.register(pipe, selectors.EVENT_READ)
        while True:
            if not waiting.select(_SILENCE):
                yield None
                continue
            data = pipe.read(4_096)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from map(int, lines)


def _start(arguments: Sequence[str], output: int) -> subprocess.Popen[bytes]:
    home = str(Path(__file__).parents[3])  # the folder that holds the package
    paths = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    # One thread each: there are as many workers as cores already.
    environment = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(  # noqa: S603 (our own module, by this very interpreter, no shell)
        [sys.executable, "-P", "-m", _WORKER, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.DEVNULL,
        env=environment,
    )


def _is_there(path: Path) -> bool:
    with suppress(FileNotFoundError, NotADirectoryError):
        return path.stat().st_size > 0
    return False


def _read_marker(folder: Path) -> dict[str, Any] | None:
    """Return what the marker says; None where there is none that can be understood."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError, json.JSONDecodeError):
        return None
    return marker if isinstance(marker, dict) else None


def _write_marker(folder: Path, seed: int, paths: Sequence[Path]) -> None:
    files = [path.relative_to(folder).as_posix() for path in paths]
    text = json.dumps({"version": VERSION, "seed": seed, "files": files}, indent=1)
    unfinished = folder / f"{MARKER}.{os.getpid()}{UNFINISHED}"
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(folder / MARKER)


def _remove(folder: Path, name: object) -> None:
    """Remove a file that an earlier library put there, and its folders if they are empty now."""
    if not _is_ours(name):
        return
    path = folder / str(name)
    path.unlink(missing_ok=True)
    for parent in (path.parent, path.parent.parent):
        with suppress(OSError):
            parent.rmdir()


def _is_ours(name: object) -> bool:
    """Return whether a marker may name this file: Artist/Album/NN Title.opus, nothing else."""
    if not isinstance(name, str) or Path(name).is_absolute():
        return False
    parts = Path(name).parts
    return len(parts) == 3 and ".." not in parts and name.endswith(SUFFIX)

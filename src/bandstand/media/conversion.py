"""Recordings that a player cannot play, or not as large as they are, converted once and kept.

    wanted(name, …) ─ being converted already? ─ wait with the others
                    ─ failed a moment ago?     ─ the same reason again
                    ─ else one of two threads: a limited child ─ pieces ─ the cache

At most two recordings are converted at once, and a few dozen may wait.
"""

import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, Final, NamedTuple

from bandstand.errors import BandstandError, InvalidInputError, UnreadableAudioError
from bandstand.media.file_cache import FileCache
from bandstand.music.sandbox import Failure, Limits, Pool

# By name: what is imported there is not to be loaded into the server.
TASK: Final = "bandstand.media.media_task:convert"
PIECE: Final = 1 << 22  # bytes, about four minutes
AT_ONCE: Final = 2
MAX_WAITING: Final = 64
# A child serves 200 requests; this is about twelve hours.
MAX_PIECES: Final = 180
REMEMBERED_SECONDS: Final = 60.0
MAX_REMEMBERED: Final = 1_000
_RETRY_SECONDS: Final = 0.1
_NEEDS_PROGRAM: Final = "tracker modules need another program"
# The times are for one piece, of which one is four minutes of sound.
LIMITS: Final = Limits(cpu_seconds=60, wall_seconds=120, reply_bytes=2 * PIECE, niceness=5)


class Target(NamedTuple):
    """The kind of a converted recording; without a bit rate the usual one."""

    form: str = "opus"  # or "mp3"
    kilobits: int | None = None  # per second


OPUS: Final = Target()


class BusyError(BandstandError):
    """The queue is full."""


class Conversions:
    """Conversions into a cache, one for each recording however many ask; shared by threads."""

    def __init__(self, cache: FileCache, *, limits: Limits = LIMITS) -> None:
        self._cache = cache
        self._limits = limits
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="conversion")
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[None]] = {}
        self._failed: dict[str, tuple[float, str]] = {}
        self._pools: set[Pool] = set()
        self._is_closed = False

    def wanted(self, name: str, path: bytes, root: bytes, target: Target = OPUS) -> Future[None]:
        """Return what ends when the recording at `path` is in the cache under `name`.

        It ends with UnreadableAudioError where it cannot be converted.
        """
        with self._lock:
            if name in self._under_way:
                return self._under_way[name]
            self._check_open()
            if len(self._under_way) >= MAX_WAITING:
                msg = f"at most {MAX_WAITING} recordings may wait to be converted, got one more"
                raise BusyError(msg)
            self._raise_what_failed(name)
            future = self._threads.submit(self._convert, name, path, root, target)
            self._under_way[name] = future
        future.add_done_callback(lambda done: self._note(name, done))
        return future

    def close(self) -> None:
        """End what is under way; its callers get an error."""
        with self._lock:
            self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        # A child that is killed before it has begun is replaced, so this may take two attempts.
        while any(not future.done() for future in self._still_under_way()):
            for pool in tuple(self._pools):
                pool.interrupt()
            wait(self._still_under_way(), _RETRY_SECONDS)

    def _still_under_way(self) -> list[Future[None]]:
        with self._lock:
            return list(self._under_way.values())

    def _raise_what_failed(self, name: str) -> None:
        until, reason = self._failed.get(name, (0.0, ""))
        if time.monotonic() < until:
            raise UnreadableAudioError(reason)

    def _note(self, name: str, done: Future[None]) -> None:
        with self._lock:
            self._under_way.pop(name, None)
            problem = None if done.cancelled() else done.exception()
            if isinstance(problem, UnreadableAudioError) and not self._is_closed:
                while len(self._failed) >= MAX_REMEMBERED:
                    self._failed.pop(next(iter(self._failed)))
                self._failed[name] = time.monotonic() + REMEMBERED_SECONDS, str(problem)

    def _convert(self, name: str, path: bytes, root: bytes, target: Target) -> None:
        try:
            self._convert_with(name, path, root, target, programs=False)
        except UnreadableAudioError as problem:
            # Only what needs a program gets a child that may start one.
            if not str(problem).startswith(_NEEDS_PROGRAM):
                raise
            self._convert_with(name, path, root, target, programs=True)

    def _convert_with(
        self, name: str, path: bytes, root: bytes, target: Target, *, programs: bool
    ) -> None:
        request = request_for(path, root) | {"programs": programs, "size": PIECE}
        request |= target._asdict()
        with (
            self._pool(programs=programs) as pool,
            self._cache.writing(name) as file,
        ):
            try:
                for piece in _pieces(pool, request):
                    self._check_open()
                    file.write(piece)
            finally:
                with self._lock:
                    self._pools.discard(pool)

    def _pool(self, *, programs: bool) -> Pool:
        limits = replace(self._limits, may_start_programs=programs)
        pool = Pool(TASK, workers=1, limits=limits)
        with self._lock:
            self._check_open()
            self._pools.add(pool)
        return pool

    def _check_open(self) -> None:
        if self._is_closed:
            msg = "the server must be running to convert a recording, but it is about to stop"
            raise BusyError(msg)


def request_for(path: bytes, root: bytes) -> dict[str, Any]:
    """Return the request for a file that a child opens beneath a root."""
    # Latin-1 maps every byte to one character and back, whatever the name's encoding.
    return {"path": path.decode("latin-1"), "root": root.decode("latin-1")}


def _pieces(pool: Pool, request: dict[str, Any]) -> Iterator[bytes]:
    """Yield the pieces of one recording, asked for one by one."""
    for number in range(MAX_PIECES):
        asked = request if number == 0 else {"next": number}
        ((_, outcome),) = pool.run([(number, asked)])
        if isinstance(outcome, Failure):
            raise UnreadableAudioError(outcome.reason)
        piece = _checked(outcome.value.get("piece"))
        if piece is None:
            return
        yield piece
    msg = "expected a recording of at most twelve hours, got a longer one"
    raise UnreadableAudioError(msg)


def _checked(piece: object) -> bytes | None:
    if piece is None:
        return None
    try:
        if isinstance(piece, str):
            return b64decode(piece, validate=True)
    except ValueError:
        pass
    msg = "a piece of a recording was expected from the child, got something else"
    raise InvalidInputError(msg)

"""Running ffmpeg on an open file: fixed arguments, bounded output, bounded time."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SECONDS: Final = 60.0  # seconds
_BLOCK_BYTES: Final = 1 << 18  # bytes of sound, a bit more than a second
# The file is standard input, and its name never reaches the command line. It is opened again from
# there, since a demuxer that needs the size refuses a pipe.
_INPUT: Final = "file:/dev/fd/0"
_COMMON_OPTIONS: Final = ("-hide_banner", "-nostdin", "-protocol_whitelist", "file,pipe")
# No other variable is passed on: FFREPORT, for one, would write files.
_KEPT_VARIABLES: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


@cache
def demuxers(ffmpeg: str) -> frozenset[str]:
    """Return the names of the containers that this ffmpeg can read."""
    listing = _output([ffmpeg, "-hide_banner", "-demuxers"], None, limit=1 << 20, errors=False)
    rows = (line.split() for line in listing.decode(errors="replace").splitlines())
    names = (row[1] for row in rows if len(row) > 1 and row[0].startswith("D"))
    return frozenset(name for several in names for name in several.split(","))


def ffmpeg_with(wanted: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the ffmpeg on the PATH and the first of the wanted demuxers that it has, if any."""
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        return None
    return next(((ffmpeg, name) for name in wanted if name in demuxers(ffmpeg)), None)


def described(ffmpeg: str, demuxer: str, file: BinaryIO) -> str:
    """Return what ffmpeg says about a file, as it would be shown to a person."""
    # Without an output file ffmpeg complains at the end, which does no harm.
    arguments = [ffmpeg, *_COMMON_OPTIONS, "-f", demuxer, "-i", _INPUT]
    words = _output(arguments, file, limit=1 << 16, errors=True)
    return words.decode(errors="surrogateescape")


def decoded(ffmpeg: str, demuxer: str, file: BinaryIO, *, start: float, samples: int) -> bytes:
    """Return at most `samples` samples: 16 kHz, mono, 16 bits, little-endian."""
    arguments = [ffmpeg, *_COMMON_OPTIONS, "-loglevel", "quiet", "-threads", "1", "-f", demuxer]
    arguments += ["-ss", f"{start:.3f}", "-i", _INPUT, "-t", f"{samples / 16_000:.3f}"]
    arguments += ["-map", "0:a:0", "-ac", "1", "-ar", "16000", "-f", "s16le", "pipe:1"]
    return _output(arguments, file, limit=2 * samples, errors=False)


def played(
    ffmpeg: str, demuxer: str, file: BinaryIO, *, rate: int, seconds: int
) -> Iterator[bytes]:
    """Yield the sound from its beginning, up to `seconds`: stereo, 16 bits, little-endian.

    Each block is a whole number of samples for both channels.
    """
    arguments = [ffmpeg, *_COMMON_OPTIONS, "-loglevel", "quiet", "-threads", "1", "-f", demuxer]
    arguments += ["-i", _INPUT, "-t", str(seconds), "-map", "0:a:0", "-ac", "2", "-ar", str(rate)]
    arguments += ["-f", "s16le", "pipe:1"]
    with _running(arguments, file, errors=False) as process:
        assert process.stdout is not None  # noqa: S101 - it was asked for
        while block := _read(process.stdout.fileno(), _BLOCK_BYTES):
            yield block[: len(block) // 4 * 4]


def _output(arguments: list[str], file: BinaryIO | None, *, limit: int, errors: bool) -> bytes:
    """Return the first bytes that a program writes before it ends or its time is up."""
    with _running(arguments, file, errors=errors) as process:
        assert process.stdout is not None  # noqa: S101 - it was asked for
        return _read(process.stdout.fileno(), limit)


@contextmanager
def _running(
    arguments: list[str], file: BinaryIO | None, *, errors: bool
) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a program that runs until the end of the block."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    with subprocess.Popen(
        arguments,
        # Pipes only: in a limited process not even /dev/null can be opened for writing.
        stdin=subprocess.PIPE if file is None else file,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if errors else subprocess.PIPE,
        env={**kept, "LC_ALL": "C"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _read(pipe: int, limit: int) -> bytes:
    until = time.monotonic() + MAX_SECONDS
    data = bytearray()
    while len(data) < limit:
        ready, _, _ = select.select([pipe], [], [], max(until - time.monotonic(), 0.0))
        more = os.read(pipe, limit - len(data)) if ready else b""
        if not more:
            break
        data += more
    return bytes(data)

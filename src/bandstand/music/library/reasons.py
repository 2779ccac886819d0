"""Which reasons for a failure may pass, although the file stays as it is.

Most say what is in a file, and stay true until it changes. These tell of the moment: a disk
that failed, a file that was locked or being written, a machine that was short of memory, a
program that was not there. Such a file is read again by the next scan. One that took too long
is not: it would take as long every time.
"""

from __future__ import annotations

import shutil
from typing import Final

from bandstand.music.audio.containers import READING_FAILED
from bandstand.music.library.opening import NOT_OPENED, PASSING
from bandstand.music.sandbox.outcomes import ENDED_FROM_OUTSIDE

NO_FFMPEG: Final = "tracker modules need an ffmpeg with libopenmpt on the PATH, found no ffmpeg"


def may_have_passed(reason: str) -> bool:
    """Return whether a file that failed for this reason is worth another try.

    >>> may_have_passed("it was changed while it was being read")
    True
    >>> may_have_passed("expected audio, got an empty file")
    False
    """
    if reason == NO_FFMPEG:
        return has_ffmpeg()
    of_the_moment = reason in PASSING or reason == ENDED_FROM_OUTSIDE
    return of_the_moment or reason.startswith((NOT_OPENED, READING_FAILED))


def has_ffmpeg() -> bool:
    """Return whether there is an ffmpeg on the PATH."""
    return shutil.which("ffmpeg") is not None

"""Which failures are worth another try although the file has not changed."""

from __future__ import annotations

import pytest

from bandstand.music.library.analysers import NO_FFMPEG, may_have_passed
from bandstand.music.sandbox import Limits
from bandstand.music.sandbox.protocol import ended, out_of_time


@pytest.mark.parametrize(
    "reason",
    [
        "it was gone when it was to be read",
        "it may not be read: permission denied",
        "it cannot be opened: too many open files",
        "the file could not be read: Input/output error",
        ended(-9, "", Limits()).reason,
    ],
)
def test_what_tells_of_the_moment_may_have_passed(reason: str) -> None:
    assert may_have_passed(reason)


@pytest.mark.parametrize(
    "reason",
    [
        "no sound in it",
        out_of_time(Limits()).reason,
        ended(-11, "", Limits()).reason,
    ],
)
def test_what_tells_of_the_file_stays(reason: str) -> None:
    assert not may_have_passed(reason)


@pytest.mark.parametrize("place", [None, "/usr/bin/ffmpeg"])
def test_a_module_is_tried_again_once_there_is_an_ffmpeg(
    monkeypatch: pytest.MonkeyPatch, place: str | None
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: place)
    assert may_have_passed(NO_FFMPEG) == (place is not None)

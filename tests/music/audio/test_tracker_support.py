import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio import tracker_support
from bandstand.music.audio.tracker_support import NeedsProgramError, ffmpeg_with, is_module
from tests.fixtures.music.sound_checks import read_bytes, read_file

SAMPLES = 31
ROWS = 64
# What a real ffmpeg says about a module, and where it complains that nothing was asked for.
DESCRIPTION = """\
Input #0, libopenmpt, from 'file:/dev/fd/0':
  Metadata:
    title           : Song of Duration: 99:00:00.00
    encoder         : ProTracker
  Duration: 00:01:40.50, start: 0.000000, bitrate: 44 kb/s
  Stream #0:0: Audio: pcm_f32le, 48000 Hz, stereo, flt, 3072 kb/s
At least one output file must be specified
"""
LISTING = " D  aac   raw\\n D  libopenmpt  Tracker formats\\n"


def protracker(title: bytes = b"Little tune", mark: bytes = b"M.K.") -> bytes:
    """Return a module of one pattern: a square wave that plays every fourth row."""
    wave = (b"\x40" * 16 + b"\xc0" * 16) * 64
    sample = b"square".ljust(22, b"\0") + (len(wave) // 2).to_bytes(2, "big") + b"\0\x40\0\0\0\1"
    silent = bytes(22) + bytes(6) + b"\0\1"
    note, rest = bytes([0x01, 0xAC, 0x10, 0]), bytes(4)
    pattern = b"".join((note if row % 4 == 0 else rest) + rest * 3 for row in range(ROWS))
    order = bytes([1, 127]) + bytes(128)
    header = title.ljust(20, b"\0") + sample + silent * (SAMPLES - 1) + order + mark
    return header + pattern + wave


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "tune.mod"
    path.write_bytes(protracker())
    return path


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a way to put a program named ffmpeg on an otherwise empty PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def install(body: str) -> Path:
        script = f'#!/bin/sh\ncase "$*" in\n*-demuxers*) printf "{LISTING}" ;;\n{body}\nesac\n'
        (folder / "ffmpeg").write_text(script, encoding="utf-8")
        (folder / "ffmpeg").chmod(0o755)
        return folder

    return install


def playing(samples: str) -> str:
    """Return the part of a script that describes a module and plays something."""
    return f"*-loglevel*) {samples} ;;\n*) /bin/cat >&2 <<'END'\n{DESCRIPTION}END\n;;"


TONE = "/bin/dd if=/dev/zero bs=1000 count=960 2>/dev/null"


MARKS = (b"M.K.", b"M!K!", b"8CHN", b"16CH", b"FLT8")
STARTS = (b"Extended Module: tune", b"IMPM", b"MTM\x10", b"MMD1")
LATER = (bytes(44) + b"SCRM", bytes(20) + b"!Scream!")


@pytest.mark.parametrize(
    "content",
    [
        *(protracker(mark=mark) for mark in MARKS),
        *(start.ljust(2000, b"\0") for start in (*STARTS, *LATER)),
    ],
)
def test_modules_are_known_by_their_content(content: bytes) -> None:
    for extension in ("", ".mp3"):
        with pytest.raises(NeedsProgramError, match="another program"):
            read_bytes(content, extension=extension)


def test_the_oldest_modules_are_known_by_their_name_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(protracker(mark=b"\0\0\0\0"))
    with path.open("rb") as file:
        assert is_module(file, ".MOD")
        assert not is_module(file, ".mp3")
        assert not is_module(file)


def test_a_module_is_played_where_a_program_can(module: Path) -> None:
    if ffmpeg_with(("libopenmpt",)) is None:
        with pytest.raises(UnreadableAudioError, match="need an ffmpeg with libopenmpt"):
            read_file(module, allow_programs=True)
        return
    found = read_file(module, allow_programs=True)
    # 64 rows of 6 ticks at 125 beats per minute.
    assert found.duration == pytest.approx(64 * 6 * 2.5 / 125, abs=0.1)
    assert found.tags.title == "Little tune"
    assert len(found.samples) / 16_000 == pytest.approx(found.duration, abs=0.2)
    assert 0.01 < np.abs(found.samples).max() <= 1


def test_without_ffmpeg_the_reason_says_what_is_missing(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = "tracker modules need an ffmpeg with libopenmpt on the PATH"
    with pytest.raises(UnreadableAudioError, match=reason) as caught:
        read_file(module, allow_programs=True)
    assert not isinstance(caught.value, NeedsProgramError)


def test_an_ffmpeg_without_libopenmpt_is_none(module: Path, fake: Callable[[str], Path]) -> None:
    script = fake("") / "ffmpeg"
    script.write_text("#!/bin/sh\necho ' D  aac  raw ADTS'\n", encoding="utf-8")
    with pytest.raises(UnreadableAudioError, match="need an ffmpeg with libopenmpt"):
        read_file(module, allow_programs=True)


def test_duration_title_and_sound_are_ffmpegs(module: Path, fake: Callable[[str], Path]) -> None:
    fake(playing(TONE))
    found = read_file(module, allow_programs=True)
    assert found.duration == 100.5
    assert found.tags.title == "Song of Duration: 99:00:00.00"
    assert len(found.samples) == 480_000
    with pytest.raises(ValueError, match="read-only"):
        found.samples[0] = 1


def test_ffmpeg_never_gets_a_name_and_sees_nothing_of_the_surroundings(
    tmp_path: Path, fake: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FFREPORT", f"file={tmp_path}/report")
    path = tmp_path / "-i secret; rm *.mod"
    path.write_bytes(protracker())
    log = tmp_path / "log"
    fake(f'*) echo "$0 $* $FFREPORT" >> {log} ;;')
    with pytest.raises(UnreadableAudioError, match="got something that is damaged"):
        read_file(path, allow_programs=True)
    logged = log.read_text(encoding="utf-8")
    assert "secret" not in logged
    assert "report" not in logged
    assert "-nostdin" in logged
    assert "-protocol_whitelist file,pipe -f libopenmpt -i file:/dev/fd/0" in logged


def test_the_middle_is_asked_for(tmp_path: Path, module: Path, fake: Callable[[str], Path]) -> None:
    log = tmp_path / "log"
    fake(playing(f'echo "$*" > {log}; {TONE}'))
    read_file(module, allow_programs=True)
    logged = log.read_text(encoding="utf-8")
    assert "-ss 35.250 -i file:/dev/fd/0 -t 30.000" in logged
    assert logged.endswith("-ac 1 -ar 16000 -f s16le pipe:1\n")


def test_a_program_without_end_is_cut_short(module: Path, fake: Callable[[str], Path]) -> None:
    fake(playing("exec /bin/dd if=/dev/zero bs=65536 2>/dev/null"))
    assert len(read_file(module, allow_programs=True).samples) == 480_000
    fake("*) exec /bin/dd if=/dev/zero bs=65536 2>/dev/null ;;")
    with pytest.raises(UnreadableAudioError, match="damaged"):
        read_file(module, allow_programs=True)


def test_a_program_that_does_nothing_is_not_waited_for(
    module: Path, fake: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("*) exec /bin/sleep 600 ;;")
    ffmpeg_with(("libopenmpt",))  # which is remembered
    monkeypatch.setattr(tracker_support, "MAX_READ_SECONDS", 0.2)
    with pytest.raises(UnreadableAudioError, match="damaged"):
        read_file(module, allow_programs=True)


def test_a_module_without_sound_is_refused(module: Path, fake: Callable[[str], Path]) -> None:
    fake(playing(":"))
    with pytest.raises(UnreadableAudioError, match="at least 512 samples at 16 kHz, got 0"):
        read_file(module, allow_programs=True)
    fake(playing("printf abc"))
    with pytest.raises(UnreadableAudioError, match="got 1"):
        read_file(module, allow_programs=True)


def test_a_module_that_is_too_large_is_not_played(tmp_path: Path) -> None:
    path = tmp_path / "large.it"
    path.write_bytes(b"IMPM")
    os.truncate(path, (64 << 20) + 1)
    with pytest.raises(UnreadableAudioError, match="at most 64 MB"):
        read_file(path, allow_programs=True)

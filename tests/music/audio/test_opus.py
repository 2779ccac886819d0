from io import BytesIO
from pathlib import Path

import av
import numpy as np
import pytest

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.opus import codec_of, converted_chunks
from bandstand.music.audio.tracker_support import NeedsProgramError, module_chunks
from tests.fixtures.music.audio_files import FORMATS, make, wav
from tests.music.audio.test_tracker_support import protracker


def opus(content: bytes, *, size: int = 1 << 20) -> bytes:
    return b"".join(converted_chunks(BytesIO(content), size=size))


def seconds(content: bytes) -> tuple[float, int]:
    """Return the length of an Opus file, and how many channels it has."""
    with av.open(BytesIO(content), "r") as container:
        stream = container.streams.audio[0]
        assert stream.codec_context.name == "opus"
        samples = sum(frame.samples for frame in container.decode(audio=0))
        return samples / 48_000, stream.codec_context.layout.nb_channels


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_becomes_opus_of_the_same_length(tmp_path: Path, ending: str) -> None:
    content = make(tmp_path / f"a{ending}", seconds=2).read_bytes()
    length, channels = seconds(opus(content, size=5_000))
    assert length == pytest.approx(2, abs=0.1)
    assert channels == 2


@pytest.mark.parametrize(("channels", "expected"), [(1, 1), (2, 2), (6, 2)])
def test_mono_stays_and_more_becomes_stereo(tmp_path: Path, channels: int, expected: int) -> None:
    content = make(tmp_path / "a.flac", seconds=1, channels=channels).read_bytes()
    assert seconds(opus(content))[1] == expected
    assert codec_of(BytesIO(content)) == ("flac", "flac")


@pytest.mark.parametrize(
    "content", [b"", b"nothing", wav(b""), wav(bytes(2)), b"#EXTM3U\na.mp3", b"ID3" + bytes(90)]
)
def test_what_holds_no_sound_is_refused(content: bytes) -> None:
    with pytest.raises(UnreadableAudioError, match="expected"):
        opus(content)


def test_samples_that_are_no_numbers_do_no_harm() -> None:
    bad = np.full(16_000, np.nan, dtype="<f4").tobytes()
    assert seconds(opus(wav(bad, kind=3, bits=32))) == (1, 1)


def test_a_module_needs_a_program() -> None:
    with pytest.raises(NeedsProgramError):
        list(module_chunks(BytesIO(protracker()), size=1, allow_programs=False))

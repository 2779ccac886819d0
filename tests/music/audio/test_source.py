from __future__ import annotations

import io

import pytest

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.decode import read
from bandstand.music.audio.source import Source
from tests.fixtures.music.audio_files import wav


class Broken(io.BytesIO):
    """A disk that fails after some bytes."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() > 100:
            raise OSError(5, "Input/output error")
        return super().read(min(size or 0, 101))


def test_a_source_ends_when_its_bytes_are_spent() -> None:
    source = Source(io.BytesIO(bytes(100)), limit=60)
    assert [len(source.read(40)) for _ in range(3)] == [40, 20, 0]
    assert source.is_spent()
    source.renew()
    assert not source.is_spent()
    assert len(source.read()) == 40


def test_a_source_ends_when_its_calls_are_spent() -> None:
    source = Source(io.BytesIO(bytes(100)), calls=2)
    assert [len(source.read(1)) for _ in range(3)] == [1, 1, 0]
    assert source.seek(0) == -1
    assert source.is_spent()


def test_a_source_has_no_name() -> None:
    with open(__file__, "rb") as file:
        assert not hasattr(Source(file), "name")


@pytest.mark.parametrize(("offset", "whence"), [(-1, 0), (-1000, 2), (2**80, 0)])
def test_places_that_are_nowhere_raise_nothing(offset: int, whence: int) -> None:
    assert Source(io.BytesIO(b"abc")).seek(offset, whence) <= 0


def test_an_error_of_the_disk_is_reported_and_not_taken_for_damage(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(UnreadableAudioError, match="could not be read: Input/output error"):
        read(Broken(b"OggS" + bytes(1000)))
    with pytest.raises(UnreadableAudioError):
        read(Broken(wav(bytes(100_000))))
    assert capfd.readouterr() == ("", "")

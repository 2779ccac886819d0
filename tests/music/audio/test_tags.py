from __future__ import annotations

import io
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import pytest

from bandstand.music.audio.tags import clean, read_tags
from bandstand.types import Tags
from tests.fixtures.music.audio_files import chunk, id3, make, wav

if TYPE_CHECKING:
    from pathlib import Path

RECORDING = "f205627f-b70a-409d-adbe-66289b614e80"
RELEASE = "0383dadf-2a4e-4d10-a46a-e9e041da8eb3"
ARTIST = "5b11f4ce-a62d-471e-81fc-a69a8278c7da"
GIVEN = {
    "title": "Tïtle 🎵",
    "artist": "Ärtist",
    "album": "Älbum",
    "album_artist": "Various",
    "genre": "Jazz",
    "date": "2003-05-01",
    "track": "3/12",
    "disc": "1/2",
    "MUSICBRAINZ_TRACKID": RECORDING,
    "MUSICBRAINZ_ALBUMID": RELEASE,
    "MUSICBRAINZ_ARTISTID": f"{ARTIST};{RELEASE}",
    "MUSICBRAINZ_RELEASETRACKID": RELEASE,
    "REPLAYGAIN_TRACK_GAIN": "-7.32 dB",
    "REPLAYGAIN_TRACK_PEAK": "0.988547",
    "REPLAYGAIN_ALBUM_GAIN": "+1.5 dB",
    "REPLAYGAIN_ALBUM_PEAK": "1.01",
}
EVERYTHING = Tags(
    title="Tïtle 🎵",
    artist="Ärtist",
    album="Älbum",
    album_artist="Various",
    genre="Jazz",
    year=2003,
    track=3,
    disc=1,
    recording_mbid=RECORDING,
    release_mbid=RELEASE,
    artist_mbid=ARTIST,
    track_gain=-7.32,
    track_peak=0.988547,
    album_gain=1.5,
    album_peak=1.01,
)
# What the format, or ffmpeg's way of writing it, has no room for.
NO_CUSTOM = {
    field.name: None for field in fields(Tags) if field.name.endswith(("mbid", "gain", "peak"))
}
NO_PARTS = NO_CUSTOM | {"album_artist": None, "disc": None}
ROOM = {
    ".caf": {},
    ".flac": {},
    ".m4a": NO_CUSTOM,
    ".mka": {},
    ".mkv": {},
    ".mp3": {},
    ".ogg": {},
    ".opus": {},
    ".tta": {},
    ".wav": NO_PARTS,
    ".avi": NO_PARTS,
    ".webm": {},
    ".wma": {},
    ".wv": {},
}


def tags_of(content: bytes) -> Tags:
    return read_tags(io.BytesIO(content))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return an mp3 without any tag."""
    path = tmp_path_factory.mktemp("sound") / "a.mp3"
    return make(path, seconds=0.5, options={"id3v2_version": "0"}).read_bytes()


@pytest.mark.parametrize(("suffix", "missing"), ROOM.items())
def test_every_format_gives_its_tags(tmp_path: Path, suffix: str, missing: dict[str, None]) -> None:
    content = make(tmp_path / f"a{suffix}", seconds=0.5, tags=GIVEN, film=False).read_bytes()
    assert tags_of(content) == replace(EVERYTHING, **missing)


def test_mp4_keeps_other_names_too(tmp_path: Path) -> None:
    freely = {"movflags": "use_metadata_tags"}
    content = make(tmp_path / "a.mp4", seconds=0.5, tags=GIVEN, options=freely).read_bytes()
    assert tags_of(content) == EVERYTHING


def test_no_tags_are_all_none(sound: bytes) -> None:
    assert tags_of(sound) == Tags()


@pytest.mark.parametrize(
    "names",
    [
        ("MusicBrainz Track Id", "MusicBrainz Album Id", "MusicBrainz Artist Id"),
        ("musicbrainz_trackid", "musicbrainz_albumid", "musicbrainz_artistid"),
        ("MusicBrainz/Track Id", "MusicBrainz/Album Id", "MusicBrainz/Artist Id"),
    ],
)
def test_identifiers_have_many_spellings(tmp_path: Path, names: tuple[str, ...]) -> None:
    given = dict(zip(names, (RECORDING.upper(), RELEASE, ARTIST), strict=True))
    found = tags_of(make(tmp_path / "a.flac", seconds=0.5, tags=given).read_bytes())
    assert (found.recording_mbid, found.release_mbid, found.artist_mbid) == (
        RECORDING,
        RELEASE,
        ARTIST,
    )


def test_a_track_of_a_release_is_no_recording(tmp_path: Path) -> None:
    given = {"MusicBrainz Release Track Id": RELEASE, "MUSICBRAINZ_ARTISTID": "no identifier"}
    found = tags_of(make(tmp_path / "a.mp3", seconds=0.5, tags=given).read_bytes())
    assert (found.recording_mbid, found.artist_mbid) == (None, None)


def test_the_recording_of_an_mp3_is_where_picard_puts_it(sound: bytes) -> None:
    frame = (b"UFID", b"http://musicbrainz.org\0" + RECORDING.encode())
    assert tags_of(id3(frame) + sound).recording_mbid == RECORDING
    broken = (b"UFID", b"http://musicbrainz.org\0" + b"-" * 36)
    assert tags_of(id3(broken) + sound).recording_mbid is None


def test_opus_gains_are_converted(tmp_path: Path) -> None:
    given = {"R128_TRACK_GAIN": "-1792", "R128_ALBUM_GAIN": "0"}
    found = tags_of(make(tmp_path / "a.opus", seconds=0.5, tags=given).read_bytes())
    assert (found.track_gain, found.album_gain) == (-2.0, 5.0)


def test_a_stream_s_title_is_not_the_song_s(tmp_path: Path) -> None:
    content = make(tmp_path / "a.mkv", seconds=0.5).read_bytes()
    assert tags_of(content).title is None


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (b"\0Bj\xf6rk", "Björk"),
        (b"\1" + "Sigur Rós 🎵".encode("utf-16"), "Sigur Rós 🎵"),
        (b"\3" + "Ünïcödé".encode(), "Ünïcödé"),
        (b"\3Bj\xf6rk", "Björk"),
        (b"\3two\nlines\x07", "two lines"),
        (b"\3\xe2\x80\xaeevil", "evil"),
        (b"\3  ", None),
        (b"", None),
    ],
)
def test_titles_of_every_encoding_are_read(sound: bytes, text: bytes, title: str | None) -> None:
    assert tags_of(id3((b"TIT2", text), version=4) + sound).title == title


@pytest.mark.parametrize(
    "text", [b"\x09what?", b"\1\xff", b"\1\xff\xfe\x00", b"\1\xff\xfe\x3d\xd8", b"\2\xd8"]
)
def test_broken_encodings_leave_a_clean_title_or_none(sound: bytes, text: bytes) -> None:
    title = tags_of(id3((b"TIT2", text), (b"TPE1", b"\0Artist")) + sound).title
    assert title is None or title == clean(title)


def test_riff_tags_that_are_not_utf_8_are_read() -> None:
    info = b"INFO" + chunk(b"INAM", b"D\xe9j\xe0 vu\0") + chunk(b"IART", b"\xc9lan\0")
    content = wav(bytes(20_000)) + chunk(b"LIST", info)
    found = tags_of(content)
    assert (found.title, found.artist) == ("Déjà vu", "Élan")


def test_tags_at_the_end_of_an_old_mp3_are_read(sound: bytes) -> None:
    def field(text: str, size: int) -> bytes:
        return text.encode("latin-1").ljust(size, b"\0")

    old = field("Title", 30) + field("Artist", 30) + field("Album", 30) + field("1999", 4)
    found = tags_of(sound + b"TAG" + old + bytes(28) + b"\0\x07" + bytes([17]))
    assert found == Tags(
        title="Title", artist="Artist", album="Album", genre="Rock", year=1999, track=7
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (b"TCON", b"\0(17)", {"genre": "Rock"}),
        (b"TCON", b"\0Eurodisco", {"genre": "Eurodisco"}),
        (b"TYER", b"\0" + b"1999", {"year": 1999}),
        (b"TYER", b"\0soon", {}),
        (b"TRCK", b"\0A1", {}),
        (b"TPOS", b"\0" + b"2/3", {"disc": 2}),
    ],
)
def test_frames_of_id3_mean_what_they_say(
    sound: bytes, name: bytes, text: bytes, expected: dict[str, object]
) -> None:
    found = tags_of(id3((name, text)) + sound)
    assert {
        field.name: getattr(found, field.name)
        for field in fields(Tags)
        if getattr(found, field.name) is not None
    } == expected


def test_what_tinytag_cannot_bear_is_no_reason_to_lose_a_song(
    sound: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("bandstand.music.audio.tags.TinyTag.get", fail)
    assert tags_of(id3((b"TIT2", b"\0Title")) + sound) == Tags(title="Title")


def test_tinytag_fills_in_what_pyav_does_not_see(
    sound: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandstand.music.audio.tags._metadata_of", lambda _: iter(()))
    tag = id3((b"TIT2", b"\0Title"), (b"TPE2", b"\0Band"), (b"TRCK", b"\0" + b"4/9"))
    assert tags_of(tag + sound) == Tags(title="Title", album_artist="Band", track=4)

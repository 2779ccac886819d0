import io
import math
import unicodedata
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.audio.tags import (
    MAX_TEXT_LENGTH,
    clean,
    gain_of,
    genre_of,
    identifier_of,
    peak_of,
    position_of,
    r128_gain_of,
    read_tags,
    year_of,
)
from bandstand.types import Tags
from tests.fixtures.music.audio_files import chunk, id3, make, wav

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
WHOLE = [".caf", ".flac", ".mka", ".mkv", ".mp3", ".ogg", ".opus", ".tta", ".webm", ".wma", ".wv"]
ROOM: dict[str, dict[str, None]] = {
    **{suffix: {} for suffix in WHOLE},
    ".m4a": NO_CUSTOM,
    ".wav": NO_PARTS,
    ".avi": NO_PARTS,
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


def test_the_recording_of_an_mp3_is_where_picard_puts_it(sound: bytes) -> None:
    frame = (b"UFID", b"http://musicbrainz.org\0" + RECORDING.encode())
    assert tags_of(id3(frame) + sound).recording_mbid == RECORDING
    broken = (b"UFID", b"http://musicbrainz.org\0" + b"-" * 36)
    assert tags_of(id3(broken) + sound).recording_mbid is None


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


def test_a_failure_of_tinytag_loses_no_song(sound: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("bandstand.music.audio.tags.TinyTag.get", fail)
    assert tags_of(id3((b"TIT2", b"\0Title")) + sound) == Tags(title="Title")


def test_tinytag_fills_in_what_pyav_misses(sound: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bandstand.music.audio.tags._metadata_of", lambda _: iter(()))
    tag = id3((b"TIT2", b"\0Title"), (b"TPE2", b"\0Band"), (b"TRCK", b"\0" + b"4/9"))
    assert tags_of(tag + sound) == Tags(title="Title", album_artist="Band", track=4)


ONE = "f205627f-b70a-409d-adbe-66289b614e80"
OTHER = "0383dadf-2a4e-4d10-a46a-e9e041da8eb3"
texts = st.one_of(st.text(max_size=40), st.text("0123456789-+./,() dB", max_size=20))


VALUES: list[tuple[Callable[[str | None], object], object, list[str | None]]] = [
    (year_of, 2003, ["2003", "2003-05-01", "2003-05-01T12:00:00Z", "01.05.2003", "20030501"]),
    (year_of, 1999, ["(P) 1999"]),
    (year_of, 1969, ["1969/1994"]),
    (year_of, 2200, ["2200"]),
    (year_of, None, ["2201", "0999", "12345", "99999999", "99", "nonsense", "٢٠٠٣", "", None]),
    (position_of, 3, ["3", "03", "3/12", "3 / 12", "3/", "3 of 12"]),
    (position_of, None, ["0", "0/0", "A1", "-3", "3.5", "99999", "/12", "", None]),
    (identifier_of, ONE, [ONE, ONE.upper(), f"{ONE};{OTHER}", f"{ONE}/{OTHER}", f"{ONE}\0{OTHER}"]),
    (identifier_of, OTHER, [f"https://musicbrainz.org/recording/{OTHER}"]),
    (identifier_of, None, [ONE[:-1], f"{ONE}0", ONE.replace("-", ""), ONE.replace("f", "g"), None]),
    (gain_of, -7.32, ["-7.32 dB", "-7.32dB", "-7,32 dB"]),
    (gain_of, 3.5, ["+3.5 db"]),
    (gain_of, 0.5, [".5"]),
    (gain_of, 60.0, ["60 dB"]),
    (gain_of, None, ["-60.01 dB", "1e3", "nan dB", "inf", "-", "1_0", "loud", "", None]),
    (r128_gain_of, 5.0, ["0"]),  # 5 dB lower than what others aim at
    (r128_gain_of, 0.0, ["-1280"]),
    (r128_gain_of, None, ["-32768", "1.5", "x"]),
    (peak_of, 0.988547, ["0.988547"]),
    (peak_of, None, ["101", "-0.1", ""]),
    (genre_of, "Rock", ["(17)", "17", "(17)(21)", "Rock;Rock"]),
    (genre_of, "Rock; Pop", ["Rock;Pop", "Rock\0Pop", "17; (13);Rock"]),
    (genre_of, "Eurodisco", ["(4)Eurodisco"]),
    (genre_of, "(255)", ["(255)"]),
    (genre_of, "R&B/Soul", ["R&B/Soul"]),
    (genre_of, "Pop", [";;Pop"]),
    (genre_of, None, [" ; ", "", None]),
]


@pytest.mark.parametrize(("parse", "expected", "texts"), VALUES)
def test_a_value_is_found_in_texts_of_all_kinds(
    parse: Callable[[str | None], object], expected: object, texts: list[str | None]
) -> None:
    assert [parse(text) for text in texts] == [expected] * len(texts)


@given(texts)
def test_any_text_means_something_in_its_range_or_nothing(text: str) -> None:
    year, position = year_of(text), position_of(text)
    assert year is None or 1000 <= year <= 2200
    assert position is None or 1 <= position <= 9999
    for gain in (gain_of(text), r128_gain_of(text)):
        assert gain is None or (math.isfinite(gain) and abs(gain) <= 60)
    peak = peak_of(text)
    assert peak is None or 0 <= peak <= 100
    assert identifier_of(text) is None or len(str(identifier_of(text))) == 36
    assert genre_of(text) != ""


anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=600)


@given(anything)
def test_clean_text_can_be_kept_and_shown(text: str) -> None:
    found = clean(text)
    if found is not None:
        assert 0 < len(found) <= MAX_TEXT_LENGTH
        assert found == found.strip()
        assert found == " ".join(found.split())
        assert unicodedata.is_normalized("NFC", found)
        assert not {unicodedata.category(letter) for letter in found} & {"Cc", "Cs"}
        found.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("", None),
        (" \t\r\n", None),
        ("\0\x01\x7f\x9f", None),
        ("\ufeffTitle\0\0", "Title"),
        ("a\r\n\tb   c", "a b c"),
        ("cafe\u0301", "café"),
        ("e\0\u0301", "é"),
        ("evil\u202egnp.exe\u202c", "evilgnp.exe"),
        ("a \u200f b", "a b"),
        ("👩\u200d🎤", "👩\u200d🎤"),
        ("half \ud83d a letter", "half a letter"),
        ("\uffff\ufdd0x", "x"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("x" * 501, "x" * 500),
        ("x" * 499 + " y", "x" * 499),
        ("x" * 10_000_000, "x" * 500),
    ],
)
def test_what_becomes_of_odd_text(text: str | None, expected: str | None) -> None:
    assert clean(text) == expected

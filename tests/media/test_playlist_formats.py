"""Playlists for other players are valid, whatever is in the tags."""

import json
import os
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.media.playlist_formats import (
    FORMATS,
    Entry,
    by_address,
    by_path,
    jspf,
    m3u8,
    write,
    xspf,
)
from bandstand.store.songs.songs import SongRecord
from bandstand.types import Tags

NAMESPACE = "{http://xspf.org/ns/0/}"
MBID = "0123abcd-0123-0123-0123-0123456789ab"
HOSTILE = (
    "]]>", "<script>", "&amp;", "a\0b", "line\nbreak", "cr\rlf", "\x1b[2J", "\ud800", "\udcff",
    "\ufffe", "\uffff", "\U0001f600", "#EXTINF:9,fake", "../../etc/passwd", "\u202eabc", "", " ",
)  # fmt: skip

texts = st.text() | st.sampled_from(HOSTILE) | st.text(st.characters(categories=["Cs", "Cc"]))
# Names of files, of which some are no text in any encoding.
names = st.binary(min_size=1, max_size=50).map(
    lambda name: name.replace(b"\0", b"_").replace(b"/", b"_")
)


def song(**given: Any) -> SongRecord:
    """Return a song with some tags, and a path."""
    path = given.pop("path", b"/music/one.mp3")
    return SongRecord(
        id="0123456789abcdef",
        fingerprint="f",
        tags=Tags(**given),
        duration=given.get("track_gain") or 61.5,
        descriptor_version=1,
        added_at=0,
        path=path,
        size=1,
        missing=False,
        problem=None,
    )


songs = st.builds(
    song,
    title=st.none() | texts,
    artist=st.none() | texts,
    album=st.none() | texts,
    track=st.none() | st.integers(0, 99),
    recording_mbid=st.none() | st.just(MBID),
    path=names.map(lambda name: b"/music/" + name),
)


def address(song_id: str) -> str:
    return f"http://localhost/api/songs/{song_id}/audio"


@given(st.lists(songs, max_size=5), texts, st.booleans())
def test_an_m3u_has_two_lines_a_song(listed: list[SongRecord], title: str, paths: bool) -> None:
    entries = by_path(listed) if paths else by_address(listed, address)
    lines = m3u8(entries, title=title).split(b"\n")
    assert lines[0] == b"#EXTM3U"
    assert lines[-1] == b""
    assert len(lines) == 3 + 2 * len(listed)
    for about, place, entry in zip(lines[2:-1:2], lines[3:-1:2], entries, strict=True):
        assert about.startswith(b"#EXTINF:")
        about.decode()
        assert not place.startswith(b"#")
        assert _path_in(place) == os.fsencode(entry.place)


@given(st.lists(songs, max_size=5), texts, st.booleans())
def test_an_xspf_is_xml_for_any_tags(listed: list[SongRecord], title: str, paths: bool) -> None:
    entries = by_path(listed) if paths else by_address(listed, address)
    document = ET.fromstring(xspf(entries, title=title))
    assert document.tag == f"{NAMESPACE}playlist"
    tracks = document.findall(f"{NAMESPACE}trackList/{NAMESPACE}track")
    assert len(tracks) == len(listed)
    for track, entry in zip(tracks, entries, strict=True):
        place = track.findtext(f"{NAMESPACE}location")
        assert place is not None
        assert place.isascii()
        assert _path_in(place.encode()) == os.fsencode(entry.place)


@given(st.lists(songs, max_size=5), texts)
def test_a_jspf_is_json_whatever_the_tags_are(listed: list[SongRecord], title: str) -> None:
    document = json.loads(jspf(by_path(listed), title=title))
    tracks = document["playlist"]["track"]
    assert len(tracks) == len(listed)
    for track, one in zip(tracks, listed, strict=True):
        wanted = [f"https://musicbrainz.org/recording/{MBID}"]
        assert track.get("identifier") == (wanted if one.tags.recording_mbid else None)
        assert track["duration"] == 61_500


@pytest.mark.parametrize("form", FORMATS)
def test_a_song_has_its_names(form: str) -> None:
    known = song(title="Für <Elise>", artist="L. & Co", album="Bagatelles", track=3)
    text = write(form, by_path([known]), title="Mine").decode()
    shown = {"xspf": ("Für &lt;Elise&gt;", "L. &amp; Co")}.get(form, ("Für <Elise>", "L. & Co"))
    assert all(name in text for name in shown)


def test_tags_of_real_text_come_back_from_xml() -> None:
    given_title = "Line\nand ]]> & <b>bold</b> 日本 \U0001f600"
    document = ET.fromstring(xspf(by_path([song(title=given_title)]), title="t"))
    assert document.findtext(f".//{NAMESPACE}track/{NAMESPACE}title") == given_title


@pytest.mark.parametrize(
    ("careless", "text"),
    [
        (lambda entry: f"<t>{entry.song.tags.title}</t>", "a & b"),
        (lambda entry: f"<t><![CDATA[{entry.song.tags.title}]]></t>", "]]>"),
        (lambda entry: f"<t>{entry.song.tags.title}</t>", "\x01"),
    ],
)
def test_careless_xml_would_be_noticed(careless: Callable[[Entry], str], text: str) -> None:
    with pytest.raises(ET.ParseError):
        ET.fromstring(careless(by_path([song(title=text)])[0]))


def _path_in(place: bytes) -> bytes:
    """Return the path or the address that a player would read."""
    if place.startswith(b"file://"):
        return unquote_to_bytes(place.removeprefix(b"file://"))
    return place

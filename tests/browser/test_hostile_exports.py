"""Playlists as files for other players, with hostile names: no name becomes an entry of its own."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

import pytest

from bandstand.media import playlist_formats
from bandstand.media.playlist_formats import Entry, m3u8
from bandstand.store.songs.songs import SongRecord
from bandstand.types import Tags
from tests.fixtures.browser.hostile_texts import FILE_NAMES, hostile_radio
from tests.fixtures.browser.payloads import PAYLOADS, UNCLEAN
from tests.fixtures.browser.tour import every_song

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fixtures.browser.hostile_texts import Hostile

SPACE: Final = "{http://xspf.org/ns/0/}"
PARTS: Final = frozenset(
    {"playlist", "title", "trackList", "track", "location", "creator", "album", "duration"}
)
HARMLESS: Final = re.compile(
    r"attachment; "
    r'filename="[^"\\/:<>|*?\x00-\x1f]+\.m3u8"'
    r"(; filename\*=UTF-8''[\w.~%-]+)?"
)
PLACES: Final = ("http://127.0.0.1:", "/", "file:///")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    with hostile_radio(tmp_path_factory.mktemp("hostile")) as made:
        yield made


def entries(content: bytes) -> list[tuple[str, str]]:
    """Return what an M3U says of each song, and where it is; AssertionError if it is no M3U."""
    head, name, *lines = content.decode().removesuffix("\n").split("\n")
    assert head == "#EXTM3U"
    assert name.startswith("#PLAYLIST:")
    assert [line for line in lines if "\r" in line] == []
    abouts, places = lines[::2], lines[1::2]
    assert [line for line in abouts if not line.startswith("#EXTINF:")] == []
    assert [line for line in places if not line.startswith(PLACES)] == []
    return list(zip(abouts, places, strict=True))


def test_names_of_files_are_hostile_too(world: Hostile) -> None:
    titles = {song["title"] for song in every_song(world.server.client("ann"))}
    printable = [name for name in FILE_NAMES if name.isprintable()]
    assert len(printable) > 190
    assert [name for name in printable if name not in titles] == []


@pytest.mark.parametrize("paths", ["false", "true"], ids=["addresses", "paths"])
def test_files_for_other_players_hold_one_entry_for_each_song(world: Hostile, paths: str) -> None:
    client = world.server.client("ann")
    ids = [*world.songs, *world.named_by_file]
    made = client.post("/api/playlists", json={"name": PAYLOADS[1], "songs": ids}).json()
    titles = [song["title"] for song in client.get(f"/api/playlists/{made['id']}").json()["songs"]]
    assert titles[: len(PAYLOADS)] == [*PAYLOADS]
    query = f"/api/playlists/{made['id']}?paths={paths}&format="

    assert len(entries(client.get(f"{query}m3u8").content)) == len(ids)

    document = ET.fromstring(client.get(f"{query}xspf").content)  # our own server's
    assert {one.tag.removeprefix(SPACE) for one in document.iter()} == PARTS
    assert [one.text for one in document.iterfind(f".//{SPACE}track/{SPACE}title")] == titles

    tracks = json.loads(client.get(f"{query}jspf").content)["playlist"]["track"]
    assert [one["title"] for one in tracks] == titles


def test_a_file_is_saved_under_a_harmless_name(world: Hostile) -> None:
    client = world.server.client("ann")
    for one in client.get("/api/playlists").json()["playlists"]:
        answer = client.get(f"/api/playlists/{one['id']}?format=m3u8")
        header = answer.headers["content-disposition"]
        assert HARMLESS.fullmatch(header), (one["name"], header)


@pytest.mark.parametrize("name", [one for one in UNCLEAN if "\n" in one])
def test_a_writer_that_lets_lines_end_is_found_out(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The twin: a name with a line break in it, which no tag of ours has, and no care taken."""
    song = SongRecord(
        id="0" * 16,
        fingerprint="0",
        tags=Tags(title=name),
        duration=1.0,
        descriptor_version=1,
        added_at=0,
        path=b"/music/song.flac",
        size=1,
        missing=False,
        problem=None,
    )
    entry = Entry(song=song, place="/music/song.flac")
    assert len(entries(m3u8([entry], title=name))) == 1
    monkeypatch.setattr(playlist_formats, "_LINE_ENDS", re.compile("(?!)"))
    with pytest.raises((AssertionError, ValueError)):
        assert len(entries(m3u8([entry], title="Mine"))) == 1

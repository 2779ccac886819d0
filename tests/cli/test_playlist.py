import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bandstand.store.database.connection import open_store
from bandstand.store.songs import songs
from tests.fixtures.cli.run_command import Outcome, assert_refused, run
from tests.fixtures.web.servers import fill


@pytest.fixture
def place(tmp_path: Path) -> Path:
    store = tmp_path / "radio.db"
    fill(str(store), invented=60, names={"ann": "admin", "ben": "listener"})
    return store


def playlist(store: Path, *options: str | Path) -> Outcome:
    return run("playlist", "--store", store, *options)


def paths(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_the_next_songs_are_printed_as_paths(place: Path) -> None:
    code, out, err = playlist(place, "--listener", "BEN", "--count", "7")
    assert (code, err) == (0, "")
    assert out.startswith("#EXTM3U\n#PLAYLIST:Bandstand for ben\n")
    assert len(paths(out)) == len(set(paths(out))) == 7
    assert all(path.startswith("/nowhere/") for path in paths(out))


def test_the_ending_of_the_file_or_an_option_names_the_format(place: Path, tmp_path: Path) -> None:
    for ending in ("m3u8", "xspf", "jspf"):
        out = tmp_path / f"evening.{ending}"
        assert playlist(place, "--listener", "ben", "--out", out) == (0, "", "")
    assert len(paths((tmp_path / "evening.m3u8").read_text())) == 20
    track = "{http://xspf.org/ns/0/}track"
    assert len(list(ET.parse(tmp_path / "evening.xspf").iter(track))) == 20
    assert len(json.loads((tmp_path / "evening.jspf").read_text())["playlist"]["track"]) == 20
    other = tmp_path / "evening.m3u8"
    assert playlist(place, "--listener", "ben", "--format", "jspf", "--out", other).code == 0
    assert json.loads(other.read_text())


def test_a_wish_comes_first(place: Path) -> None:
    ben = ("--listener", "ben", "--count", "1")
    by_name = playlist(place, *ben, "--song", "Artist 2 - Song 47").out
    assert paths(by_name) == ["/nowhere/4/47.flac"]
    with open_store(str(place)) as store, store.reading() as connection:
        (song,) = songs.find(connection, "Song 47", limit=1)
    assert playlist(place, *ben, "--song", song.id).out == by_name
    (path,) = paths(playlist(place, *ben, "--artist", "artist 1").out)
    assert 20 <= int(path.split("/")[-1].removesuffix(".flac")) < 40
    assert paths(playlist(place, *ben, "--genre", "Genre 3").out)[0].endswith("3.flac")


def number(path: str) -> int:
    return int(path.rsplit("/", maxsplit=1)[-1].removesuffix(".flac"))


def test_only_songs_of_some_years_are_taken(place: Path) -> None:
    ben = ("--listener", "ben", "--count", "3")
    found = paths(playlist(place, *ben, "--year-from", "1972", "--year-to", "1974").out)
    assert {number(path) % 50 for path in found} <= {2, 3, 4}
    late = paths(playlist(place, *ben, "--year-from", "2010", "--genre", "Genre 3").out)
    assert number(late[0]) == 43
    assert all(number(path) % 50 >= 40 for path in late)
    early = paths(playlist(place, *ben, "--year-to", "1970").out)
    assert {number(path) for path in early} == {0, 50}


def test_nothing_is_learnt_from_it(place: Path) -> None:
    first, second = (playlist(place, "--listener", "ben").out for _ in range(2))
    assert first == second


def test_the_only_account_need_not_be_named(tmp_path: Path) -> None:
    store = tmp_path / "radio.db"
    fill(str(store), invented=5, names={"ann": "admin"})
    assert playlist(store, "--count", "3").code == 0


def test_what_cannot_be_is_refused(place: Path, tmp_path: Path) -> None:
    ben = ("--listener", "ben")
    assert_refused(playlist(place), "--listener must name an account", "ann, ben")
    assert_refused(playlist(place, "--listener", "eve"), "got 'eve'")
    assert_refused(playlist(place, *ben, "--song", "Song"), "which fits several")
    assert_refused(playlist(place, *ben, "--song", "nobody's"), "which fits none")
    assert_refused(playlist(place, *ben, "--artist", "nobody"), "nobody")
    assert_refused(playlist(place, *ben, "--artist", "a", "--genre", "b"), "one of song")
    assert_refused(playlist(place, *ben, "--year-to", "1900"), "songs of the years", "1900")
    assert_refused(playlist(place, *ben, "--year-from", "x"), "--year-from")
    assert_refused(playlist(place, *ben, "--year-to", "10000"), "--year-to")
    backwards = ("--year-from", "1980", "--year-to", "1970")
    assert_refused(playlist(place, *ben, *backwards), "must not be after the last one")
    assert_refused(playlist(place, *ben, "--count", "0"), "--count")
    assert_refused(playlist(place, *ben, "--out", tmp_path), "--out")
    assert_refused(playlist(place, *ben, "--format", "pls"), "--format")


def test_a_store_without_songs_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "radio.db"
    fill(str(store), names={"ann": "admin"})
    assert_refused(playlist(store), "bandstand scan")

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from bandstand.errors import InvalidInputError
from bandstand.store.database.connection import Store
from bandstand.store.songs import files, songs
from bandstand.store.songs.save_analysis import record_problem
from tests.fixtures.store.examples import analysis, discarded, record_analysis, some_examples, text

SONGS = {
    "Jóga": ("Björk", b"/music/bjork/02 joga.flac"),
    "100%_pure": ("Crystal Waters", b"/music/pure.mp3"),
    "100 percent": ("Nobody", b"/music/other\xff\n.mp3"),
    "Straße": ("ΟΔΥΣΣΕΥΣ", b"/music/greek.ogg"),
}


def fill(connection: Connection) -> None:
    for seed, (title, (artist, path)) in enumerate(SONGS.items()):
        found = analysis(seed, title=title, artist=artist)
        record_analysis(connection, path, found, scan=1, now=1)


def titles(connection: Connection, wanted: str, limit: int = 10) -> list[str | None]:
    return [song.tags.title for song in songs.find(connection, wanted, limit=limit)]


FOUND: dict[tuple[str, ...], list[str]] = {
    ("Jóga",): ["Jóga", "JÓGA", "Jo\u0301ga", "björk", "Björk - Jóga", "RK - J", "02 JOGA.fl"],
    ("100%_pure",): ["100%", "%_", "_"],
    ("100%_pure", "100 percent"): ["100"],
    ("100 percent",): ["\n"],
    ("Straße",): ["οδυσσευς", "STRASSE"],
    (): ["/", "music", "nothing like it", "", "a\0b", "\ud800", "x\udcff", "x" * 100_000],
}


@pytest.mark.parametrize("found", FOUND)
def test_a_part_of_a_name_finds_a_song(connection: Connection, found: tuple[str, ...]) -> None:
    fill(connection)
    for wanted in FOUND[found]:
        assert titles(connection, wanted) == list(found), wanted


def test_names_come_in_one_order_and_not_more_than_asked_for(connection: Connection) -> None:
    fill(connection)
    everything = titles(connection, "a") + titles(connection, ".")
    assert everything[-4:] == ["Jóga", "100%_pure", "100 percent", "Straße"]
    assert titles(connection, ".", limit=2) == ["Jóga", "100%_pure"]
    assert titles(connection, ".", limit=0) == []
    with pytest.raises(InvalidInputError, match="limit must be between 0"):
        titles(connection, ".", limit=-1)


def test_a_song_is_found_by_its_id_before_its_name(connection: Connection) -> None:
    first = record_analysis(connection, b"/a", analysis(1), scan=1, now=1).song_id
    record_analysis(connection, b"/b", analysis(2, title=first), scan=1, now=1)
    assert titles(connection, first) == ["Song 1"]
    assert titles(connection, first[:-1]) == [first]
    assert titles(connection, first, limit=0) == []


def test_a_song_is_found_by_its_path_before_its_name(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = bytes(tmp_path)
    with store.writing() as connection:
        record_analysis(connection, here + b"/a.ogg", analysis(1), scan=1, now=1)
        record_analysis(connection, here + b"/\xff.ogg", analysis(2), scan=1, now=1)
        record_analysis(connection, b"/other/a.ogg", analysis(3), scan=1, now=1)
        assert titles(connection, "a.ogg") == ["Song 1"]
        assert titles(connection, f"{tmp_path}/./a.ogg") == ["Song 1"]
        assert titles(connection, "\udcff.ogg") == ["Song 2"]
        assert titles(connection, ".ogg") == ["Song 1", "Song 2", "Song 3"]


def test_only_present_songs_are_found_by_name(connection: Connection) -> None:
    gone = record_analysis(connection, b"/m/gone", analysis(1), scan=1, now=1).song_id
    broken = record_analysis(connection, b"/m/broken", analysis(2), scan=1, now=1).song_id
    files.mark_missing(connection, b"/m/gone", 2)
    record_problem(connection, b"/m/broken", size=1, modified_ns=1, reason="why", version=1, scan=2)
    assert titles(connection, "Song") == []
    assert list(songs.present(connection)) == []
    assert list(songs.described(connection, 1)) == []
    found = [songs.find(connection, wanted, limit=1)[0] for wanted in (gone, "/m/broken")]
    assert [song.id for song in found] == [gone, broken]
    assert [song.is_present for song in found] == [False, False]
    assert [(song.missing, song.problem) for song in found] == [(True, None), (False, "why")]


@some_examples
@given(text, st.data())
def test_every_part_of_every_title_finds_it(shared: Store, title: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(title) - 1))
    end = data.draw(st.integers(start + 1, len(title)))
    with discarded(shared) as connection:
        song = record_analysis(
            connection, b"/m/\xf0", analysis(1, title=title), scan=1, now=1
        ).song_id
        hits = songs.find(connection, title, limit=5)
        assert [hit.id for hit in hits] == [song]
        # A part that begins inside a letter made of several may look different.
        if title.isascii():
            hits = songs.find(connection, title[start:end], limit=5)
            assert [hit.id for hit in hits] == [song]

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.catalogue.refresh import refreshed
from bandstand.store.database.connection import open_store
from bandstand.store.songs import files, projections, songs
from bandstand.store.songs.save_analysis import record_analyses, record_problem
from bandstand.store.songs.songs import SongRecord
from tests.fixtures.cli.run_command import Outcome, assert_refused, run
from tests.fixtures.music.descriptor_tables import library
from tests.fixtures.store.examples import analysis

DESCRIPTORS = library(3, 12)
TITLES = ["Night Train", "Night Bus", "Morning", "[red]Markup[/]", "Näïve", "\u202eLeft"]
TITLES += ["Good Morning"]


class Shop:
    """A store of twelve songs; the first seven have titles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "radio.db"
        found = [
            (
                bytes(folder / "library" / f"{row:02}.mp3"),
                analysis(
                    row,
                    descriptors=DESCRIPTORS[row],
                    title=TITLES[row] if row < len(TITLES) else None,
                    artist="The Band" if row < 3 else None,
                    genre="Jazz" if row % 2 else None,
                ),
            )
            for row in range(len(DESCRIPTORS))
        ]
        with open_store(str(self.store)) as store:
            with store.writing() as connection:
                record_analyses(connection, found, scan=1, now=1)
            refreshed(store, now=1)

    def song(self, row: int) -> SongRecord:
        path = bytes(self.folder / "library" / f"{row:02}.mp3")
        with open_store(str(self.store)) as store, store.reading() as connection:
            found = songs.at_path(connection, path)
        assert found is not None
        return found

    def similar(self, *args: str) -> Outcome:
        return run("similar", "--store", self.store, *args)

    def found(self, *args: str) -> dict[str, Any]:
        outcome = self.similar("--json", *args)
        assert (outcome.code, outcome.err) == (0, "")
        found: dict[str, Any] = json.loads(outcome.out)
        return found

    def state(self) -> object:
        with open_store(str(self.store)) as store, store.reading() as connection:
            return list(files.under(connection, b"/")), projections.latest(connection)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


# ── What it finds ────────────────────────────────────────────────────────────────────────


def test_the_nearest_songs_come_first_and_the_song_itself_not_at_all(shop: Shop) -> None:
    found = shop.found("Night Train")
    song = shop.song(0)
    assert found["song"]["id"] == song.id
    with open_store(str(shop.store)) as store:
        catalogue = refreshed(store, now=1)
    assert catalogue is not None
    features = catalogue.features[:, catalogue.first_sound :].astype(float)
    distances = np.sqrt(np.square(features - features[catalogue.row_of(song.id)]).sum(axis=1))
    order = [row for row in np.argsort(distances, kind="stable") if distances[row]][:10]
    assert [other["id"] for other in found["similar"]] == [catalogue.id_of(row) for row in order]
    assert [other["distance"] for other in found["similar"]] == pytest.approx(distances[order])


@pytest.mark.parametrize(("count", "there"), [(1, 1), (5, 5), (11, 11), (500, 11)])
def test_as_many_as_are_asked_for_where_there_are_so_many(
    shop: Shop, count: int, there: int
) -> None:
    assert len(shop.found("Night Train", "--count", str(count))["similar"]) == there


@pytest.mark.parametrize(
    "name", ["night train", "The Band - Night Train", "band - night t", "NIGHT TRAIN", "00.mp3"]
)
def test_a_song_is_named_by_a_part_of_its_name(shop: Shop, name: str) -> None:
    assert shop.found(name)["song"]["id"] == shop.song(0).id


def test_a_song_is_named_by_its_id_or_its_file(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    song = shop.song(7)
    (shop.folder / "link").symlink_to("library")
    monkeypatch.chdir(shop.folder)
    names = [song.id, os.fsdecode(song.path), "library/07.mp3", "./library/../library/07.mp3"]
    for name in [*names, "link/07.mp3", str(shop.folder / "link" / "07.mp3")]:
        assert shop.found(name)["song"]["id"] == song.id


def test_what_is_told_of_a_song_as_json(shop: Shop) -> None:
    song = shop.song(1)
    assert shop.found("Night Bus")["song"] == {
        "id": song.id,
        "artist": "The Band",
        "title": "Night Bus",
        "genre": "Jazz",
        "path": os.fsdecode(song.path),
        "name": "The Band - Night Bus",
    }
    untitled = shop.found(shop.song(8).id)["song"]
    assert (untitled["title"], untitled["name"]) == (None, "08.mp3")


def test_the_table_has_a_line_for_each_song(shop: Shop) -> None:
    code, out, err = shop.similar("Night Train", "--count", "11")
    assert (code, err) == (0, "")
    title, empty, header, *lines = out.splitlines()
    assert title == "The songs nearest to The Band - Night Train:"
    assert (empty, header.split()) == ("", ["distance", "id", "song"])
    rows = {line.split(maxsplit=2)[1]: line.split(maxsplit=2) for line in lines}
    for other in shop.found("Night Train", "--count", "11")["similar"]:
        distance, _, name = rows[other["id"]]
        assert distance == f"{other['distance']:.2f}"
        assert name == other["name"] + (" (Jazz)" if other["genre"] else "")
    names = [row[2] for row in rows.values()]
    assert "[red]Markup[/] (Jazz)" in names
    assert "Näïve" in names
    assert r"\u202eLeft (Jazz)" in names


def test_a_song_alone_has_no_neighbours(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "one.db")) as store, store.writing() as connection:
        record_analyses(connection, [(b"/music/a.mp3", analysis(1, title="Only"))], scan=1, now=1)
    unfinished = run("similar", "Only", "--store", tmp_path / "one.db")
    assert_refused(unfinished, "a projection must be fitted first", "scan")
    with open_store(str(tmp_path / "one.db")) as store:
        refreshed(store, now=1)
    code, out, err = run("similar", "Only", "--store", tmp_path / "one.db")
    assert (code, err) == (0, "")
    assert out == "There is no other song than The Band - Only.\n"


def test_the_catalogue_is_made_when_it_is_not_there(shop: Shop) -> None:
    expected = shop.found("Night Train")
    for path in sorted((shop.folder / "radio.db.catalogue").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert shop.found("Night Train") == expected


# ── What it cannot find ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    ["Nightmare", "", "%", "_", "0123456789abcdef", "/music/none.mp3", "\\", "x" * 9999],
)
def test_an_unknown_song_is_refused(shop: Shop, name: str) -> None:
    before = shop.state()
    outcome = shop.similar("--", name)
    assert_refused(outcome, "a song of the catalogue was expected, found none")
    assert shop.state() == before


def test_a_name_of_several_songs_lists_them_with_their_ids(shop: Shop) -> None:
    outcome = shop.similar("Night")
    assert_refused(outcome, "fits several songs", "give an id")
    for row in (0, 1):
        assert f"{shop.song(row).id} The Band - {TITLES[row]}" in outcome.err
    assert "and more" not in outcome.err


def test_a_name_of_very_many_songs_lists_some(shop: Shop) -> None:
    outcome = shop.similar("mp3")
    assert outcome.code == 2
    assert outcome.err.count(".mp3") + outcome.err.count(" - ") >= 3
    assert "and more; give an id" in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_names_that_are_very_long_are_cut(shop: Shop) -> None:
    with open_store(str(shop.store)) as store, store.writing() as connection:
        long = [analysis(seed, title="Endless " * 60) for seed in range(100, 105)]
        found = [(b"/music/%d.mp3" % row, it) for row, it in enumerate(long)]
        record_analyses(connection, found, scan=2, now=2)
    assert_refused(shop.similar("Endless"), "Endless Endless", "…")


def test_a_song_whose_file_is_missing_is_refused(shop: Shop) -> None:
    song = shop.song(0)
    with open_store(str(shop.store)) as store, store.writing() as connection:
        files.mark_missing(connection, bytes(shop.folder), 2)
    assert_refused(shop.similar(song.id), "Night Train is missing")
    assert_refused(shop.similar(os.fsdecode(song.path)), "Night Train is missing")
    assert_refused(shop.similar("Night Train"), "found none named 'Night Train'")


def test_a_song_that_cannot_be_compared_says_why(shop: Shop) -> None:
    song = shop.song(0)
    with open_store(str(shop.store)) as store, store.writing() as connection:
        record_problem(
            connection, song.path, size=1, modified_ns=1, reason="?", version=VERSION, scan=2
        )
        old = (bytes(shop.folder / "old.mp3"), analysis(99, title="Old", version=VERSION + 1))
        record_analyses(connection, [old], scan=2, now=2)
    assert_refused(shop.similar(song.id), "Night Train cannot be read any more")
    assert_refused(shop.similar("Old"), "must be analysed by this version first")


def test_the_very_title_is_meant_before_those_that_contain_it(shop: Shop) -> None:
    assert shop.found("morning")["song"]["title"] == "Morning"
    assert_refused(shop.similar("orning"), "fits several songs")


def test_where_no_store_is_none_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("BANDSTAND_STORE", raising=False)
    words = ("a store was expected, found none", "bandstand scan")
    assert_refused(run("similar", "x", "--store", tmp_path / "new.db"), *words)
    assert_refused(run("similar", "x", "--store", tmp_path / "none" / "new.db"), *words)
    assert_refused(run("similar", "x"), *words)
    assert list(tmp_path.iterdir()) == []


def test_a_projection_that_does_not_fit_is_told(shop: Shop) -> None:
    with open_store(str(shop.store)) as store, store.writing() as connection:
        projections.save(
            connection, descriptor_version=VERSION, songs=9, columns=3, content=b"?", now=1
        )
    before = shop.state()
    assert_refused(shop.similar("Night Train"), "projection 2 of the store cannot be used")
    assert shop.state() == before

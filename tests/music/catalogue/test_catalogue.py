import fcntl
import json
import os
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand._util.atomic_files import sync
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.catalogue import catalogue, columns
from bandstand.music.catalogue.catalogue import Catalogue, catalogue_of, load_catalogue
from bandstand.music.catalogue.columns import _COLUMNS, SongColumns, discard, opened, saved
from bandstand.music.catalogue.refresh import refreshed
from bandstand.store.database.connection import Store, open_store
from bandstand.store.songs import changes as song_changes
from bandstand.store.songs import songs
from bandstand.store.songs.save_analysis import record_analyses
from bandstand.store.songs.songs import SongRecord, facts_of
from bandstand.types import AnyArray
from tests.fixtures.music.descriptor_tables import library
from tests.fixtures.radio.catalogues import features, matrix, record, song_id
from tests.fixtures.store.examples import analysis
from tests.fixtures.store.library_changes import Event, events, happen

DESCRIPTORS = library(1, 40)


@pytest.fixture
def music(tmp_path: Path) -> Iterator[Store]:
    """A store for songs; that it may be on PostgreSQL is for the tests of the store to try."""
    with open_store(str(tmp_path / "radio.db")) as opened:
        yield opened


def add(store: Store, first: int, last: int, *, version: int = VERSION) -> None:
    found = [
        (b"/music/%d.mp3" % row, analysis(row, descriptors=DESCRIPTORS[row], version=version))
        for row in range(first, last)
    ]
    with store.writing() as connection:
        record_analyses(connection, found, scan=1, now=1)


def test_an_empty_library_is_an_empty_catalogue(music: Store) -> None:
    empty = load_catalogue(music)
    assert len(empty) == 0
    assert empty.named is None
    assert empty.sound is None
    assert empty.rows_of("artist", "The Band").tolist() == []


def test_a_catalogue_has_the_projected_features_and_a_column_of_ones(music: Store) -> None:
    add(music, 0, 30)
    stored = refreshed(music, now=1)
    found = load_catalogue(music)
    assert stored is not None
    assert found.named is not None
    assert found.ids == tuple(sorted(found.ids))
    assert found.named.song_features.features[:, :-1] == pytest.approx(stored.features)
    assert (found.named.song_features.features[:, -1] == 1).all()
    assert found.has_features.all()
    assert found.stamp["projection"] == 1
    assert found.minutes == pytest.approx([record.duration / 60 for record in _records(music)])


def test_songs_of_other_descriptors_are_playable_without_features(music: Store) -> None:
    add(music, 0, 20)
    refreshed(music, now=1)
    add(music, 20, 25, version=VERSION + 1)
    found = load_catalogue(music)
    assert len(found) == 25
    assert found.has_features.sum() == 20
    assert found.named is not None
    assert (found.named.song_features.features[~found.has_features] == 0).all()


def test_features_of_songs_that_are_gone_are_those_they_had_on_the_catalogue(music: Store) -> None:
    add(music, 0, 20)
    refreshed(music, now=1)
    found = load_catalogue(music)
    assert found.named is not None
    known, groups = found.songs_of(found.ids), found.named.song_features.groups
    assert groups is not None
    assert tuple(known) == tuple(found.ids)
    rows = np.stack([song.features for song in known.values()])
    assert (rows == found.named.song_features.features[:, :-1]).all()
    each = np.hstack([song.groups.stacked() for song in known.values()])
    assert (each == groups.stacked()).all()
    assert found.songs_of(["no such song"]) == {}
    assert catalogue_of([record(0)]).songs_of([song_id(0)]) == {}


def test_bans_mean_songs_by_folded_names() -> None:
    found = catalogue_of(
        [
            record(0, artist="Björk", genre="Pop/Rock"),
            record(1, artist="Guest", album_artist="BJÖRK"),
            record(2, artist="Bjo\u0308rk feat. Thom", genre="Art-Pop; rock"),
            record(3, artist="Bjorn", album="Debut"),
            record(4, artist=None, album=" debut ", genre=None),
        ]
    )
    assert found.rows_of("artist", "björk").tolist() == [0, 1, 2]
    assert found.rows_of("genre", "ROCK").tolist() == [0, 2]
    assert found.rows_of("genre", "pop/rock").tolist() == [0]
    assert found.rows_of("album", "Debut").tolist() == [3, 4]
    assert found.rows_of("song", song_id(3)).tolist() == [3]
    assert found.rows_of("song", "no such song").tolist() == []
    assert found.artist_codes.tolist() == [0, 1, 0, 2, -1]


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan"), 1e300, 1e-300])
def test_any_length_is_a_length_to_plan_with(seconds: float) -> None:
    [minutes] = catalogue_of([record(0, duration=seconds)]).minutes
    assert 0 < minutes <= 1_440


def test_a_damaged_row_of_features_is_as_good_as_none() -> None:
    rows = features(4)
    rows[1, 2], rows[3, 0] = np.nan, 1e30
    with np.errstate(all="raise"):
        found = catalogue_of([record(row) for row in range(4)], matrix(rows))
    assert found.has_features.tolist() == [True, False, True, False]
    assert catalogue_of([record(8)], matrix(rows)).named is None
    assert found.named is not None
    assert np.isfinite(found.named.song_features.features).all()


def _records(store: Store) -> list[SongRecord]:
    with store.reading() as connection:
        return list(songs.present(connection))


def test_how_much_music_there_is() -> None:
    written: list[dict[str, str | None]] = [
        {"artist": "Björk", "album": "Hits", "genre": "Rock/Pop"},
        {"artist": "BJÖRK", "album": "hits", "genre": "pop"},
        {"artist": "Abba", "album": "Hits", "genre": None},
        {"artist": None, "album": "Hits", "album_artist": "ABBA", "genre": "Jazz"},
        {"artist": None, "album": None, "genre": ";"},
    ]
    found = catalogue_of([record(row, **tags) for row, tags in enumerate(written)]).tally
    assert (found.songs, found.artists, found.albums, found.genres) == (5, 2, 2, 3)
    assert found.duration == 1_000.0
    nothing = catalogue_of([]).tally
    assert (nothing.songs, nothing.artists, nothing.duration) == (0, 0, 0)


# ── Many songs, in little memory ─────────────────────────────────────────────────────────


def test_features_and_ids_are_the_mapped_files_themselves(music: Store) -> None:
    add(music, 0, 30)
    refreshed(music, now=1)
    found = load_catalogue(music)
    assert found.named is not None
    assert found.sound is not None
    stored = found.named.song_features.features
    assert stored.dtype == np.float32
    assert isinstance(_owner(stored), np.memmap)
    assert isinstance(_owner(found.columns.ids), np.memmap)
    for view in (found.named, found.sound, found.sound.without_constant):
        assert np.shares_memory(view.song_features.features, stored)
        assert np.shares_memory(view.table.single, stored)


def _owner(array: AnyArray) -> object:
    base: object = array
    while isinstance(base, np.ndarray) and isinstance(base.base, np.ndarray):
        base = base.base
    return base


def test_a_song_takes_few_bytes_besides_its_features() -> None:
    count = 20_000
    rows = matrix(np.zeros((count, 1), dtype=np.float32))
    songs = [facts_of(record(row)) for row in range(count)]  # of 2,000 artists and 4,000 albums
    tracemalloc.start()
    try:
        found = Catalogue.of(SongColumns.of(songs), rows).warmed()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(found) == count
    assert kept < 300 * count


def state(found: Catalogue) -> list[object]:
    """Return all that a catalogue says, but for numbers that only tell names apart."""
    rows = range(len(found))
    spelt = found.columns.names.artists
    artists = [spelt[code] for code in found.columns.artist.tolist()]
    names = sorted({str(name) for name in artists} | {"A song", "Artist 2"})
    features = None if found.named is None else found.named.song_features.features.tobytes()
    return [
        tuple(found.ids),
        features,
        found.has_features.tolist(),
        found.minutes.tolist(),
        artists,
        found.columns.year.tolist(),
        [found.genres_of(row) for row in rows],
        _same(found.artist_codes),
        _same(found.recording_codes),
        [found.rows_of("artist", name).tolist() for name in names],
        found.ids.rows([*found.ids, "no such song"]).tolist(),
        found.tally,
        dict(found.stamp),
        found.changes,
    ]


def _same(codes: AnyArray) -> list[list[bool]]:
    """Return which songs have the same number; −1 is none."""
    equal: list[list[bool]] = ((codes[:, None] == codes) & (codes >= 0)).tolist()
    return equal


@settings(max_examples=10)
@given(st.lists(events, min_size=1, max_size=3))
def test_a_catalogue_that_follows_is_the_one_loaded_from_scratch(life: list[list[Event]]) -> None:
    with TemporaryDirectory() as folder, open_store(str(Path(folder) / "radio.db")) as store:
        add(store, 20, 40)
        refreshed(store, now=1)
        found = load_catalogue(store)
        for some in life:
            with store.writing() as connection:
                for event in some:
                    happen(connection, event, DESCRIPTORS)
            refreshed(store, now=2)
            found = load_catalogue(store, found)
            assert state(found) == state(load_catalogue(store))


def test_a_follower_without_changes_is_seen(music: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add(music, 0, 20)
    before = load_catalogue(music)
    rename = [(b"/music/3.mp3", analysis(3, descriptors=DESCRIPTORS[3], title="Other", artist="X"))]
    with music.writing() as connection:
        record_analyses(connection, rename, scan=1, now=1)
    monkeypatch.setattr(song_changes, "changed", lambda *_: [])
    assert state(load_catalogue(music, before)) != state(load_catalogue(music))
    monkeypatch.undo()
    assert state(load_catalogue(music, before)) == state(load_catalogue(music))
    assert before.rows_of("artist", "X").tolist() == []  # a name that came later


def test_only_what_has_changed_is_read(music: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add(music, 0, 30)
    before = load_catalogue(music)
    add(music, 30, 33)
    expected = state(load_catalogue(music))
    monkeypatch.setattr(songs, "facts", None)
    assert state(load_catalogue(music, before)) == expected


# ── The columns in a file ────────────────────────────────────────────────────────────────


def known(count: int) -> SongColumns:
    records = [
        record(
            row, artist="Bj\u00f6rk \u266b" if row % 3 else None, year=1990 + row if row else None
        )
        for row in range(count)
    ]
    return replace(SongColumns.of(map(facts_of, records)), store="this one", changes=7)


@pytest.mark.parametrize("count", [0, 1, 50])
def test_what_was_saved_comes_back(tmp_path: Path, count: int) -> None:
    before = known(count)
    mapped = saved(tmp_path, before)
    if not count:
        assert mapped is before
        assert opened(tmp_path) is None  # nothing is not worth a file
        return
    assert mapped.names is before.names
    assert mapped.artist.tolist() == before.artist.tolist()
    found = opened(tmp_path)
    assert found is not None
    assert (found.store, found.changes, len(found)) == ("this one", 7, count)
    for name in _COLUMNS:
        array = getattr(found, name)
        assert array.tobytes() == getattr(before, name).tobytes()
        assert not array.flags.writeable
    for name in ("artists", "albums", "genres"):
        assert list(getattr(found.names, name)) == list(getattr(before.names, name))
    assert [it.name for it in tmp_path.iterdir()] == ["shelf.columns"]
    discard(tmp_path)
    discard(tmp_path)
    assert opened(tmp_path) is None


def _before_there_were_artist_ids(path: Path) -> None:
    content = path.read_bytes()
    assert content[:8] == b"BSCOLS\x00\x03"
    path.write_bytes(b"BSCOLS\x00\x02" + content[8:])


def _described(path: Path, **changes: object) -> None:
    content = path.read_bytes()
    length = int.from_bytes(content[8:16], "little")
    about = json.loads(content[16 : 16 + length]) | changes
    text = json.dumps(about).encode()
    start = content[:8] + len(text).to_bytes(8, "little") + text
    rest = content[16 + length + -(16 + length) % 64 :]
    path.write_bytes(start + bytes(-len(start) % 64) + rest)


DAMAGES: list[Callable[[Path], object]] = [
    lambda path: path.write_bytes(path.read_bytes()[:-64]),
    lambda path: path.write_bytes(path.read_bytes() + bytes(64)),
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(b"\x93NUMPY\x01\x00" + path.read_bytes()[8:]),
    _before_there_were_artist_ids,
    Path.unlink,
    lambda path: path.write_bytes(os.urandom(5_000)),
    lambda path: _described(path, artists=[]),
    lambda path: _described(path, genres=[1, 2, 3]),
    lambda path: _described(path, albums=None),
    lambda path: _described(path, songs=10**9),
    lambda path: _described(path, songs="20"),
    lambda path: _described(path, songs=2),
    lambda path: _described(path, songs=20.0),
    lambda path: _described(path, songs=10**30),
    lambda path: _described(path, changes="7"),
    lambda path: _described(path, changes=None),
    lambda path: _described(path, changes=True),
    lambda path: _described(path, changes=7.5),
    lambda path: _described(path, changes=-(10**30)),
    lambda path: _described(path, store=7),
    lambda path: _described(path, store=["this one"]),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_counts_as_absent(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    saved(tmp_path, known(20))
    damage(tmp_path / "shelf.columns")
    assert opened(tmp_path) is None


def test_a_place_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    one = known(3)
    assert saved(tmp_path / "nowhere", one) is one
    assert opened(tmp_path / "nowhere") is None


def test_the_file_is_its_owners_alone_whatever_others_may(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        saved(tmp_path, known(3))
    finally:
        os.umask(before)
    assert (tmp_path / "shelf.columns").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("next_step", [lambda folder: saved(folder, known(3)), discard])
def test_what_a_killed_writer_left_is_removed_and_what_is_being_written_stays(
    tmp_path: Path, next_step: Callable[[Path], object]
) -> None:
    for name in (".shelf.columns.4711", ".shelf.columns.left", ".shelf.columns.live", "radio.db"):
        (tmp_path / name).write_bytes(b"half of it")
    with (tmp_path / ".shelf.columns.live").open("rb") as live:
        fcntl.flock(live, fcntl.LOCK_EX)
        next_step(tmp_path)
    there = {it.name for it in tmp_path.iterdir()} - {"shelf.columns"}
    assert there == {".shelf.columns.live", "radio.db"}


def test_two_who_write_at_once_do_not_remove_what_the_other_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def and_then_another(file: BinaryIO) -> None:
        monkeypatch.setattr(columns, "sync", sync)
        saved(tmp_path, known(5))
        sync(file)

    monkeypatch.setattr(columns, "sync", and_then_another)
    saved(tmp_path, known(3))
    found = opened(tmp_path)
    assert found is not None
    assert len(found) == 3  # who ends last
    assert [it.name for it in tmp_path.iterdir()] == ["shelf.columns"]


@settings(max_examples=10)
@given(events)
def test_a_catalogue_from_the_file_is_the_one_read_from_the_store(life: list[Event]) -> None:
    with (
        pytest.MonkeyPatch.context() as patched,
        TemporaryDirectory() as folder,
        open_store(str(Path(folder) / "radio.db")) as store,
    ):
        add(store, 0, 40)
        store.location.data_folder.mkdir()
        patched.setattr(catalogue, "_MIN_SAVED_SONGS", 1)
        load_catalogue(store)
        assert (store.location.data_folder / "shelf.columns").exists()
        with store.writing() as connection:
            for event in life:
                happen(connection, event, DESCRIPTORS)
        patched.setattr(catalogue, "_MIN_SONGS_PER_CHANGE", 1)
        with pytest.MonkeyPatch.context() as strict:
            strict.setattr(songs, "facts", None)  # all songs are not read again
            found = load_catalogue(store)
        discard(store.location.data_folder)
        assert state(found) == state(load_catalogue(store))

"""From the songs of a store to one projected matrix beside it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand._util.array_archive import packed
from bandstand.core.model.curved_columns import COLUMNS
from bandstand.errors import InvalidInputError, StoreError
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.audio.projection import Projection, fit
from bandstand.music.catalogue import matrix
from bandstand.music.catalogue import refresh as catalogue
from bandstand.music.catalogue.design import Design
from bandstand.music.catalogue.matrix import FeatureMatrix
from bandstand.music.catalogue.refresh import check_projection, current, refreshed
from bandstand.store.database.connection import Store, open_store
from bandstand.store.songs import projections, songs
from bandstand.store.songs import save_analysis as recording
from bandstand.store.songs.changes import note_song_change as count
from bandstand.store.songs.projections import ProjectionRecord
from bandstand.store.songs.save_analysis import record_analyses
from bandstand.types import Matrix
from tests.fixtures.music.descriptor_tables import library
from tests.fixtures.store.examples import analysis
from tests.fixtures.store.library_changes import Event, events, happen

DESCRIPTORS = library(1, 1_000)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "radio.db")) as opened:
        yield opened


def add(
    store: Store, first: int, last: int, *, version: int = VERSION, genre: str | None = "Ambient"
) -> None:
    """Put songs into the store, with the descriptors of these rows."""
    found = [
        (
            b"/music/%d.mp3" % row,
            analysis(row, descriptors=DESCRIPTORS[row], version=version, genre=genre),
        )
        for row in range(first, last)
    ]
    with store.writing() as connection:
        record_analyses(connection, found, scan=1, now=1)


def made(store: Store, **options: Any) -> FeatureMatrix:
    found = refreshed(store, now=2, **options)
    assert found is not None
    return found


def stored(store: Store) -> ProjectionRecord:
    with store.reading() as connection:
        latest = projections.latest(connection)
    assert latest is not None
    return latest


def raw(store: Store) -> tuple[list[str], Matrix]:
    """Return the ids and descriptors of all songs that are present."""
    with store.reading() as connection:
        rows = list(songs.described(connection, VERSION))
    return [song.id for song in rows], np.array([song.descriptors for song in rows])


def assert_projected(store: Store, found: FeatureMatrix) -> None:
    """Check that a catalogue holds the present songs, projected by what is stored."""
    design = Design.from_bytes(stored(store).content)
    with store.reading() as connection:
        rows = list(songs.described(connection, VERSION))
    assert [found.id_of(row) for row in range(len(found))] == [song.id for song in rows]
    assert found.first_sound == design.meaning.first_sound
    assert found.features.tobytes() == design.rows(rows).astype("<f4").tobytes()


# ── Made when it is stale ────────────────────────────────────────────────────────────────


def test_without_songs_there_is_no_catalogue_and_nothing_is_fitted(store: Store) -> None:
    assert refreshed(store, now=1) is None
    assert refreshed(store, now=1, refit=True) is None
    check_projection(store)
    with store.reading() as connection:
        assert projections.latest(connection) is None
    assert not store.location.data_folder.exists()


@pytest.mark.parametrize("count", [1, 2, 3, 150])
def test_the_first_songs_fit_the_projection(store: Store, count: int) -> None:
    add(store, 0, count)
    found = made(store)
    assert len(found) == count
    assert_projected(store, found)
    assert (stored(store).version, stored(store).songs) == (1, count)
    assert found.stamp["projection"] == 1


def test_of_very_many_songs_each_kth_is_used(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_MAX_FITTED_SONGS", 40)
    add(store, 0, 150)
    found = made(store)
    assert stored(store).songs == 38  # every fourth of 150
    assert len(found) == 150
    assert_projected(store, found)
    _, descriptors = raw(store)
    fitted = Design.from_bytes(stored(store).content).projection
    assert (fitted.components == fit(descriptors[::4]).components).all()


@pytest.mark.parametrize("name", ["features.npy", "ids.npy", "stamp.json", ""])
def test_a_damaged_or_deleted_catalogue_is_made_again(store: Store, name: str) -> None:
    add(store, 0, 150)
    content = made(store).features.tobytes()
    if name:
        (path,) = store.location.data_folder.glob(f"*/{name}")
        path.write_bytes(path.read_bytes()[:-2])
    else:
        shutil.rmtree(store.location.data_folder)
    assert made(store).features.tobytes() == content
    assert_projected(store, made(store))
    assert stored(store).version == 1


def test_a_place_that_cannot_be_written_is_named(store: Store) -> None:
    add(store, 0, 10)
    store.location.data_folder.write_bytes(b"in the way")
    with pytest.raises(StoreError, match=r"catalogue must be written to .*radio\.db\.catalogue"):
        made(store)


# ── Fitted once, and again when asked ────────────────────────────────────────────────────


def test_few_songs_fit_for_the_time_being_only(store: Store) -> None:
    add(store, 0, 40)
    made(store)
    add(store, 40, 79)
    assert_projected(store, made(store))
    assert (stored(store).version, stored(store).songs) == (1, 40)
    add(store, 79, 80)
    assert_projected(store, made(store))
    assert (stored(store).version, stored(store).songs) == (2, 80)
    add(store, 80, 160)
    assert_projected(store, made(store))
    assert (stored(store).version, stored(store).songs) == (3, 160)
    add(store, 160, 1_000)
    assert_projected(store, made(store))
    assert (stored(store).version, stored(store).songs) == (4, 160)  # for the tags alone


def test_tags_have_columns_that_are_chosen_again_when_the_library_has_doubled(store: Store) -> None:
    add(store, 0, 150, genre="Rock")
    made(store)
    assert tags(store) == ("rock",)
    add(store, 150, 299, genre="Jazz")
    assert_projected(store, made(store))
    assert tags(store) == ("rock",)
    add(store, 299, 300, genre="Jazz")
    assert_projected(store, made(store))
    assert tags(store) == ("jazz", "rock")
    assert (stored(store).version, stored(store).songs) == (2, 150)


def tags(store: Store) -> tuple[str, ...]:
    return Design.from_bytes(stored(store).content).tags


def test_a_projection_without_tags_gets_them_at_the_end_of_the_next_scan(store: Store) -> None:
    add(store, 0, 150, genre="Rock")
    made(store)
    projection = Design.from_bytes(stored(store).content).projection
    with store.writing() as connection:
        projections.save(
            connection,
            descriptor_version=VERSION,
            songs=150,
            columns=projection.columns,
            content=packed(projection.arrays()),
            now=3,
        )
    before = current(store)
    assert before is not None
    assert before.first_sound == COLUMNS
    assert_projected(store, made(store))
    assert tags(store) == ("rock",)


def test_the_same_songs_give_the_same_catalogue_bit_by_bit(store: Store, tmp_path: Path) -> None:
    add(store, 0, 300)
    with open_store(str(tmp_path / "other.db")) as other:
        for first in (200, 100, 0):
            add(other, first, first + 100)
        one, two = made(store), made(other)
    assert one.ids.tolist() == two.ids.tolist()
    assert one.features.tobytes() == two.features.tobytes()


# ── What does not fit ────────────────────────────────────────────────────────────────────


def test_descriptor_versions_are_never_mixed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add(store, 0, 150)
    made(store)
    newer = VERSION + 1
    add(store, 100, 250, version=newer)
    monkeypatch.setattr(catalogue, "VERSION", newer)
    monkeypatch.setattr(
        catalogue, "fit", lambda rows, **options: fit(rows, version=newer, **options)
    )
    monkeypatch.setattr(Projection, "apply", _applied_whatever_the_version(newer, Projection.apply))
    found = made(store)
    assert len(found) == 150
    assert (stored(store).version, stored(store).descriptor_version) == (2, newer)


def _applied_whatever_the_version(version: int, apply: Any) -> Any:
    return lambda projection, rows: apply(projection, rows, version=version)


DAMAGED = [b"", b"rubbish", Design(projection=fit(DESCRIPTORS[:150])).to_bytes()[:-50]]
FOREIGN = [Design(projection=fit(DESCRIPTORS[:150], version=VERSION + 5)).to_bytes()]


@pytest.mark.parametrize("content", [*DAMAGED, *FOREIGN])
def test_a_projection_that_does_not_fit_needs_a_refit(store: Store, content: bytes) -> None:
    add(store, 0, 150)
    with store.writing() as connection:
        projections.save(
            connection,
            descriptor_version=VERSION,
            songs=150,
            columns=10,
            content=content,
            now=1,
        )
    with pytest.raises(InvalidInputError, match="projection 1 of the store cannot be used"):
        check_projection(store)
    with pytest.raises(InvalidInputError, match="projection 1 of the store cannot be used"):
        refreshed(store, now=2)
    assert not store.location.data_folder.exists()
    assert_projected(store, made(store, refit=True))
    assert stored(store).version == 2
    check_projection(store)


# ── Only what has changed ────────────────────────────────────────────────────────────────


def built_again(store: Store) -> FeatureMatrix:
    """Return the catalogue as it is made where there is none."""
    matrix.discard(store.location.data_folder)
    return made(store)


@settings(max_examples=10)
@given(st.lists(events, min_size=1, max_size=3))
def test_what_was_brought_up_to_date_is_what_would_be_made_anew(life: list[list[Event]]) -> None:
    with (
        TemporaryDirectory() as folder,
        open_store(str(Path(folder) / "radio.db")) as store,
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr(catalogue, "_BLOCK_SONGS", 3)
        add(store, 200, 320)  # enough that no projection is provisional
        made(store)
        for some in life:
            with store.writing() as connection:
                for event in some:
                    happen(connection, event, DESCRIPTORS)
            found = made(store)
            followed = found.ids.tobytes(), found.table.tobytes(), found.stamp
            whole = built_again(store)
            assert followed == (whole.ids.tobytes(), whole.table.tobytes(), whole.stamp)


def test_a_damaged_row_is_not_carried_over(store: Store) -> None:
    add(store, 0, 150)
    made(store)
    (path,) = store.location.data_folder.glob("*/features.npy")
    with path.open("r+b") as file:
        file.seek(128)
        file.write(np.full(3, np.nan, dtype="<f4").tobytes())
    add(store, 150, 151)
    assert_projected(store, made(store))


def test_a_change_that_was_not_noted_is_found_by_the_count(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, 0, 150)
    made(store)
    with monkeypatch.context() as patched:
        patched.setattr(recording, "note_changes", lambda connection, *_, **__: count(connection))
        add(store, 150, 160)
    found = made(store)
    assert len(found) == 160
    assert_projected(store, found)

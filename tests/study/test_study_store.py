"""A study is opened once; what it was opened with never changes, nor do its songs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bandstand._util.array_archive import packed
from bandstand.errors import ConflictError, InvalidInputError, NotFoundError, StoreError
from bandstand.music.catalogue.catalogue import load_catalogue
from bandstand.store import studies
from bandstand.store.database.connection import Store
from bandstand.store.studies import StudyRow
from bandstand.study.records import SongSnapshot, from_bytes, to_bytes
from bandstand.study.study_store import design_of, open_study, study_data
from bandstand.types import AnyArray
from tests.fixtures.study.participants import Clock, Study, served, short_design

ids = st.lists(st.text("0123456789abcdef", min_size=16, max_size=16), min_size=1, unique=True)


def rows(store: Store) -> list[StudyRow]:
    with store.reading() as connection:
        return studies.all_studies(connection)


def test_the_songs_are_frozen_as_the_radio_has_them(full: Store) -> None:
    shelf = load_catalogue(full)
    row = open_study(full, shelf, short_design(), clock=Clock())
    songs = from_bytes(row.catalogue)
    assert songs.ids == shelf.ids
    assert shelf.sound is not None
    assert np.array_equal(songs.features, shelf.sound.song_features.features.astype(np.float32))
    assert (songs.features[:, -1] == 1).all()
    assert design_of(row) == short_design()


def test_a_study_that_is_opened_again_goes_on(full: Store) -> None:
    clock = Clock()
    first = open_study(full, load_catalogue(full), short_design(), clock=clock)
    clock.now += 1_000
    assert open_study(full, load_catalogue(full), short_design(), clock=clock) == first
    assert rows(full) == [first]


def test_another_design_under_the_same_title_is_refused_and_changes_nothing(full: Store) -> None:
    first = open_study(full, load_catalogue(full), short_design(), clock=Clock())
    changed = short_design(rest_seconds=10, seed=2)
    words = (
        "the study 'Short' must keep the design that it was opened with, got another: "
        "rest_seconds is 10 instead of 240; seed is 2 instead of 1"
    )
    with pytest.raises(InvalidInputError, match=words):
        open_study(full, load_catalogue(full), changed, clock=Clock())
    assert rows(full) == [first]


def test_too_few_songs_are_refused_and_nothing_is_opened(full: Store) -> None:
    words = "the study 'Short' must have at least 31 analysed songs, got 30"
    with pytest.raises(InvalidInputError, match=words):
        open_study(full, load_catalogue(full), short_design(least_songs=31), clock=Clock())
    assert rows(full) == []


def test_a_store_without_songs_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInputError, match="at least 10 analysed songs, got 0"):
        open_study(store, load_catalogue(store), short_design(), clock=Clock())


def test_only_one_study_is_open(full: Store) -> None:
    open_study(full, load_catalogue(full), short_design(), clock=Clock())
    with pytest.raises(ConflictError, match="'Short' is"):
        open_study(full, load_catalogue(full), short_design(title="Other"), clock=Clock())


def test_a_closed_study_is_not_opened_again(study: Study) -> None:
    study.close()
    with pytest.raises(InvalidInputError, match="must be open, got one that was closed"):
        open_study(study.store, study.radio.catalogue, study.design, clock=study.clock)
    (found,) = rows(study.store)
    assert found.closed_at == study.clock()
    with served(study.store, short_design(title="Next")) as after:
        assert after.id != study.id


def test_a_study_that_does_not_exist_is_not_found(full: Store) -> None:
    with pytest.raises(NotFoundError, match="there must be a study with that id"):
        study_data(full, "0" * 16)


# ── Songs as bytes ───────────────────────────────────────────────────────────────────────


@given(ids, st.data())
def test_songs_survive_as_bytes(names: list[str], data: st.DataObject) -> None:
    shape = (len(names), data.draw(st.integers(1, 5)))
    numbers = st.floats(-(2.0**19), 2.0**19, width=32)
    features: AnyArray = data.draw(arrays(np.float32, shape, elements=numbers))
    songs = SongSnapshot.of(names, features)
    assert from_bytes(to_bytes(songs)) == songs
    assert to_bytes(from_bytes(to_bytes(songs))) == to_bytes(songs)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK",
        to_bytes(SongSnapshot.of(["a"], [[1.0]]))[:-1],
        packed({"ids": np.array(["a"])}),
        packed({"ids": np.array(["a", "b"]), "features": np.ones((1, 2), dtype=np.float32)}),
        packed({"ids": np.array(["a", "a"]), "features": np.ones((2, 2), dtype=np.float32)}),
        packed({"ids": np.array(["a"]), "features": np.ones((1, 2))}),
        packed({"ids": np.array(["a"]), "features": np.full((1, 2), np.nan, dtype=np.float32)}),
        packed({"ids": np.array(["a"]), "features": np.full((1, 2), 1e30, dtype=np.float32)}),
    ],
)
def test_alien_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(StoreError, match="the songs of a study must be whole, got"):
        from_bytes(content)


# ── Everything for the report ────────────────────────────────────────────────────────────


def test_what_was_rated_is_gathered(study: Study) -> None:
    person, other = study.person(), study.person()
    for each in (person, other):
        each.joins()
    study.invited()
    shown = person.hears(person.begins(), stars=5)
    person.asks(shown.arm)  # a song that waits is no record
    data = study_data(study.store, study.id)
    (record,) = data.records
    (row, _) = person.songs(shown.arm)
    with study.store.reading() as connection:
        own = studies.participant(connection, study.id, person.account)
    assert own is not None
    assert (record.participant, record.place, record.number) == (own.number, 1, 1)
    assert record.algorithm == person.arms[0].algorithm
    assert (record.song, record.stars, record.known) == (shown.song.id, 5, False)
    assert (record.offered_at, record.rated_at) == (shown.offered_at, shown.may_rate_at)
    assert (record.played_seconds, record.choose_seconds) == (1_000.0, row.choose_ms / 1_000)
    assert [one.number for one in data.participants] == [1, 2]
    assert (data.design, data.study, data.simulated) == (study.design, study.id, False)
    assert data.catalogue.ids == study.radio.catalogue.ids


def test_a_study_in_which_nobody_is_has_no_records(study: Study) -> None:
    data = study_data(study.store, study.id)
    assert (data.records, data.participants) == ((), ())


def test_whoever_withdraws_is_not_gathered(study: Study) -> None:
    person = study.participant()
    person.hears(person.begins())
    study.close()
    assert len(study_data(study.store, study.id).records) == 1
    study.service.withdraw(person.account).result()
    data = study_data(study.store, study.id)
    assert (data.records, data.participants) == ((), ())

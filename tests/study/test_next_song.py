"""What an arm learns: exactly its own ratings, at once, as the plain algorithm would."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from bandstand.core.model.priors import radio_prior
from bandstand.core.recommender import Recommender
from bandstand.core.registry import WITHOUT_NAMES
from bandstand.errors import InvalidInputError
from bandstand.music.catalogue.catalogue import load_catalogue
from bandstand.store import studies
from bandstand.store.database.connection import Store, open_store
from bandstand.store.studies import ArmRow
from bandstand.study import study_store
from bandstand.study.design import PAPER_ALGORITHMS
from bandstand.study.next_song import ArmCache, CachedArm
from bandstand.study.records import SongSnapshot, from_bytes
from bandstand.study.service import StudyService
from bandstand.study.study_store import open_study, study_data, unreadable_studies
from tests.fixtures.study.participants import (
    HOUR,
    Clock,
    Person,
    Study,
    add_songs,
    served,
    short_design,
)

# Those for which learning one by one ends where learning all at once does.
ONLINE = ("random", "linucb-c", "linucb-cn", "bayes-ucb-cn-x", "thompson-cn-x")
LONG = {"ratings_per_arm": 100, "rest_seconds": 0, "gap_hours": 0, "arms_per_day": 10}


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Store]:
    """A store with songs; what is learned does not depend on the database."""
    with open_store(str(tmp_path / "radio.db")) as store:
        add_songs(store)
        yield store


def place_of(person: Person, algorithm: str) -> int:
    return next(row.place for row in person.arms if row.algorithm == algorithm)


def arm_of(study: Study, person: Person, algorithm: str) -> str:
    """Return a participant's arm, begun out of their order: this is not about rules."""
    arm = person.arms[place_of(person, algorithm) - 1].id
    with study.store.writing() as connection:
        studies.begin(connection, arm, study.clock())
    return arm


def frozen(study: Study) -> SongSnapshot:
    with study.store.reading() as connection:
        row = studies.get(connection, study.id)
    assert row is not None
    return from_bytes(row.catalogue)


def by_hand(study: Study, person: Person, arm: str) -> Recommender:
    """Return the plain algorithm that has learned what the store has, one after the other."""
    row = next(row for row in person.arms if row.id == arm)
    songs = frozen(study)
    plain = Recommender(
        features=songs.features,
        ids=songs.ids,
        raw=True,
        prior=radio_prior(songs.features.shape[1]),
        algorithm=row.algorithm,
        seed=row.seed,
    )
    for song in person.songs(arm):
        if song.stars is not None:
            plain.update(song.song, song.stars, Decimal(song.rated_at or 0) / 1_000)
    return plain


@pytest.mark.parametrize("algorithm", PAPER_ALGORITHMS)
def test_an_arm_plays_what_its_algorithm_would(full: Store, algorithm: str) -> None:
    other = "greedy-cn-x"
    with served(full, short_design(algorithms=(algorithm, other), **LONG)) as study:
        person = study.participant()
        arm = arm_of(study, person, algorithm)
        with np.errstate(all="raise"):
            for stars in (5, 1, 3, 5, 2, 4, 5):
                expected = by_hand(study, person, arm)
                at = Decimal(study.clock.now + 3_000) / 1_000
                shown = person.hears(arm, stars)
                assert shown.song.id == expected.recommend(1, at=at)[0]
                study.clock.now += HOUR // 7


@pytest.mark.parametrize("algorithm", ONLINE)
def test_a_new_process_plays_the_same(full: Store, algorithm: str) -> None:
    with served(full, short_design(algorithms=(algorithm, "greedy-cn-x"), **LONG)) as study:
        person = study.participant()
        arm = arm_of(study, person, algorithm)
        for turn in range(12):
            person.hears(arm, 1 + turn % 5)
        cache = study.service._chooser._cache
        with study.store.reading() as connection:
            said = studies.songs_of(connection, arm)
        row = next(row for row in person.arms if row.id == arm)
        at = Decimal(study.clock.now + HOUR) / 1_000
        songs = frozen(study)
        with cache.locked(arm, person.account) as cached, ArmCache().locked(arm, "") as fresh:
            kept, made = (each.updated(row, songs, said) for each in (cached, fresh))
        assert kept is cached.recommender
        assert kept.answers == made.answers
        assert kept.recommend(5, at=at) == made.recommend(5, at=at)


def test_an_arm_of_a_retired_algorithm_goes_on_with_the_default(
    full: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = short_design(algorithms=("bayes-ucb-cnd-v", WITHOUT_NAMES), **LONG)
    with pytest.raises(InvalidInputError, match="no retired algorithm, got bayes-ucb-cnd-v"):
        open_study(full, load_catalogue(full), design, clock=Clock())
    monkeypatch.setattr(study_store, "RETIRED", frozenset())  # opened by an earlier version
    with served(full, design) as study:
        person = study.participant()
        arm = arm_of(study, person, "bayes-ucb-cnd-v")
        for stars in (5, 1, 3):
            person.hears(arm, stars)
        row = next(row for row in person.arms if row.id == arm)
        assert (row.algorithm, row.rated) == ("bayes-ucb-cnd-v", 3)
        assert study_data(full, study.id).design == design
        assert list(unreadable_studies(full)) == []


def test_each_arm_starts_from_nothing(full: Store) -> None:
    with served(full, short_design(**LONG)) as study:
        person = study.participant()
        first, second = arm_of(study, person, "random"), arm_of(study, person, "greedy-cn")
        for _ in range(3):
            person.hears(first)
        person.hears(second)
        cache = study.service._chooser._cache
        with cache.locked(first, person.account) as one:
            assert one.recommender is not None
            assert len(one.recommender.history) == 2  # the third is learned for the fourth song
        with cache.locked(second, person.account) as other:
            assert other.recommender is not None
            assert len(other.recommender.history) == 0


def test_a_rating_does_no_work_of_the_model(full: Store) -> None:
    with served(full, short_design(**LONG)) as study:
        person, arm = study.listening()
        shown = person.asks(arm)
        study.clock.now = shown.may_rate_at
        cache = study.service._chooser._cache
        with cache.locked(arm, person.account) as cached:
            before = cached.recommender
            person.rates(arm, 1, 5)  # although another thread holds the model
            assert cached.recommender is before


def test_a_rescan_changes_nothing(full: Store) -> None:
    with served(full, short_design(**LONG)) as study:
        person, arm = study.listening()
        before = frozen(study)
        add_songs(study.store, 45)
        study.radio.refresh()
        assert len(study.radio.catalogue) == 45
        assert frozen(study) == before
        study.service = StudyService(study.store, study.radio, study.clock)
        heard = {person.hears(arm).song.id for _ in range(20)}
        assert heard <= set(before.ids)


def taken(cache: ArmCache, row: ArmRow, songs: SongSnapshot) -> int:
    """Return how much is kept of an arm without ratings."""
    with cache.locked(row.id, row.account) as cached:
        cached.updated(row, songs, [])
        return cached.nbytes


def test_the_cache_is_bounded(full: Store) -> None:
    with served(full, short_design(**LONG)) as study:
        songs = frozen(study)
        rows = []
        for _ in range(4):
            person = study.person()
            person.joins()
            rows += person.arms
        sizes = [size for row in rows if (size := taken(ArmCache(), row, songs))]
        assert len(sizes) == len(rows)
        cache = ArmCache(max_bytes=sum(sizes[-2:]))
        for row in rows:
            taken(cache, row, songs)
        assert len(cache) == 2
        cache.drop(rows[-1].account)
        assert len(cache) == 0


class Learning(CachedArm):
    """An arm that begins to learn, in another thread as it were, once it was read."""

    _kept: Recommender | None

    @property
    def recommender(self) -> Recommender | None:
        found, self._kept = self._kept, None
        return found

    @recommender.setter
    def recommender(self, made: Recommender | None) -> None:
        self._kept = made


def test_an_arm_may_learn_while_the_cache_is_counted() -> None:
    arm = Learning("arm", "account", recommender=Recommender(features=[[0.0], [1.0]]))
    assert arm.nbytes > 0
    assert arm.nbytes == 0


def test_a_store_that_was_restored_counts(full: Store) -> None:
    """A model is made again where the ratings are not those that it has learned."""
    with served(full, short_design(**LONG)) as study:
        person, arm = study.listening()
        for _ in range(3):
            person.hears(arm)
        row, said = person.arms[0], person.songs(arm)
        cache, songs = ArmCache(), frozen(study)
        with cache.locked(arm, person.account) as cached:
            assert len(cached.updated(row, songs, said).history) == 3
            assert len(cached.updated(row, songs, said[:2]).history) == 2
            assert len(cached.updated(row, songs, []).history) == 0


def test_what_fails_is_not_kept() -> None:
    cache = ArmCache()
    with pytest.raises(ZeroDivisionError), cache.locked("arm", "account"):
        raise ZeroDivisionError
    assert len(cache) == 0

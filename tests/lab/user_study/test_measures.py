"""Uncertainty, repetition and learned novelty of a study: as the engines themselves tell them."""

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bandstand import Recommender, radio_prior
from bandstand.core.model.history import Songs
from bandstand.core.model.novelty import novelty
from bandstand.errors import InvalidInputError
from bandstand.study.records import Record, SongSnapshot, StudyData
from bandstand.types import MONTH
from bandstand_lab.paper.novelty_learned import places
from bandstand_lab.statistics.rank_laws import Shape
from bandstand_lab.user_study.measures import (
    novelty_curves,
    plays,
    uncertainty,
    uncertainty_along,
)
from tests.fixtures.study.small import ONE, OTHER, drawn_stars, record, study


def rated(*counts: int) -> StudyData:
    """Return a study in which one algorithm was rated by each person, this often."""
    rng = np.random.default_rng(3)
    return study({(person, ONE): drawn_stars(rng, n) for person, n in enumerate(counts)})


def untrained(data: StudyData, algorithm: str) -> Recommender:
    """Return a model of the study's songs that has learned nothing."""
    return Recommender(
        features=data.catalogue.features,
        ids=data.catalogue.ids,
        raw=True,
        prior=radio_prior(3),
        algorithm=algorithm,
    )


# ── Uncertainty ──────────────────────────────────────────────────────────────────────────


def test_uncertainty_is_that_of_an_exact_model_told_one_rating_after_the_other() -> None:
    data = rated(9, 4)
    found = uncertainty(data, ONE, moments=(1, 4, 9))
    assert found is not None
    for row, records in zip(found.values, data.by_arm().values(), strict=True):
        radio = untrained(data, "bayes-ucb-cn-x")
        expected = {}
        for each in records:
            time = Decimal(each.rated_at) / 1_000
            radio.update(each.song, rating=each.stars, time=time)
            spread: Any = radio.predict().standard_deviation()
            expected[each.number] = spread.mean()
        for value, moment in zip(row, (1, 4, 9), strict=True):
            assert value == pytest.approx(expected.get(moment, np.nan), rel=1e-6, nan_ok=True)


def test_its_mean_and_error_are_over_those_who_got_so_far() -> None:
    with np.errstate(all="raise"):
        found = uncertainty(rated(10, 5, 7), ONE, moments=(1, 5, 10, 20))
    assert found is not None
    curve = found.curve
    assert curve.steps.tolist() == [1, 5, 10]
    assert curve.counts.tolist() == [3, 3, 1]
    assert found.people == (0, 1, 2)
    for column in (0, 1):
        assert curve.mean[column] == pytest.approx(found.values[:, column].mean())
        assert curve.standard_error[column] == pytest.approx(stats.sem(found.values[:, column]))
    assert curve.mean[2] == found.values[0, 2]
    assert np.isnan(curve.standard_error[2])
    assert curve.mean[0] > curve.mean[1] > curve.mean[2] > 0


def test_an_arm_that_was_not_begun_has_no_uncertainty() -> None:
    assert uncertainty(rated(2), OTHER, moments=(1,)) is None


def test_a_clock_that_was_set_back_is_no_obstacle() -> None:
    data = rated(6)
    back = tuple(
        replace(each, rated_at=each.rated_at - 10_000_000 * (each.number == 4))
        for each in data.records
    )
    assert np.isfinite(uncertainty_along(data.catalogue, back, [3, 6])).all()
    assert len(novelty_curves(replace(data, records=back), ONE)) == 1


# ── Repetition ───────────────────────────────────────────────────────────────────────────


def with_songs(songs: list[int]) -> StudyData:
    """Return a study in which one person was played these songs of a hundred."""
    data = study({(0, ONE): [3] * len(songs)}, ratings_per_arm=len(songs))
    names = [f"song {number}" for number in range(100)]
    return replace(
        data,
        catalogue=SongSnapshot.of(names, np.ones((100, 2))),
        records=tuple(
            replace(each, song=names[song]) for each, song in zip(data.records, songs, strict=True)
        ),
    )


def test_repetition_counts_what_came_back() -> None:
    played = plays(with_songs([4, 4, 4, 9, 9, 2]), ONE)
    (found,) = played.runs
    assert found.plays_by_rank.tolist() == [3.0, 2.0, 1.0]
    assert found.repeat_share == pytest.approx(0.5)
    assert found.slope is None  # three songs are no line
    assert played.algorithm == ONE


def test_plays_by_zipfs_law_are_recognised_and_equal_ones_are_not() -> None:
    falling = [song for song in range(60) for _ in range(round(120 / (song + 1)))]
    equal = list(range(100)) * 6
    (found,) = plays(with_songs(falling), ONE).runs
    assert found.shape is Shape.ZIPF
    assert found.slope == pytest.approx(-1.0, abs=0.1)
    assert plays(with_songs(equal), ONE).shape is Shape.OTHER


def test_songs_that_never_came_back_leave_the_shape_open() -> None:
    (found,) = plays(with_songs(list(range(30))), ONE).runs
    assert (found.repeat_share, found.shape) == (0.0, Shape.OPEN)
    assert plays(rated(3), OTHER).runs == ()


# ── Novelty ──────────────────────────────────────────────────────────────────────────────


def bored_listener(recovery: float) -> StudyData:
    """Return 200 ratings over two days of one who likes every song as long as it is new."""
    rng = np.random.default_rng(1)
    last: dict[str, float] = {}
    records: list[Record] = []
    now = 0.0
    for number in range(1, 201):
        now += float(rng.choice([3.0, 40.0]))
        base = record(0, ONE, 1, number, 3)
        elapsed = min(MONTH, now - last.get(base.song, -np.inf))
        stars = 5 * float(novelty(elapsed, recovery)) + rng.normal(0.0, 0.2)
        records.append(
            replace(base, stars=int(np.clip(round(stars), 1, 5)), rated_at=round(now * 60_000))
        )
        last[base.song] = now
    return replace(rated(1), records=tuple(records))


def untiring_listener() -> StudyData:
    """Return the same songs at the same moments, rated by one who never tires."""
    data, rng = bored_listener(60.0), np.random.default_rng(2)
    stars = np.clip(np.round(rng.normal(3.5, 0.8, len(data.records))), 1, 5)
    records = (replace(each, stars=int(n)) for each, n in zip(data.records, stars, strict=True))
    return replace(data, records=tuple(records))


def test_the_learned_curve_rises_as_the_listener_recovers() -> None:
    with np.errstate(all="raise"):
        (found,) = novelty_curves(bored_listener(60.0), ONE)
    assert found.minutes.tolist() == places().tolist()
    assert found.repeats.min() >= 3.0
    assert found.repeats.max() < MONTH
    # Between five and ninety per cent of the times after which songs came back.
    low, high = np.quantile(found.repeats, [0.05, 0.9])
    heard = (found.minutes >= low) & (found.minutes <= high)
    truth = np.maximum(novelty(found.minutes, 60.0), 0.2)  # there is no zero among five stars
    assert np.abs(found.mean - truth)[heard].max() < 0.15
    assert (found.standard_deviation > 0).all()


def test_it_is_the_novelty_that_the_engine_tells() -> None:
    data = bored_listener(300.0)
    (found,) = novelty_curves(data, ONE)
    radio = untrained(data, "bayes-ucb-cn-v")
    for each in data.records:
        radio.update(each.song, rating=each.stars, time=Decimal(each.rated_at) / 1_000)
    at = Decimal(data.records[-1].rated_at + 3_600_000) / 1_000
    elapsed = radio.elapsed(at=at)
    heard = elapsed < MONTH
    told = radio.predict(at=at).parts()["novelty"]
    expected = np.interp(elapsed[heard], found.minutes, found.mean)
    assert len(expected) > 2
    assert told[heard] == pytest.approx(expected, abs=0.01)
    assert (told[~heard] == 1.0).all()


def test_of_one_who_never_tires_nothing_parts_from_the_prior() -> None:
    tired, fresh = bored_listener(60.0), untiring_listener()
    assert [(each.song, each.rated_at) for each in tired.records] == [
        (each.song, each.rated_at) for each in fresh.records
    ]
    (tired_curve,), (fresh_curve,) = (novelty_curves(data, ONE) for data in (tired, fresh))
    heard = (tired_curve.minutes >= 6.0) & (tired_curve.minutes <= 60.0)
    assert fresh_curve.mean[fresh_curve.minutes < 1.0].max() < 0.2  # the prior's doing
    assert np.abs(fresh_curve.parting()[fresh_curve.minutes <= 60.0]).max() < 2
    assert (tired_curve.parting()[heard] < -5).all()
    assert (tired_curve.mean < fresh_curve.mean)[heard].all()


def test_the_curve_beside_is_what_the_engine_makes_of_the_average_alone() -> None:
    data = bored_listener(60.0)
    (found,) = novelty_curves(data, ONE)
    average = np.mean([each.stars for each in data.records])
    radio = untrained(data, "bayes-ucb-cn-v")
    for each in data.records:
        radio.update(each.song, rating=float(average), time=Decimal(each.rated_at) / 1_000)
    at = np.append(found.minutes, MONTH)
    songs = Songs.of(features=np.ones((len(at), 3)), elapsed=at)
    told: Any = radio.model.engine.predict(radio.model.belief, songs)
    mean = told.factor_means[1]
    assert found.untired_mean == pytest.approx(mean[:-1] / mean[-1], abs=0.01)


def test_who_rates_everything_alike_is_one_who_never_tires() -> None:
    data = bored_listener(60.0)
    alike = replace(data, records=tuple(replace(each, stars=4) for each in data.records))
    (found,) = novelty_curves(alike, ONE)
    assert found.mean == pytest.approx(found.untired_mean)
    assert np.abs(found.parting()).max() < 0.01


def test_before_any_rating_the_prior_expects_no_novelty_at_any_time() -> None:
    data = rated(1)
    radio = untrained(data, "bayes-ucb-cn-v")
    songs = Songs.of(features=np.ones((85, 3)), elapsed=places())
    told: Any = radio.model.engine.predict(radio.model.belief, songs)
    assert (told.factor_means[1] == 0).all()
    assert (np.diff(told.factor_deviations[1]) > 0).all()


def test_an_arm_that_was_not_begun_has_no_curves() -> None:
    assert novelty_curves(rated(3), OTHER) == ()


@pytest.mark.parametrize("measure", [partial(uncertainty, moments=(1,)), plays, novelty_curves])
def test_an_algorithm_of_another_study_is_refused(measure: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"one of the study's .*got thompson"):
        measure(rated(1), "thompson")

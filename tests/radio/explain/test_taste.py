"""What a page about a listener's taste can draw."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import bdtrc, ndtr

from bandstand._util.power_laws import zipf
from bandstand.core.registry import ALGORITHMS
from bandstand.music.catalogue.design import Columns
from bandstand.radio.explain.profile import (
    Favourites,
    Named,
    counts,
    ratings_over_time,
    repeats,
)
from bandstand.radio.explain.taste import (
    Preference,
    Recovery,
    Taste,
    UncertaintyPoint,
    as_json,
    preferences,
    sentences,
    taste_of,
)
from bandstand.radio.log.fold import fold
from tests.fixtures.radio.catalogues import song_id
from tests.fixtures.radio.logs import DAY, MINUTE, Log
from tests.fixtures.radio.tastes import ARTISTS, SONGS, liking, listened, model, projected

FAILURE_RATE = 1e-3


def taste(plays: int, *, algorithm: str = "bayes-ucb-cn-x", seed: int = 1) -> Taste:
    with np.errstate(all="raise"):
        return taste_of(model(listened(plays, seed=seed), algorithm=algorithm))


def log_by_hand() -> Log:
    """Return three songs: rated twice, skipped, listened to, and one just touched."""
    log = Log()
    log.add("rating", song_id(1), stars=4)
    log.add("rating", song_id(1), after=DAY, stars=2)
    log.add("skip", song_id(2), after=5 * MINUTE, played_ms=10_000)
    log.add("listen", song_id(3), after=5 * MINUTE, played_ms=180_000)
    log.add("skip", song_id(2), after=DAY, played_ms=1_000)
    return log


def test_plays_are_counted_by_what_they_ended_in() -> None:
    found = counts(fold(log_by_hand().events).plays)
    assert (found.plays, found.ratings, found.skips, found.listens, found.songs) == (5, 2, 1, 1, 3)


def test_ratings_come_with_their_running_mean() -> None:
    log = log_by_hand()
    points = ratings_over_time(fold(log.events).plays)
    assert [(point.stars, point.running_mean) for point in points] == [(4.0, 4.0), (2.0, 3.0)]
    assert [point.at for point in points] == [log.events[0].at, log.events[1].at]


def test_of_very_many_ratings_some_are_shown_and_the_last_is_among_them() -> None:
    log = Log()
    for number in range(900):
        log.add("rating", song_id(number % 50), after=DAY, stars=1 + number % 5)
    points = ratings_over_time(fold(log.events).plays)
    assert len(points) == 400
    assert points[-1].at == log.events[-1].at
    assert points[-1].running_mean == 3.0
    assert [point.at for point in points] == sorted({point.at for point in points})


def test_songs_that_come_back() -> None:
    found = repeats(fold(log_by_hand().events).plays)
    assert found is not None
    assert found.share == pytest.approx(2 / 5)
    assert found.plays_by_rank == (2, 2, 1)


@given(st.lists(st.integers(min_value=1, max_value=500), min_size=5, max_size=60))
def test_the_line_is_that_of_least_squares(plays: list[int]) -> None:
    ranked = np.array(sorted(plays, reverse=True), dtype=float)
    found = zipf(ranked)
    if ranked[0] == ranked[-1]:
        assert found is None
        return
    assert found is not None
    across, up = np.log(np.arange(1.0, len(ranked) + 1)), np.log(ranked)
    slope, level = np.polyfit(across, up, 1)
    assert found.exponent == pytest.approx(-slope, abs=1e-9)
    assert found.first == pytest.approx(np.exp(level), rel=1e-9)
    residuals = up - level - slope * across
    unexplained = np.sum(residuals**2) / np.sum((up - up.mean()) ** 2)
    assert found.r_squared == pytest.approx(1 - unexplained, abs=1e-9)


def test_of_somebody_new_there_is_nothing_to_tell() -> None:
    found = as_json(taste(0))
    assert found == {
        "counts": {"plays": 0, "ratings": 0, "skips": 0, "listens": 0, "songs": 0},
        "ratings": (),
        "repeats": None,
        "recovery": None,
        "noise": None,
        "uncertainty": (),
        "leanings": (),
        "artists": {"most": (), "least": (), "usual": None},
        "genres": {"most": (), "least": (), "usual": None},
        "sentences": ("You have not heard anything yet, so there is nothing to tell.",),
    }


def test_while_nothing_is_analysed_plays_are_all_there_is() -> None:
    found = taste_of(model(listened(20), analysed=False))
    assert found.counts.plays == len(listened(20).plays)
    assert found.recovery is None
    assert found.noise is None
    assert not found.preferences
    assert not found.uncertainty
    assert found.sentences[-1].startswith("Nothing has been learned yet")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_tells_what_it_has_and_all_of_it_is_json(algorithm: str) -> None:
    found = taste(25, algorithm=algorithm)
    json.loads(json.dumps(as_json(found), allow_nan=False))
    knows_novelty = algorithm not in {"random", "linucb-c", "linucb-cn"}
    assert (found.recovery is not None) == knows_novelty
    assert bool(found.artists.most) == (algorithm != "random")
    # The paper measures all of them by the exact model.
    assert [point.answers for point in found.uncertainty] == [1, 3, 10, found.counts.plays]
    assert all(sentence.endswith(".") for sentence in found.sentences)


def test_a_listener_is_found_out() -> None:
    found = taste(400)
    assert found.recovery is not None
    assert found.recovery.mean == pytest.approx(600, rel=0.25)
    assert found.recovery.fresh_after == pytest.approx(600 * np.log(10), rel=0.25)
    assert found.recovery.standard_deviation is not None
    assert found.recovery.standard_deviation < 100
    assert found.noise == pytest.approx(0.5, abs=0.25)
    assert found.uncertainty[-1].stars < 0.1 * found.uncertainty[0].stars
    truth = {
        artist: np.mean([liking(number) for number in range(place, SONGS, 4)])
        for place, artist in enumerate(ARTISTS)
    }
    assert found.artists.most[0].name == max(truth, key=lambda artist: truth[artist])
    assert found.artists.least[0].name == min(truth, key=lambda artist: truth[artist])
    assert found.artists.most[0].songs == SONGS // 4


def test_it_says_in_words_what_it_shows() -> None:
    said = taste(400).sentences
    assert said[-1].startswith("You have heard 40 songs in ")
    assert said[-3] in {
        f"A song is fresh again for you after about {hours} hours." for hours in range(18, 30)
    }
    assert any(sentence.startswith("Of all artists you probably like") for sentence in said)
    assert said[-2].startswith("I can guess what you would give a new song, give or take about 0.")


def test_the_doubt_that_is_named_is_that_of_a_rating() -> None:
    known = taste(400)
    assert known.noise is not None
    doubt = np.hypot(known.uncertainty[-1].stars, known.noise)
    assert f"give or take about {doubt:.1f} stars." in known.sentences[-2]
    of_the_mean = sentences(replace(known, noise=None))[-2]
    assert f"on average, give or take about {known.uncertainty[-1].stars:.1f}" in of_the_mean


def test_a_guess_is_called_a_guess() -> None:
    few = taste(2).sentences
    assert not any("fresh again" in sentence for sentence in few)
    assert "I hardly know yet what a new song is worth to you." in few
    assert not any("artists" in sentence for sentence in few)


@pytest.mark.parametrize(("ratings", "words"), [(0, "no ratings"), (9, "nine ratings"), (10, "")])
def test_of_hardly_any_rating_no_stars_are_told(ratings: int, words: str) -> None:
    known = taste(400)
    likes = (preference("fast", "slow", 0.5, 1.0),)
    few = replace(known, counts=replace(known.counts, ratings=ratings), preferences=likes)
    said = sentences(few)
    assert said[0].startswith("You would rate fast songs" if words else "You rate fast songs")
    assert (f"After {words} I can hardly say" in said[-2]) == bool(words)
    assert any("give or take" in sentence for sentence in said) != bool(words)


def test_how_sure_the_curve_is_decides_on_the_words() -> None:
    known = taste(400)
    recovery = known.recovery
    assert recovery is not None
    unsure = replace(recovery.curve, standard_deviation=(0.3,) * 61)

    def said(changed: Recovery) -> str:
        return sentences(replace(known, recovery=changed))[-3]

    assert said(replace(recovery, curve=unsure)).endswith("hours, but I am far from sure of it.")
    assert "fresh" not in said(replace(recovery, repeats=0))
    never = replace(recovery, fresh_after=None)
    assert said(never) == "A song takes more than three months to be fresh again for you."
    assert said(replace(never, curve=unsure)) == (
        "I cannot tell yet when songs are fresh again for you."
    )
    curve = replace(recovery.curve, standard_deviation=None)
    assert said(replace(never, curve=curve)).startswith("A song takes more than three months")


@pytest.mark.parametrize(
    ("best", "usual", "worst", "said"),
    [
        (3.1, 3.0, 2.9, ""),
        (3.7, 3.0, 2.9, "a best."),
        (3.1, 3.0, 2.3, "b least."),
        (3.7, 3.0, 2.3, "a best and b least."),
        (9.0, 5.1, 5.05, ""),
    ],
)
def test_a_name_is_told_only_if_it_stands_out_by_more_than_the_doubt(
    best: float, usual: float, worst: float, said: str
) -> None:
    most = Named(name="a", songs=3, expected=best)
    least = Named(name="b", songs=3, expected=worst)
    changed = replace(
        taste(400),
        artists=Favourites(most=(most,), least=(least,), usual=usual),
        genres=Favourites(),
        uncertainty=(UncertaintyPoint(answers=400, stars=0.6),),
    )
    told = [each for each in sentences(changed) if "you probably like" in each]
    assert told == ([f"Of all artists you probably like {said}"] if said else [])


def preference(likes: str, dislikes: str, stars: float, certainty: float | None) -> Preference:
    return Preference(
        group="",
        likes=likes,
        dislikes=dislikes,
        stars=stars,
        standard_deviation=None,
        certainty=certainty,
    )


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ((), []),
        ((preference("fast", "slow", 0.09, 1.0), preference("dark", "bright", 0.5, 0.79)), []),
        (
            (preference("fast", "slow", 0.44, None),),
            ["You rate fast songs higher than slow ones: a clearly fast one gets 0.4 stars more"],
        ),
        (
            (
                preference("slow", "fast", 0.9, 0.9),
                preference("dark", "bright", 0.52, 0.99),
                preference("dense", "sparse", 0.4, 0.98),
            ),
            [
                "You rate dark and dense songs higher than bright and sparse ones: a clearly dark",
                "You probably rate slow songs higher than fast ones: a clearly slow one gets 0.9",
            ],
        ),
    ],
)
def test_preferences_are_said_together_the_sure_ones_first(
    found: tuple[Preference, ...], said: list[str]
) -> None:
    known = replace(taste(20), preferences=found)
    told = [sentence for sentence in sentences(known) if " songs higher than " in sentence]
    assert len(told) == len(said)
    assert all(sentence.startswith(begin) for sentence, begin in zip(told, said, strict=True))


def test_favourite_artists_and_genres_share_a_sentence() -> None:
    known = taste(400)
    best, worst = known.artists.most[0].name, known.artists.least[0].name
    artists = f"Of all artists you probably like {best} best and {worst} least"
    best, worst = "Folk", "Techno"
    most, least = (
        Named(name=name, songs=3, expected=stars) for name, stars in ((best, 4.5), (worst, 1.5))
    )
    known = replace(known, genres=Favourites(most=(most,), least=(least,), usual=3.0))
    assert f"{artists}, of all genres {best} best and {worst} least." in sentences(known)
    assert f"{artists}." in sentences(replace(known, genres=Favourites()))
    only = sentences(replace(known, artists=Favourites()))
    assert f"Of all genres you probably like {best} best and {worst} least." in only


def certainties_about_nothing() -> list[tuple[float, float]]:
    """Return strength and spread of what is learnt from ratings that mean nothing."""
    found = []
    for seed in range(20):
        rng, log = np.random.default_rng(seed), Log()
        for number in rng.integers(SONGS, size=60).tolist():
            log.add("rating", song_id(number), after=DAY, stars=int(rng.integers(1, 6)))
        one = model(fold(log.events))
        for each in preferences(
            one.engine, one.belief, one.history.columns, Columns(projected()[0])
        ):
            assert each.standard_deviation is not None
            assert each.certainty == pytest.approx(ndtr(each.stars / each.standard_deviation))
            found.append((each.stars, each.standard_deviation))
    return found


def p_value_of_being_sure(found: list[tuple[float, float]]) -> float:
    """Return how likely so many wrong certainties of 97.5 % are, one of either side in twenty."""
    wrong = sum(ndtr(stars / spread) > 0.975 for stars, spread in found)
    return float(bdtrc(wrong - 1, len(found), 0.05))


@pytest.mark.statistical
def test_preferences_that_are_noise_are_seldom_called_sure() -> None:
    found = certainties_about_nothing()
    assert len(found) == 100
    assert p_value_of_being_sure(found) > FAILURE_RATE
    # A belief that is three times as sure as it may be is noticed.
    too_sure = [(stars, spread / 3) for stars, spread in found]
    assert p_value_of_being_sure(too_sure) < FAILURE_RATE

"""How people differ is learned again: the engine's own evidence, and planted values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import multivariate_t

from bandstand.core.engines.exact.posterior import conjugate
from bandstand.core.engines.exact.posterior.effects_solver import EffectSolver
from bandstand.core.model.history import History
from bandstand.core.model.priors import (
    EffectPrior,
    ListenerPrior,
    LogNormalRecovery,
    NoisePrior,
    PreferencePrior,
)
from bandstand.core.model.song_groups import SongGroups
from bandstand_lab.people.population import (
    Likelihood,
    Population,
    RatedSongs,
    intervals,
    learned,
    read_ratings,
    shipped,
    shipped_measures,
    told_apart,
)
from tests.fixtures.cli.run_command import assert_refused, run

if TYPE_CHECKING:
    from pathlib import Path

PLANTED = Population(
    mean=2.6, intercept=0.6, levels={"song": 0.9, "artist": 0.5}, shape=6.0, rate=4.0
)


def drawn(people: int, ratings: int, truth: Population, seed: int = 1) -> RatedSongs:
    """Return ratings of songs drawn with replacement: 10 artists of 4 songs."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), ratings)
    song = rng.integers(40, size=len(person))
    stars = []
    for one in range(people):
        unit = np.sqrt(1 / rng.gamma(truth.shape, 1 / truth.rate))
        own = song[person == one]
        artists = rng.normal(0, unit * np.sqrt(truth.levels.get("artist", 0.0)), 10)
        songs = rng.normal(0, unit * np.sqrt(truth.levels.get("song", 0.0)), 40)
        middle = rng.normal(truth.mean, unit * np.sqrt(truth.intercept))
        stars.append(middle + artists[own // 4] + songs[own] + rng.normal(0, unit, ratings))
    names = {"song": song, "artist": song // 4}
    return RatedSongs(person=person, ratings=np.concatenate(stars), names=told_apart(person, names))


def dense(rated: RatedSongs, person: int, of: Population) -> float:
    """Return the same as a multivariate Student t density, which shares no code."""
    rows = rated.person == person
    count = int(rows.sum())
    covariance = np.eye(count) + of.intercept
    for level, variance in of.levels.items():
        same = rated.names[level][rows]
        covariance += variance * (same[:, np.newaxis] == same)
    scale = of.rate / of.shape * covariance
    return float(
        multivariate_t(np.full(count, of.mean), scale, df=round(2 * of.shape)).logpdf(
            rated.ratings[rows]
        )
    )


def engine_evidence(rated: RatedSongs, person: int, of: Population) -> float:
    """Return what the radio's engine says, up to what does not depend on the ratings."""
    rows = rated.person == person
    count = int(rows.sum())
    prior = ListenerPrior(
        preference=PreferencePrior.independent([of.mean], [of.intercept]),
        recovery=LogNormalRecovery(),
        noise=NoisePrior(shape=of.shape, rate=of.rate),
        effects=EffectPrior(**of.levels),
    )
    song, artist = (rated.names[level][rows] for level in ("song", "artist"))
    history = History.of(
        features=np.ones((count, 1)),
        elapsed=np.inf,
        ratings=rated.ratings[rows],
        groups=SongGroups.of(song=song, album=song, artist=artist),
    )
    found = EffectSolver(prior, history).at(np.array([100.0]))
    return float(found.log_evidence(conjugate.shape(prior, history.weights))[0])


def test_the_likelihood_is_that_of_a_student_t_and_of_the_engine() -> None:
    rated = drawn(6, 15, PLANTED)
    ours = Likelihood(rated).of(PLANTED)
    assert ours == pytest.approx([dense(rated, person, PLANTED) for person in range(6)], abs=1e-9)
    theirs = np.array([engine_evidence(rated, person, PLANTED) for person in range(6)])
    assert np.ptp(ours - theirs) < 1e-9


def test_planted_values_are_found_within_their_intervals() -> None:
    rated = drawn(400, 30, PLANTED, seed=2)
    best = learned(rated)
    truth = PLANTED.measures()
    found = best.measures()
    assert found == pytest.approx(truth, rel=0.1)
    ends = intervals(rated, best, draws=20, seed=1, workers=1)
    missed = [name for name, (low, high) in ends.items() if not low < truth[name] < high]
    assert len(missed) <= 1
    # The twin: who ties each artist's songs together where there are no artists, sees none.
    alone = drawn(400, 30, Population(**(vars_of(PLANTED) | {"levels": {"song": 0.9}})), seed=3)
    assert learned(alone).measures()["artist"] < 0.2 * truth["artist"]


def vars_of(population: Population) -> dict[str, Any]:
    return {name: getattr(population, name) for name in Population.__slots__}


def test_noise_and_songs_are_one_where_no_song_was_rated_twice() -> None:
    person = np.repeat(np.arange(3), 2)
    codes = {"song": np.array([0, 1, 0, 1, 1, 2]), "artist": np.array([0, 0, 0, 1, 1, 2])}
    assert list(told_apart(person, codes)) == ["artist"]
    assert list(told_apart(person, {**codes, "song": np.array([0, 0, 0, 1, 1, 2])})) == [
        "song",
        "artist",
    ]


def test_the_shipped_kinds_add_up_to_what_the_radio_believes() -> None:
    for levels in ((), ("artist",), ("song", "album", "artist")):
        kinds = shipped(levels)
        assert sum(share for share, _ in kinds) == pytest.approx(1.0)
        totals = [(kind.measures(), kind) for _, kind in kinds]
        for measures, kind in totals:
            assert list(kind.levels) == list(levels)
            assert measures["mean"] == 3.0
        sums = [
            sum(value**2 for name, value in measures.items() if name not in {"mean", "spread"})
            for measures, _ in totals
        ]
        # However many levels a table has, a rating differs as much.
        assert sums == pytest.approx(
            [
                sum(v**2 for n, v in kind.measures().items() if n not in {"mean", "spread"})
                for _, kind in shipped(())
            ]
        )
    assert shipped_measures(())["spread"] > shipped(())[0][1].measures()["spread"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    lines = ["person,song,artist,stars,more"]
    lines += [
        f"p{person},s{song},{'' if song == 3 else f'a{song // 3}'},{rng.integers(1, 5)},x"
        for person in range(12)
        for song in range(9)
    ]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_table_is_read_on_the_scale_of_the_radio(file: Path) -> None:
    rated = read_ratings(file, (1, 4))
    assert rated.people == 12
    assert set(np.round(rated.ratings, 6)) <= {1.0, 2.333333, 3.666667, 5.0}
    assert list(rated.names) == ["artist"]
    # A song of no artist is by no other's.
    assert len(np.unique(rated.names["artist"])) == 3 + 12


def test_the_command_prints_what_it_writes(file: Path) -> None:
    options = ("--scale", "1", "4", "--draws", "10", "--workers", "1")
    outcome = run("priors", file, *options, "--json", "-")
    document = json.loads(outcome.out)
    assert document["people"] == 12
    assert list(document["measures"]) == ["mean", "people", "artist", "rest", "spread"]
    for measure in document["measures"].values():
        low, high = measure["interval"]
        assert low <= high
    printed = run("priors", file, *options).out
    assert "12 people, 108 ratings." in printed
    assert f"{document['measures']['artist']['learned']:.2f}" in printed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("person,song\na,b\n", ["a column named stars"]),
        ("person,song,stars\na,b,6\n", ["line 2", "stars must be from 1 to 5, got '6'"]),
        ("person,song,stars\na,b,3\n", ["at least 10 people, got 1"]),
        ("person,song,stars\na,b,x\n", ["line 2", "finite number"]),
    ],
)
def test_tables_that_cannot_be_used_are_refused(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    assert_refused(run("priors", path), *words)


def test_a_scale_must_rise(file: Path) -> None:
    assert_refused(run("priors", file, "--scale", "5", "1"), "--scale must rise")

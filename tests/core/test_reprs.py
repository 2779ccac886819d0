"""What a terminal shows of the values that a program gets."""

from collections.abc import Iterator

import numpy as np
import pytest

from bandstand import (
    ALGORITHMS,
    ExactModel,
    McmcModel,
    MixedEffectsModel,
    NamedItems,
    Recommender,
    people_prior,
    radio_prior,
)

LONGEST = 3 * 80  # three lines
FEATURES = np.random.default_rng(0).normal(size=(500, 60))
TAGS = [[f"tag {row % 70}"] for row in range(500)]


def radio(algorithm: str) -> Recommender:
    one = Recommender(features=FEATURES, tags=TAGS, algorithm=algorithm)
    for song in range(3):
        one.update(song, rating=1 + 1.5 * song, time=60 * song)
    return one


def values(one: Recommender) -> Iterator[object]:
    prediction, playlist = one.predict(), one.playlist(1)
    yield from (one, one.history, one.model.belief, prediction, one.songs(), one.summary())
    yield from (*one.answers, *playlist)


def too_long(values: Iterator[object]) -> list[str]:
    return [text for text in map(repr, values) if len(text) > LONGEST or "\n" in text]


@pytest.mark.parametrize("algorithm", sorted({*ALGORITHMS} - {"bayes-ucb-cn"}))
def test_what_a_radio_has_fits_a_terminal(algorithm: str) -> None:
    assert too_long(values(radio(algorithm))) == []


def test_estimators_and_priors_fit_a_terminal() -> None:
    rows = FEATURES[:20, :3]
    sampled = McmcModel(effective_draws=400).fit(rows, elapsed=100, ratings=rows[:, 0])
    named = MixedEffectsModel(items=NamedItems.fit(FEATURES, TAGS))
    priors = (radio_prior(60), people_prior(80, curved=5, tags=70))
    models = (ExactModel(prior=priors[0]), sampled, sampled.belief_, named)
    assert too_long(iter((*models, *priors, named.items))) == []


def test_they_say_how_much_there_is() -> None:
    one = radio("linucb-c")
    assert repr(one) == "<Recommender: 500 songs, 3 answers, algorithm 'linucb-c'>"
    assert repr(one.history) == f"<History: 3 answers of {one.history.columns} columns>"
    assert repr(one.model.belief) == f"RidgeBelief(history={one.history!r}, updates=3, planned=0)"


def test_a_matrix_in_full_is_found_out() -> None:
    """The twin."""
    assert too_long(iter([radio_prior(60).preference.precision])) != []

"""Explanations of what a listener's model really chose."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bandstand.core.registry import ALGORITHMS
from bandstand.radio.explain.why import OTHER, as_json, explain
from bandstand.radio.selection.filters import Station
from tests.fixtures.radio.catalogues import song_id
from tests.fixtures.radio.choices import projected
from tests.fixtures.radio.tastes import listened, model, now_after
from tests.radio.explain.test_why import check_sums


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_song_of_a_playlist_is_explained_whatever_the_algorithm(algorithm: str) -> None:
    ledger = listened(25)
    listener = model(ledger, algorithm=algorithm)
    for chosen in listener.playlist(8, now=now_after(ledger)):
        with np.errstate(all="raise"):
            why = explain(listener, chosen, projected()[0])
        check_sums(why)
        json.dumps(as_json(why), allow_nan=False)
        assert why.score == chosen.score
        assert why.minutes_since_heard == chosen.minutes_since_heard
        if algorithm == "random":
            assert why.sentence == "The algorithm draws this song at random."
        else:
            assert abs(why.groups[OTHER]) < 1e-9


@pytest.mark.parametrize("dial", [-1.0, -0.4, 0.0, 0.7, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_parts_add_up_wherever_the_dial_is(dial: float, intercept: bool) -> None:
    ledger = listened(60, seed=2)
    listener = model(ledger, intercept=intercept)
    for chosen in listener.playlist(10, now=now_after(ledger), dial=dial):
        why = explain(listener, chosen, projected()[0])
        check_sums(why)
        assert (why.base == 0) is not intercept
        assert why.score is not None


def test_an_unanalysed_library_says_so() -> None:
    ledger = listened(10)
    listener = model(ledger, analysed=False)
    why = explain(listener, listener.next(now=now_after(ledger)), None)
    assert why.expected is None
    assert why.sentence == ("The library is still being analysed: this song is drawn at random.")


def test_a_song_that_was_asked_for_says_so_and_has_its_parts() -> None:
    ledger = listened(30)
    listener = model(ledger)
    chosen = listener.next(now=now_after(ledger), station=Station(song=song_id(7)))
    why = explain(listener, chosen, projected()[0])
    assert chosen.song == song_id(7)
    assert why.sentence.startswith("It is what you asked for; ")
    assert why.expected is not None
    check_sums(why)

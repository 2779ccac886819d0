"""One plain sentence for every kind of choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bandstand.radio.reasons.why import Why
from bandstand.radio.reasons.why_text import sentence

if TYPE_CHECKING:
    from collections.abc import Mapping


def why(
    *,
    groups: Mapping[str, float] | None = None,
    exploration: float | None = 0.0,
    novelty: float | None = 1.0,
    minutes: float | None = None,
    learns: bool = False,
) -> Why:
    return Why(
        score=3.0,
        expected=3.0,
        exploration=exploration,
        liking=3.0,
        base=3.0,
        groups={} if groups is None else groups,
        staleness=0.0,
        novelty=novelty,
        minutes_since_heard=minutes,
        mainly_to_learn=learns,
    )


def said(
    of: Why, *, how: str = "model", note: str = "", character: Mapping[str, float] | None = None
) -> str:
    return sentence(of, how=how, note=note, character=character or {})


def test_a_bright_fast_song_that_teaches_something() -> None:
    found = said(
        why(groups={"brightness": 0.6, "tempo": 0.4, "timbre": -0.1}, exploration=0.5),
        character={"brightness": 1.0, "tempo": 0.8, "timbre": 2.0},
    )
    assert found == (
        "You have not heard it; its bright, fast sound is like what you rate highly, "
        "and it would teach me something about you."
    )


def test_a_song_that_is_not_marked_is_praised_for_what_it_is_made_of() -> None:
    groups = {"harmony": 0.6, "timbre": 0.5, "movement": 0.2}
    assert said(why(groups=groups), character={"harmony": 0.1}) == (
        "You have not heard it; its harmony and timbre are like what you rate highly."
    )


def test_a_song_against_which_its_sound_speaks() -> None:
    groups = {"tempo": -0.5, "timbre": 0.1}
    assert said(why(groups=groups), character={"tempo": -2.0}) == (
        "You have not heard it; its slow sound is not quite what you rate highly."
    )


def test_a_sound_that_cannot_be_told_apart() -> None:
    assert said(why(groups={"sound": 0.5})) == (
        "You have not heard it; its sound is like what you rate highly."
    )
    assert said(why(groups={"other": 0.5})) == (
        "You have not heard it; its sound is like what you rate highly."
    )


def test_a_sound_that_says_nothing() -> None:
    assert said(why(groups={"tempo": 0.01, "timbre": -0.02})) == (
        "You have not heard it; nothing in its sound speaks for or against it."
    )


@pytest.mark.parametrize(
    ("minutes", "novelty", "beginning"),
    [
        (0.5, 0.0, "You heard it a moment ago, so it is not fresh yet; "),
        (120.0, 0.3, "You heard it two hours ago, so it is not fresh yet; "),
        (4_320.0, 0.7, "You heard it three days ago and it is nearly fresh again; "),
        (50_000.0, 0.95, "You heard it five weeks ago and it is fresh again; "),
        (4_320.0, None, "You heard it three days ago; "),
    ],
)
def test_how_fresh_a_song_is(minutes: float, novelty: float | None, beginning: str) -> None:
    found = said(why(minutes=minutes, novelty=novelty, groups={"tempo": 1.0}))
    assert found == f"{beginning}its tempo is like what you rate highly."


def test_a_song_that_is_played_mainly_to_learn_says_so() -> None:
    found = said(why(groups={"tempo": 1.0}, exploration=2.0, learns=True))
    assert found.endswith(
        "like what you rate highly, and I chose it mainly to learn what you think of such songs."
    )


def test_a_choice_at_random_says_so() -> None:
    nothing = Why(groups={})
    assert said(nothing, how="random") == "It was drawn at random."
    note = "the library is still being analysed: this song is drawn at random"
    assert said(nothing, how="random", note=note) == (
        "The library is still being analysed: this song is drawn at random."
    )


def test_a_wish_is_a_reason() -> None:
    assert said(Why(groups={}), how="wish", note="the first song is drawn at random") == (
        "It is what you asked for; you have not heard it."
    )
    assert said(why(groups={"tempo": 1.0}), note="nothing near it may be played") == (
        "Nothing near it may be played; you have not heard it; "
        "its tempo is like what you rate highly."
    )

"""One plain sentence for every kind of choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.audio.loadings import GROUPS
from bandstand.radio.explain.why import Why, sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = [group.name for group in GROUPS]
stars = st.floats(-10, 10)


def why(
    *,
    groups: Mapping[str, float] | None = None,
    exploration: float | None = 0.0,
    novelty: float | None = 1.0,
    minutes: float | None = None,
    learns: bool = False,
    expected: float = 3.0,
    answers: int = 100,
) -> Why:
    return Why(
        score=3.0,
        expected=expected,
        exploration=exploration,
        liking=3.0,
        base=3.0,
        groups={} if groups is None else groups,
        staleness=0.0,
        novelty=novelty,
        minutes_since_heard=minutes,
        mainly_to_learn=learns,
        answers=answers,
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
        "You have not heard it, but its bright, fast sound is like what you rate highly, "
        "and it would teach me something about you."
    )


def test_a_song_is_known_by_what_marks_it_most_among_what_counts() -> None:
    groups = {"timbre": 1.0, "tempo": 0.4, "movement": 0.1}
    character = {"timbre": 0.6, "tempo": 2.0, "movement": 3.0}
    assert "its fast, rough sound is" in said(why(groups=groups), character=character)


def test_a_song_that_is_not_marked_is_praised_for_what_it_is_made_of() -> None:
    groups = {"harmony": 0.3, "timbre": 0.25, "movement": 0.06}
    assert said(why(groups=groups), character={"harmony": 0.1}) == (
        "You have not heard it, but its harmony and timbre are like what you rate highly."
    )


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (2.0, ", but its slow sound is just what you rate highly."),
        (0.5, ", but its slow sound is like what you rate highly."),
        (0.1, "; its slow sound speaks for it a little."),
        (-0.1, "; its slow sound speaks against it a little."),
        (-0.5, "; its slow sound is not quite what you rate highly."),
        (-2.0, "; its slow sound is far from what you rate highly."),
    ],
)
def test_how_much_the_sound_counts_is_said(part: float, words: str) -> None:
    found = said(why(groups={"tempo": part}), character={"tempo": -2.0})
    assert found == f"You have not heard it{words}"


def test_a_sound_that_cannot_be_told_apart() -> None:
    for name in ("sound", "other"):
        assert said(why(groups={name: 0.5})) == (
            "You have not heard it, but its sound is like what you rate highly."
        )


def test_a_sound_that_says_nothing() -> None:
    assert said(why(groups={"tempo": 0.01, "timbre": -0.02})) == (
        "You have not heard it; nothing in its sound speaks for or against it."
    )


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (1, "; it is a guess so far, from one answer, that its fast sound suits you."),
        (4, "; it is a guess so far, from four answers, that its fast sound suits you."),
        (5, ", but its fast sound seems to be what you like."),
        (19, ", but its fast sound seems to be what you like."),
        (20, ", but its fast sound is just what you rate highly."),
    ],
)
def test_no_more_is_claimed_than_is_known(answers: int, words: str) -> None:
    found = said(why(groups={"tempo": 2.0}, answers=answers), character={"tempo": 2.0})
    assert found == f"You have not heard it{words}"


def test_what_speaks_against_a_song_is_a_guess_too() -> None:
    of: dict[str, Any] = {"groups": {"harmony": -1.0, "timbre": -0.9}}
    assert said(why(**of, answers=2)).endswith(
        "; it is a guess so far, from two answers, that its harmony and timbre are not quite "
        "for you."
    )
    assert said(why(**of, answers=9)).endswith("; you may not like its harmony and timbre.")


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
    found = said(why(minutes=minutes, novelty=novelty, groups={"tempo": 0.5}))
    assert found == f"{beginning}its tempo is like what you rate highly."


@pytest.mark.parametrize("answers", [1, 10, 100])
def test_a_song_that_is_played_mainly_to_learn_says_so(answers: int) -> None:
    of = why(groups={"tempo": 1.0}, exploration=2.0, learns=True, answers=answers)
    assert said(of).endswith(", and I chose it mainly to learn what you think of such songs.")
    assert said(of, character={"tempo": -0.9, "brightness": -1.5}).endswith(
        ", and I chose it mainly to learn what you think of dark, slow songs."
    )


def test_what_should_please_most_says_so() -> None:
    best: dict[str, Any] = {"groups": {"tempo": 0.5}, "exploration": 2.0, "expected": 4.6}
    assert said(why(**best)).endswith("highly, so it may become a favourite.")
    assert said(why(**best, minutes=9_000.0)).endswith("highly, so it should please you again.")
    assert said(why(**best, answers=10)).endswith("seems to be what you like.")


@pytest.mark.parametrize(
    ("exploration", "part", "ending"),
    [
        (0.4, 0.5, "highly."),
        (0.5, 0.5, "highly, and it would teach me something about you."),
        (1.5, 0.5, "highly, and it would teach me a lot about you."),
        (1.5, 1.0, "highly."),
        (-1.0, 0.5, "highly."),
        (None, 0.5, "highly."),
    ],
)
def test_doubt_is_named_where_the_sound_is_not_reason_enough(
    exploration: float | None, part: float, ending: str
) -> None:
    found = said(why(groups={"tempo": part}, exploration=exploration))
    assert found.endswith(ending)


@given(
    groups=st.dictionaries(st.sampled_from([*NAMES, "other", "sound"]), stars),
    character=st.dictionaries(st.sampled_from(NAMES), stars),
    expected=stars,
    exploration=st.none() | stars,
    minutes=st.none() | st.floats(0, 1e9),
    novelty=st.none() | st.floats(0, 1),
    answers=st.integers(0, 2_000),
    learns=st.booleans(),
    how=st.sampled_from(["model", "wish"]),
)
def test_whatever_the_facts_are_it_is_one_sentence_that_names_no_stars(
    character: dict[str, float],
    how: str,
    **facts: Any,
) -> None:
    found = said(why(**facts), how=how, character=character)
    assert found == said(why(**facts), how=how, character=character)
    assert found[0].isupper()
    assert found.endswith(".")
    assert found.count(".") == 1
    assert "  " not in found
    assert "star" not in found
    assert ("mainly to learn" in found) == facts["learns"]
    assert ("a guess so far" in found) <= (facts["answers"] < 5)
    assert ("rate highly" in found) <= (facts["answers"] >= 20)


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
    assert said(why(groups={"tempo": 0.5}), note="nothing near it may be played") == (
        "Nothing near it may be played; you have not heard it, but "
        "its tempo is like what you rate highly."
    )

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


def why(*, minutes: float | None = None, learns: bool = False, **facts: Any) -> Why:
    usual = {"groups": {}, "exploration": 0.0, "novelty": 1.0, "expected": 3.0, "answers": 100}
    return Why(
        score=3.0,
        liking=3.0,
        base=3.0,
        staleness=0.0,
        minutes_since_heard=minutes,
        mainly_to_learn=learns,
        **{**usual, **facts},
    )


def said(
    of: Why,
    *,
    how: str = "model",
    note: str = "",
    character: Mapping[str, float] | None = None,
    **more: str,
) -> str:
    return sentence(of, how=how, note=note, character=character or {}, **more)


@pytest.mark.parametrize(
    ("groups", "character", "words"),
    [
        # The largest part comes first; others follow where they are marked too.
        (
            {"timbre": 1.0, "tempo": 0.4, "movement": 0.1},
            {"timbre": 0.6, "tempo": 2.0, "movement": 3.0},
            ", but its rough, fast sound is just what you like.",
        ),
        # The largest part is named even where others are more marked.
        (
            {"timbre": 0.9, "movement": 0.3},
            {"timbre": 0.1, "movement": -2.0},
            ", but its timbre and movement are just what you like.",
        ),
        # What sounds like it says most, and has no word.
        (
            {"alike": 0.9, "movement": 0.3},
            {"movement": -2.0},
            ", but its sound is just what you like.",
        ),
        # Not marked: praised for what it is made of.
        (
            {"harmony": 0.3, "timbre": 0.25, "movement": 0.06},
            {"harmony": 0.1},
            ", but its harmony and timbre are close to what you like.",
        ),
        ({"tempo": 2.0}, {"tempo": -2.0}, ", but its slow sound is just what you like."),
        ({"tempo": 0.5}, {"tempo": -2.0}, ", but its slow sound is close to what you like."),
        ({"tempo": 0.1}, {"tempo": -2.0}, "; its slow sound speaks for it a little."),
        ({"tempo": -0.1}, {"tempo": -2.0}, "; its slow sound speaks against it a little."),
        ({"tempo": -0.5}, {"tempo": -2.0}, "; its slow sound is not quite what you like."),
        ({"tempo": -2.0}, {"tempo": -2.0}, "; its slow sound is far from what you like."),
        ({"sound": 0.5}, {}, ", but its sound is close to what you like."),
        ({"other": 0.5}, {}, ", but its sound is close to what you like."),
        (
            {"tempo": 0.01, "timbre": -0.02},
            {},
            "; nothing in its sound or names speaks for or against it.",
        ),
    ],
)
def test_how_much_the_sound_counts_is_said(
    groups: dict[str, float], character: dict[str, float], words: str
) -> None:
    assert said(why(groups=groups), character=character) == f"You have not heard it{words}"


@pytest.mark.parametrize(
    ("answers", "tempo", "words"),
    [
        (1, 2.0, "; it is a guess so far, from one answer, that its fast sound suits you."),
        (4, 2.0, "; it is a guess so far, from four answers, that its fast sound suits you."),
        (5, 2.0, ", but its fast sound seems to be what you like."),
        (19, 2.0, ", but its fast sound seems to be what you like."),
        (20, 2.0, ", but its fast sound is just what you like."),
        (
            2,
            -1.0,
            "; it is a guess so far, from two answers, that its fast sound is not quite for you.",
        ),
        (9, -1.0, "; you may not like its fast sound."),
    ],
)
def test_no_more_is_claimed_than_is_known(answers: int, tempo: float, words: str) -> None:
    found = said(why(groups={"tempo": tempo}, answers=answers), character={"tempo": 2.0})
    assert found == f"You have not heard it{words}"


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
    assert found == f"{beginning}its tempo is close to what you like."


@pytest.mark.parametrize(("part", "way"), [(1.0, "for"), (-1.0, "against")])
def test_a_songs_own_part_is_no_liking_but_what_was_said_beyond_the_rest(
    part: float, way: str
) -> None:
    found = said(why(minutes=4_320.0, novelty=None, groups={"song": part, "artist": -2 * part / 3}))
    assert found == f"You heard it three days ago; what you said of it before speaks {way} it."


LEARNS: dict[str, Any] = {"groups": {"tempo": 1.0}, "exploration": 2.0, "learns": True}
BEST = {"groups": {"tempo": 0.5}, "exploration": 2.0, "expected": 4.6}


@pytest.mark.parametrize(
    ("facts", "character", "ending"),
    [
        *(
            (LEARNS | {"answers": some}, {}, "mainly to learn what you think of such songs.")
            for some in (1, 10, 100)
        ),
        (
            LEARNS,
            {"tempo": -0.9, "brightness": -1.5},
            ", and I chose it mainly to learn what you think of dark, slow songs.",
        ),
        (BEST, {}, "you like, so it may become a favourite."),
        (BEST | {"minutes": 9_000.0}, {}, "you like, so it should please you again."),
        (BEST | {"answers": 10}, {}, "seems to be what you like."),
        # Doubt is named where the sound is not reason enough.
        (BEST | {"expected": 3.0, "exploration": 0.4}, {}, "you like."),
        (
            BEST | {"expected": 3.0, "exploration": 0.5},
            {},
            "you like, and it would teach me something about you.",
        ),
        (
            BEST | {"expected": 3.0, "exploration": 1.5},
            {},
            "you like, and it would teach me a lot about you.",
        ),
        (BEST | {"expected": 3.0, "exploration": 1.5, "groups": {"tempo": 1.0}}, {}, "you like."),
        (BEST | {"expected": 3.0, "exploration": None}, {}, "you like."),
    ],
)
def test_what_it_is_good_for_beside_its_sound(
    facts: dict[str, Any], character: dict[str, float], ending: str
) -> None:
    assert said(why(**facts), character=character).endswith(ending)


@pytest.mark.parametrize(
    ("doubted", "words"), [("artist", "its artist"), ("song", "it"), ("sound", "slow songs")]
)
def test_a_song_that_is_played_to_learn_names_what_is_least_known(doubted: str, words: str) -> None:
    found = said(why(**LEARNS), character={"tempo": -0.9}, doubted=doubted)
    assert found.endswith(f", and I chose it mainly to learn what you think of {words}.")


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
    character: dict[str, float], how: str, **facts: Any
) -> None:
    found = said(why(**facts), how=how, character=character)
    assert found[0].isupper()
    assert found.endswith(".")
    assert found.count(".") == 1
    assert "  " not in found
    assert "star" not in found
    assert ("mainly to learn" in found) == facts["learns"]
    assert ("a guess so far" in found) <= (facts["answers"] < 5)
    assert ("what you like" in found and "seem" not in found) <= (facts["answers"] >= 20)


def test_a_choice_at_random_and_a_wish_say_so() -> None:
    nothing, near = Why(groups={}), why(groups={"tempo": 0.5})
    assert said(nothing, how="random") == "It was drawn at random."
    note = "the library is still being analysed: this song is drawn at random"
    assert said(nothing, how="random", note=note) == f"T{note[1:]}."
    assert said(nothing, how="wish", note="the first song is drawn at random") == (
        "It is what you asked for; you have not heard it."
    )
    assert said(near, note="nothing near it may be played") == (
        "Nothing near it may be played; you have not heard it, but "
        "its tempo is close to what you like."
    )

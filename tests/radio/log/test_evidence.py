"""What counts as evidence, rule by rule (docs/listening.md)."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.radio.log.evidence import (
    EARLY_SKIP,
    FAVOURITE,
    FULL_LISTEN,
    LATE_SKIP,
    MAX_SKIPS,
    MAX_UNATTENDED,
    MIDDLE_SKIP,
    NOTHING,
    SESSION_GAP,
    Evidence,
    Sitting,
    evidence,
)
from bandstand.store.events.events import Event
from tests.fixtures.radio.logs import SONGS, Log

PAGE = Path(__file__).parents[3] / "docs" / "listening.md"

played = st.integers(0, 10**9)
idle = st.none() | st.integers(-(10**9), 10**12)


def heard(kind: Any, *, stars: int | None = None, played_ms: int | None = None) -> Event:
    return Log().add(kind, SONGS[0], stars=stars, played_ms=played_ms)


sittings = st.builds(
    Sitting, skips=st.integers(0, MAX_SKIPS), unattended=st.integers(0, MAX_UNATTENDED)
)


def skip(played_ms: int, *, idle_ms: int | None = 0) -> Evidence:
    return evidence(heard("skip", played_ms=played_ms), idle_ms=idle_ms)


@given(st.integers(1, 5), st.none() | played, idle)
def test_stars_count_in_full_whatever_was_played(
    stars: int, played_ms: int | None, idle_ms: int | None
) -> None:
    event = heard("rating", stars=stars, played_ms=played_ms)
    assert evidence(event, idle_ms=idle_ms) == Evidence(rating=float(stars), weight=1.0)


@pytest.mark.parametrize(
    ("played_ms", "says"),
    [
        (0, NOTHING),
        (1_999, NOTHING),
        (2_000, EARLY_SKIP),
        (29_999, EARLY_SKIP),
        (30_000, MIDDLE_SKIP),
        (119_999, MIDDLE_SKIP),
        (120_000, LATE_SKIP),
        (10**9, LATE_SKIP),
    ],
)
def test_a_skip_is_graded_by_how_much_was_played(played_ms: int, says: Evidence) -> None:
    assert skip(played_ms) == says


@pytest.mark.parametrize("played_ms", [None, 2_000, 200_000])
def test_a_full_listen_is_mildly_good(played_ms: int | None) -> None:
    assert evidence(heard("listen", played_ms=1_500), idle_ms=0) is NOTHING
    says = evidence(heard("listen", played_ms=played_ms), idle_ms=None)
    assert says == FULL_LISTEN
    assert says.rating is not None
    assert 3 < says.rating < 5


@pytest.mark.parametrize("played_ms", [2_000, 30_000, 120_000])
@pytest.mark.parametrize("idle_ms", [None, SESSION_GAP, 10 * SESSION_GAP])
def test_a_skip_that_opens_a_session_or_ends_a_pause_of_hours_counts_half(
    played_ms: int, idle_ms: int | None
) -> None:
    says, usual = skip(played_ms, idle_ms=idle_ms), skip(played_ms, idle_ms=SESSION_GAP - 1)
    assert says.rating == usual.rating
    assert says.weight == usual.weight / 2


@given(st.integers(1, 5), idle, sittings)
def test_a_rating_counts_in_full_whatever_came_before(
    stars: int, idle_ms: int | None, sitting: Sitting
) -> None:
    says = evidence(heard("rating", stars=stars), idle_ms=idle_ms, sitting=sitting)
    assert says.weight == 1


@given(st.sampled_from(["skip", "listen"]), played, idle, sittings)
def test_nothing_that_is_not_a_rating_counts_as_much_as_one(
    kind: str, played_ms: int, idle_ms: int | None, sitting: Sitting
) -> None:
    says = evidence(heard(kind, played_ms=played_ms), idle_ms=idle_ms, sitting=sitting)
    assert says.weight <= 1 / 4
    assert (says.rating is None) == (says.weight == 0)
    assert says.rating is None or 1 <= says.rating <= 5


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("marked as a favourite while it plays", FAVOURITE),
        ("heard to the end", FULL_LISTEN),
        ("skipped within 30 seconds", EARLY_SKIP),
        ("skipped within 2 minutes", MIDDLE_SKIP),
        ("skipped later", LATE_SKIP),
    ],
)
def test_the_page_has_these_numbers(words: str, says: Evidence) -> None:
    row = f"| {words} | {says.rating:g} | 1/{1 / says.weight:g} |"
    assert row in PAGE.read_text(encoding="utf-8")

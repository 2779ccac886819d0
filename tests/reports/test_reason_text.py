from __future__ import annotations

from dataclasses import replace

import pytest

from bandstand.reports.reason_text import heard_text, reason_text, time_text
from bandstand.simulation.learning import Glimpse, Reason
from tests.reports.sessions import record_of


def glimpse_with(reason: Reason, place: int = 1) -> Glimpse:
    return replace(record_of().glimpses[place], reason=reason)


@pytest.mark.parametrize(
    ("elapsed", "text"),
    [
        (0.0, "heard 0 minutes ago"),
        (1.2, "heard 1 minute ago"),
        (59.4, "heard 59 minutes ago"),
        (59.6, "heard 1 hour ago"),
        (480.0, "heard 8 hours ago"),
        (2_879.0, "heard 48 hours ago"),
        (4_320.0, "heard 3 days ago"),
        (43_200.0, "never heard before"),
    ],
)
def test_elapsed_time_is_told_in_a_fitting_unit(elapsed: float, text: str) -> None:
    assert heard_text(elapsed) == text


@pytest.mark.parametrize(
    ("moment", "text"),
    [(0.0, "day 1, 08:00"), (57_540.0, "day 1, 23:59"), (57_600.0, "day 2, 00:00")],
)
def test_the_first_song_is_played_at_eight_in_the_morning(moment: float, text: str) -> None:
    assert time_text(moment) == text


def test_the_first_song_is_drawn() -> None:
    assert "the first song is drawn at random" in reason_text(record_of().glimpses[0])


def test_a_reason_has_all_its_parts() -> None:
    reason = Reason(liking=4.52, novelty=0.914, expected_rating=4.13, curiosity=0.41)
    text = "liking 4.5 × novelty 91% → expects 4.1 stars, plus 0.4 for curiosity"
    assert reason_text(glimpse_with(reason)) == text


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Reason(), "drawn at random"),
        (Reason(expected_rating=3.0), "drawn at random"),
        (Reason(expected_rating=3.0, curiosity=0.01), "expects 3.0 stars"),
        (
            Reason(expected_rating=3.0, curiosity=-0.3),
            "expects 3.0 stars, minus 0.3 for curiosity",
        ),
    ],
)
def test_a_reason_leaves_out_what_is_not_known(reason: Reason, text: str) -> None:
    assert reason_text(glimpse_with(reason)) == text

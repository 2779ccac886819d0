"""The figures of the study of histories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand_lab.histories.plot import draw_ranks, draw_recovery, draw_repeats
from bandstand_lab.histories.words import percent, recovery_words
from bandstand_lab.paper.histories.findings import PAPER_SHARE
from bandstand_lab.report.study import Drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from bandstand.model.rank_frequency import Zipf
    from bandstand.types import Vector
    from bandstand_lab.histories.recovery import Recovery
    from bandstand_lab.paper.histories.people import Person


def repeats_and_ranks(people: Sequence[Person], together: Vector, law: Zipf | None) -> Drawing:
    """Return the paper's two figures beside each other."""
    shares = np.array([person.repeat_share for person in people])
    middle = float(np.median(shares))
    beside = "above" if middle > PAPER_SHARE else "below"
    slope = (
        "" if law is None else f" Plays fall with the rank as a line of slope -{law.exponent:.2f}."
    )
    caption = (
        f"Left: half of {len(people)} people repeat more than {percent(middle)} of the time, "
        f"{beside} the paper's {percent(PAPER_SHARE)} (dotted; box: quartiles, whiskers: 5 and "
        f"95 %).{slope}"
    )

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(0.8, 2))
        draw_repeats(left, shares)
        single = [person.plays_by_rank for person in people]
        draw_ranks(right, together, single if len(single) > 1 else [], law)

    return Drawing(name="repeats-and-ranks", caption=caption, draw=draw, width=10.0)


def rest_after_a_play(file: str, suggested: Recovery, number: int) -> Drawing:
    """Return how likely a song is some time after its play, in one file."""
    words = recovery_words(suggested)
    caption = (
        f"{file}: how much likelier than by chance two plays are of the same song, by the time "
        f"between them. {words}"
    )

    def draw(figure: Figure) -> None:
        draw_recovery(figure.subplots(), suggested)

    return Drawing(name=f"rest-after-a-play-{number}", caption=caption, draw=draw, width=7.0)

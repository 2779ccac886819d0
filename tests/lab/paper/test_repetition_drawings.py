"""The figures of the playlist study show all that was played."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from bandstand_lab.paper.repetition.drawings import rank_frequency
from bandstand_lab.paper.repetition.measures import Played, measured
from bandstand_lab.report.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drawn(**plays: list[float]) -> Figure:
    """Return the figure of algorithms with so many plays of each of their songs."""
    results = {
        name.replace("_", "-"): Played(
            algorithm=name.replace("_", "-"), runs=(measured(np.array(counts), library=50),)
        )
        for name, counts in plays.items()
    }
    figure = new_figure(12.0, 4.0)
    rank_frequency(results, []).draw(figure)
    return figure


@pytest.mark.parametrize("most", [4.0, 11.0, 12.0, 300.0])
def test_an_algorithm_that_hardly_repeats_does_not_cut_the_others(most: float) -> None:
    figure = drawn(random=[2.0, 1.0, 1.0, 1.0], greedy_cn=[most, 3.0, 2.0, 1.0])
    for axes in figure.axes:
        low, high = axes.get_ylim()
        assert low < 1
        assert most < high


def test_no_words_are_within_a_panel() -> None:
    figure = drawn(random=[1.0, 1.0, 1.0, 1.0], linucb_c=[40.0, 3.0, 2.0, 1.0])
    figure.draw_without_rendering()
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [len(axes.texts) for axes in shown] == [2, 2]
    for axes in shown:
        top = axes.get_window_extent().y1
        assert all(words.get_window_extent().y0 >= top for words in axes.texts)

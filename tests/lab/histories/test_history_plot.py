"""The figure of listening histories: what its titles say, and where its legend is."""

import numpy as np
import pytest

from bandstand._util.power_laws import zipf
from bandstand.types import Minutes
from bandstand_lab.histories.findings import Recovery
from bandstand_lab.histories.plot import draw_ranks, draw_recovery
from bandstand_lab.report.figures import new_figure


def recovery(time: float | None, interval: tuple[float, float]) -> Recovery:
    """Return a curve that rises all the way, of which so much is certain."""
    lags = np.geomspace(10.0, 50_000.0, 12)
    return Recovery(
        recovery_time=None if time is None else Minutes(time),
        interval=(Minutes(interval[0]), Minutes(interval[1])),
        pairs=1_000,
        lags=lags,
        closeness=1 + lags / 1e5,
        fitted=1 + lags / 1e5,
    )


@pytest.mark.parametrize(
    ("given", "title"),
    [
        (recovery(52.0, (40.0, 70.0)), "Novelty's recovery after a play: s 52 min (40 min–1.2 h)"),
        (recovery(None, (1.0, 21.0)), "Novelty's recovery after a play: s < 21 min"),
        (recovery(None, (1.0, 1e9)), "Novelty's recovery after a play: s ?"),
    ],
)
def test_the_title_has_the_recovery_or_its_bound(given: Recovery, title: str) -> None:
    axes = new_figure(6.0, 4.0).subplots()
    draw_recovery(axes, given)
    assert axes.get_title(loc="left").startswith(title) or axes.get_title().startswith(title)


def test_the_fitted_line_is_whole_and_does_not_cross_the_legend() -> None:
    plays = np.concatenate([np.full(200, 100.0), np.geomspace(99.0, 1.0, 5_000)])
    figure = new_figure(5.0, 3.5)
    axes = figure.subplots()
    law = zipf(plays)
    assert law is not None
    draw_ranks(axes, [plays], law)
    figure.draw_without_rendering()
    assert axes.get_ylim()[1] > law.first
    legend = axes.get_legend()
    assert legend is not None
    for line in axes.lines:
        assert (
            not line.get_path()
            .transformed(axes.transData)
            .intersects_bbox(legend.get_window_extent(), filled=False)
        )


def test_an_axis_without_decades_has_its_marks_labelled() -> None:
    figure = new_figure(5.0, 3.5)
    axes = figure.subplots()
    draw_ranks(axes, [np.array([3.0, 2.0, 1.0, 1.0])], None)
    figure.draw_without_rendering()
    for axis in (axes.xaxis, axes.yaxis):
        assert {"2", "3"} <= {label.get_text() for label in axis.get_minorticklabels()}

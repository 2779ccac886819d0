from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from bandstand.reports.learning_picture import learning_picture, save_learning_picture
from bandstand.reports.series import Ratings
from tests.reports.sessions import record_of

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes


def panels(algorithm: str = "bayes-ucb-cn-x", steps: int = 45) -> list[Axes]:
    return learning_picture(record_of(algorithm, steps)).axes


def curve(axes: Axes, colour: str) -> tuple[list[float], list[float]]:
    (line,) = [line for line in axes.lines if line.get_color() == colour]
    return np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()


def test_there_are_four_panels_with_titles_and_named_axes() -> None:
    axes = panels()
    assert len(axes) == 4
    for one in axes:
        assert one.get_title(loc="left")
        assert one.get_xlabel()
        assert one.get_ylabel()


def test_the_ratings_are_means_of_twenty_songs() -> None:
    means = Ratings.of(record_of().glimpses).smoothed(20)
    songs, drawn = curve(panels()[0], "#2f78b7")
    assert songs == list(range(1, 46))
    assert drawn == means.radio.tolist()


def test_the_true_novelty_curve_is_the_listener_s() -> None:
    hours, drawn = curve(panels()[1], "#d08c1a")
    expected = 1 - np.exp(-60 * np.array(hours) / record_of().recovery_time)
    np.testing.assert_allclose(drawn, expected)


def test_the_uncertainty_is_that_of_the_glimpses() -> None:
    _, drawn = curve(panels()[2], "#2f78b7")
    assert drawn == [glimpse.uncertainty for glimpse in record_of().glimpses]


def test_every_song_is_a_point_played_or_not() -> None:
    record = record_of()
    unplayed, played = (np.asarray(dots.get_offsets()) for dots in panels()[3].collections)
    rows = {glimpse.step.row for glimpse in record.glimpses}
    assert (len(played), len(unplayed)) == (len(rows), 30 - len(rows))
    assert set(played[:, 0]) == {record.liking[row] for row in rows}


@pytest.mark.parametrize("algorithm", ["random", "linucb-cn", "greedy-cn"])
@pytest.mark.parametrize("steps", [1, 25])
def test_the_figure_can_be_drawn_of_any_session(algorithm: str, steps: int, tmp_path: Path) -> None:
    save_learning_picture(record_of(algorithm, steps), tmp_path / "learning.png")
    assert (tmp_path / "learning.png").stat().st_size > 10_000


def test_the_same_session_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("one.png", "other.png"):
        save_learning_picture(record_of(), tmp_path / name)
    content = (tmp_path / "one.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert content == (tmp_path / "other.png").read_bytes()

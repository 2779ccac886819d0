"""Figures can be read by everybody, and everything that is drawn has its look."""

from itertools import combinations

import numpy as np
import pytest

from bandstand.core.registry import ALGORITHMS, WITHOUT_NAMES
from bandstand.errors import InvalidInputError
from bandstand_lab.report.figures import (
    ALGORITHM_LOOKS,
    METHOD_LOOKS,
    Look,
    draw_curve,
    in_order,
    label_ends,
    look_of,
    new_figure,
    png,
    style,
)
from bandstand_lab.speed.training import METHODS

# What is left of colours to people who lack one kind of cone, on linear RGB (Machado, Oliveira
# and Fernandes 2009, severity 1).
EYES = {
    "all cones": np.eye(3),
    "no long": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no middle": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no short": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
# In the units of CIELAB, where 2 is just seen side by side.
CLEARLY_DIFFERENT = 14.0


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    ratio = TO_XYZ @ np.clip(light, 0, 1) / WHITE
    x, y, z = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one: str, other: str) -> float:
    """Return how different two colours are to the eyes that see least of it."""
    return min(
        float(np.linalg.norm(lab(np.array(eye) @ linear(one)) - lab(np.array(eye) @ linear(other))))
        for eye in EYES.values()
    )


def alike(looks: dict[str, Look]) -> list[tuple[str, str]]:
    """Return the pairs that a reader may take for each other."""
    return [
        (one, other)
        for (one, first), (other, second) in combinations(looks.items(), 2)
        if distance(first.colour, second.colour) < CLEARLY_DIFFERENT
        and (first.dashes == second.dashes or first.marker == second.marker)
    ]


def test_every_algorithm_has_its_look() -> None:
    assert set(ALGORITHM_LOOKS) == set(ALGORITHMS)


def test_every_training_method_has_its_look() -> None:
    assert set(METHOD_LOOKS) == set(METHODS)


@pytest.mark.parametrize("looks", [ALGORITHM_LOOKS, METHOD_LOOKS])
def test_no_two_are_taken_for_each_other_whatever_colours_one_sees(looks: dict[str, Look]) -> None:
    assert alike(looks) == []
    assert len({look.label for look in looks.values()}) == len(looks)


def test_colours_that_only_some_people_can_tell_apart_are_found() -> None:
    red = Look(label="red", colour="#a83232")
    green = Look(label="green", colour="#5f6f1e")
    assert alike({"red": red, "green": green}) == [("red", "green")]


@pytest.mark.parametrize("look", [*ALGORITHM_LOOKS.values(), *METHOD_LOOKS.values()])
def test_a_label_can_be_read_on_white(look: Look) -> None:
    luminance = float(TO_XYZ[1] @ linear(look.colour))
    assert 1.05 / (luminance + 0.05) >= 3.0, look.label


def test_our_default_is_drawn_last_and_bold() -> None:
    assert in_order(ALGORITHMS)[-1] == WITHOUT_NAMES
    assert [name for name, look in ALGORITHM_LOOKS.items() if look.bold] == [WITHOUT_NAMES]


def test_a_name_without_a_look_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"must be one of random, .* got 'best'"):
        look_of("best")


def drawn() -> bytes:
    steps = np.arange(1.0, 51.0)
    with style():
        figure = new_figure(6, 4)
        axes = figure.subplots()
        for place, name in enumerate(ALGORITHM_LOOKS):
            draw_curve(axes, steps, steps + place, look_of(name), spread=0.1 * steps)
        label_ends(axes, dict.fromkeys(ALGORITHM_LOOKS, 50.0))
        return png(figure)


def test_the_same_figure_has_the_same_bytes() -> None:
    content = drawn()
    assert content.startswith(b"\x89PNG\r\n")
    assert content == drawn()


def test_a_curve_of_one_point_or_of_none_can_be_drawn() -> None:
    figure = new_figure(4, 3)
    axes = figure.subplots()
    draw_curve(axes, [1.0], [2.0], look_of("random"), spread=[0.5])
    draw_curve(axes, [], [], look_of("exact"))
    label_ends(axes, {})
    assert [np.size(line.get_xdata()) for line in axes.lines] == [1, 0]
    assert png(figure).startswith(b"\x89PNG\r\n")


def test_the_line_that_ends_highest_is_named_first() -> None:
    axes = new_figure(4, 3).subplots()
    label_ends(axes, {"random": 1.0, "greedy-cn": 3.0, WITHOUT_NAMES: 2.0})
    legend = axes.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [look_of(name).label for name in ("greedy-cn", WITHOUT_NAMES, "random")]

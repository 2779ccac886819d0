"""The picture for the terminal: it fits, it says what it should, and it needs no colours."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from bandstand.algorithms.registry import ALGORITHMS
from bandstand.reports.live_picture import LOWEST, NARROWEST, Scene, picture
from tests.reports.sessions import catalogue, record_of


def scene_of(algorithm: str = "bayes-ucb-cn-x", steps: int = 45, total: int = 45) -> Scene:
    record, songs = record_of(algorithm, steps), catalogue()
    return Scene(
        algorithm=algorithm,
        titles=songs.titles,
        artists=songs.artists,
        recovery_time=record.recovery_time,
        total=total,
        glimpses=record.glimpses,
    )


def drawn(scene: Scene, *, width: int = NARROWEST, height: int = LOWEST, hint: str = "") -> str:
    console = Console(file=StringIO(), width=width, height=height, color_system=None)
    console.print(picture(scene, width=width, height=height, hint=hint))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (81, 25), (100, 30), (133, 43), (250, 80)])
@pytest.mark.parametrize("steps", [1, 2, 45])
def test_the_picture_fits_the_terminal(width: int, height: int, steps: int) -> None:
    lines = drawn(scene_of(steps=steps), width=width, height=height, hint="Ctrl-C").splitlines()
    assert len(lines) < height
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [80, 97, 120])
def test_the_frames_are_closed(width: int) -> None:
    lines = drawn(scene_of(), width=width).splitlines()
    framed = [line for line in lines if line[0] in "╭│╰"]
    assert {len(line) for line in framed} == {width}
    assert {line[-1] for line in framed} == {"╮", "│", "╯"}
    assert sum(line.count("╭") for line in framed) == 3


def test_a_taller_terminal_gets_taller_charts() -> None:
    scene = scene_of()
    lines = [drawn(scene, height=height).count("\n") for height in (24, 27, 30, 50)]
    assert lines == sorted(lines)
    assert lines[0] < lines[2]


def test_the_picture_tells_the_song_the_stars_and_the_reason() -> None:
    scene = scene_of()
    step, text = scene.glimpses[-1].step, drawn(scene)
    assert f"{scene.titles[step.row]}  by {scene.artists[step.row]}" in text
    assert text.count("★") == step.rating
    assert text.count("★") + text.count("☆") == 5
    assert "liking" in text
    assert "chosen by bayes-ucb-cn-x" in text
    assert "song 45 of 45" in text


def test_the_picture_tells_what_is_learnt_beside_the_truth() -> None:
    scene = scene_of()
    text, summary = drawn(scene), scene.glimpses[-1].summary
    assert f"learnt {summary.recovery_time_mean:.0f} ± {summary.recovery_time_sd:.0f} min" in text
    assert f"truth  {scene.recovery_time:.0f} min" in text
    assert f"± {scene.glimpses[-1].uncertainty:.2f} stars" in text


def test_the_hint_is_shown_only_when_there_is_one() -> None:
    assert "Ctrl-C ends it" in drawn(scene_of(), hint="Ctrl-C ends it")
    assert "Ctrl-C" not in drawn(scene_of())


def test_charts_grow_with_the_session() -> None:
    early, late = (drawn(scene_of(steps=steps, total=45)) for steps in (2, 45))
    assert early.count("█") < late.count("█")


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"bayes-ucb-cn"}))
@pytest.mark.parametrize("steps", [1, 3])
def test_every_algorithm_can_be_pictured(algorithm: str, steps: int) -> None:
    lines = drawn(scene_of(algorithm, steps)).splitlines()
    assert len(lines) < LOWEST
    assert max(map(len, lines)) <= NARROWEST


def test_what_an_algorithm_does_not_say_is_not_made_up() -> None:
    text = drawn(scene_of("random"))
    assert "not learnt" in text
    assert "does not say how uncertain it is" in text


def test_long_names_are_cut_and_do_not_break_the_frame() -> None:
    scene = replace(scene_of(), titles=["A Very Long Title " * 10] * 30)
    lines = drawn(scene).splitlines()
    assert len(lines) == len(drawn(scene_of()).splitlines())
    assert max(map(len, lines)) <= NARROWEST

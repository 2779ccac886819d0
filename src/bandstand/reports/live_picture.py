"""What a radio learns while it learns it, as one screen of text.

It fits a terminal of 80 × 24 and uses more room for larger charts. The colours are of middle
lightness, to be read on a dark background and on a light one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bandstand.model.novelty import novelty
from bandstand.reports import block_charts
from bandstand.reports.block_charts import Ink
from bandstand.reports.learning_summary import recovery_text
from bandstand.reports.reason_text import heard_text, reason_text, time_text
from bandstand.reports.series import Ratings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from bandstand.inference.engine import Summary
    from bandstand.simulation.learning import Glimpse

NARROWEST: Final = 80  # columns
LOWEST: Final = 24  # lines
_WIDEST: Final = 120
_TALLEST_CHART: Final = 5
# Lines that are no chart of ratings: header, song, frame, gaps, uncertainty, and one left free.
_OTHER_LINES: Final = 13

_BLUE, _AMBER, _GREEN, _GREY = "#3d87c2", "#c98a12", "#4f9a72", "#868686"
_INKS: Final = {
    Ink.NOTHING: "",
    Ink.FILLED: _BLUE,
    Ink.BAND: _BLUE,
    Ink.MARK: _AMBER,
    Ink.MARK_ON_FILLED: f"{_AMBER} on {_BLUE}",
    Ink.BELOW_MARK: f"{_AMBER} reverse",
    Ink.FILLED_BELOW_MARK: f"{_BLUE} on {_AMBER}",
}

_WINDOW: Final = 20
_LABEL: Final = 11  # columns of a chart's name
_DAY: Final = 1_440.0  # minutes
# The ends of the scale of uncertainty, in stars.
_SMALL, _LARGE = 0.1, 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All that one picture shows."""

    algorithm: str
    titles: Sequence[str]
    artists: Sequence[str]
    recovery_time: float  # the truth, minutes
    total: int  # songs to be played in all
    glimpses: Sequence[Glimpse]  # at least one


def picture(scene: Scene, *, width: int, height: int, hint: str = "") -> RenderableType:
    """Return the picture of where the radio stands after the last glimpse.

    It takes less than `height` lines; `hint` is what the person at the screen can do.
    """
    columns = min(width, _WIDEST)
    lines = min(max((height - _OTHER_LINES) // 3, 2), _TALLEST_CHART)
    right = columns * 9 // 20
    charts = Table.grid(padding=0)
    charts.add_row(
        _ratings_panel(scene, width=columns - right, lines=lines),
        _recovery_panel(scene, width=right, lines=3 * lines + 2),
    )
    return Group(
        _header(scene, hint, columns),
        _song_panel(scene, columns),
        charts,
        _uncertainty_line(scene, columns),
    )


def _header(scene: Scene, hint: str, columns: int) -> RenderableType:
    last = scene.glimpses[-1].step
    name = Text.assemble(("Bandstand", f"bold {_BLUE}"), "  a radio that learns you")
    place = f"{time_text(last.moment)} · song {last.number} of {scene.total}"
    told = "It sees only the stars that a simulated listener gives."
    return Group(
        _two_ends(name, Text(place), columns),
        _two_ends(Text(told, style=_GREY), Text(hint, style=_GREY), columns),
    )


def _song_panel(scene: Scene, columns: int) -> Panel:
    glimpse = scene.glimpses[-1]
    row, stars = glimpse.step.row, round(glimpse.step.rating)
    song = Text.assemble((scene.titles[row], "bold"), ("  by ", _GREY), scene.artists[row])
    given = Text("★" * stars, style=_AMBER) + Text("☆" * (5 - stars), style=_GREY)
    lines = Group(
        _two_ends(song, given, columns - 2),
        _two_ends(Text(heard_text(glimpse.step.elapsed), style=_GREY), Text(), columns - 2),
        _two_ends(Text(reason_text(glimpse)), Text(), columns - 2),
    )
    return _framed(lines, f"Now playing, chosen by {scene.algorithm}", columns)


def _ratings_panel(scene: Scene, *, width: int, lines: int) -> Panel:
    means = Ratings.of(scene.glimpses).smoothed(_WINDOW)
    charts: list[Text] = []
    for name, values, colour in (
        ("Bandstand", means.radio, _BLUE),
        ("random", means.random, _GREY),
        ("at best", means.best, _GREEN),
    ):
        shown = block_charts.spread_out(
            values.tolist(), total=scene.total, columns=width - _LABEL - 8
        )
        drawn = block_charts.bars(shown, rows=lines, low=1.0, high=5.0)
        charts += [Text(), *_named(drawn, name, f"{values[-1]:.1f}", colour)]
    return _framed(Group(*charts[1:]), f"Stars, mean of the last {_WINDOW}", width)


def _recovery_panel(scene: Scene, *, width: int, lines: int) -> Panel:
    inner = width - 4
    rows = lines - 3
    summary = scene.glimpses[-1].summary
    times = (np.arange(inner) + 0.5) * _DAY / inner
    truth = novelty(times, scene.recovery_time).tolist()
    cells = block_charts.band(*_learnt_curves(times, summary), truth, rows=rows)
    curve = [
        Text.assemble(" ", *((character, _INKS[ink]) for character, ink in row)) for row in cells
    ]
    axis = Text(f" {'0':<{inner // 2 - 2}}{'12 h':<{inner - inner // 2 - 2}}24 h", style=_GREY)
    known = summary.recovery_time_mean is not None
    learnt = Text.assemble((" █", _BLUE), " learnt " if known else " ", recovery_text(summary))
    learnt.truncate(inner + 1, overflow="ellipsis")
    true = Text.assemble((" ▄", _AMBER), f" truth  {scene.recovery_time:.0f} min")
    return _framed(Group(*curve, axis, learnt, true), "Recovery of novelty", width)


def _learnt_curves(
    times: np.ndarray[tuple[int], np.dtype[np.float64]], summary: Summary
) -> tuple[list[float], list[float], list[float]]:
    """Return the curves of one sd below, at, and one sd above the learnt recovery time."""
    if summary.recovery_time_mean is None:
        nothing = [0.0] * len(times)
        return nothing, nothing, nothing
    mean, spread = summary.recovery_time_mean, summary.recovery_time_sd or 0.0
    slow, middle, quick = (
        novelty(times, max(s, 0.0)).tolist() for s in (mean + spread, mean, mean - spread)
    )
    return slow, middle, quick


def _uncertainty_line(scene: Scene, columns: int) -> RenderableType:
    values = [glimpse.uncertainty for glimpse in scene.glimpses]
    last = values[-1]
    if last is None:
        return Text(" This algorithm does not say how uncertain it is.", style=_GREY)
    name, said = " Uncertainty (log) ", f" ± {last:.2f} stars "
    shown = block_charts.spread_out(
        [value and math.log(max(value, _SMALL)) for value in values],
        total=scene.total,
        columns=columns - len(name) - len(said),
    )
    (bar,) = block_charts.bars(shown, rows=1, low=math.log(_SMALL), high=math.log(_LARGE))
    return Text.assemble((name, _GREY), (bar, _BLUE), said)


def _named(drawn: list[str], name: str, value: str, colour: str) -> list[Text]:
    """Return the lines of a chart with its name before the last one and its value after it."""
    *upper, last = drawn
    return [
        *(Text.assemble(" " * (_LABEL + 1), (line, colour)) for line in upper),
        Text.assemble(f" {name:<{_LABEL}}", (last, colour), (f" {value}", "bold")),
    ]


def _two_ends(left: Text, right: Text, columns: int) -> Text:
    """Return a line with something at its left and something at its right end."""
    gap = columns - 2 - left.cell_len - right.cell_len
    line = Text.assemble(" ", left, " " * max(gap, 1), right, " ", no_wrap=True)
    line.truncate(columns)
    return line


def _framed(content: RenderableType, title: str, width: int) -> Panel:
    return Panel(
        content,
        title=Text(title, style=_GREY),
        title_align="left",
        box=box.ROUNDED,
        border_style=_GREY,
        padding=0,
        width=width,
    )

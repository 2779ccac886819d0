from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.reports.block_charts import Ink, band, bars, spread_out

shares = st.floats(0, 1)


def heights(chart: list[str]) -> list[int]:
    """Return the height of each column in eighths of a row, read from the characters."""
    return [
        sum(" ▁▂▃▄▅▆▇█".index(character) for character in column)
        for column in zip(*chart, strict=True)
    ]


# ── Bars ─────────────────────────────────────────────────────────────────────────────────


@given(values=st.lists(shares, min_size=1, max_size=30), rows=st.integers(1, 8))
def test_a_bar_is_as_high_as_its_value_to_an_eighth(values: list[float], rows: int) -> None:
    chart = bars(values, rows=rows, low=0.0, high=1.0)
    assert len(chart) == rows
    for value, height in zip(values, heights(chart), strict=True):
        assert height == max(1, round(8 * rows * value))


@given(values=st.lists(st.floats(-9, 9), min_size=1, max_size=9), rows=st.integers(1, 4))
def test_a_bar_stays_within_its_chart(values: list[float], rows: int) -> None:
    drawn = heights(bars(values, rows=rows, low=1.0, high=5.0))
    assert all(1 <= height <= 8 * rows for height in drawn)


def test_bars_stand_on_the_ground_without_holes() -> None:
    assert bars([0.0, 0.5, 1.0], rows=2, low=0.0, high=1.0) == ["  █", "▁██"]


def test_what_does_not_exist_leaves_a_gap_and_nothing_leaves_nothing() -> None:
    assert bars([None, 1.0], rows=1, low=0.0, high=1.0) == [" █"]
    assert bars([], rows=2, low=0.0, high=1.0) == ["", ""]


# ── Columns ──────────────────────────────────────────────────────────────────────────────


@given(count=st.integers(0, 300), more=st.integers(0, 300), columns=st.integers(1, 120))
def test_columns_fill_as_the_values_come(count: int, more: int, columns: int) -> None:
    total = max(count + more, 1)
    shown = spread_out([float(value) for value in range(count)], total=total, columns=columns)
    known = [value for value in shown if value is not None]
    assert len(shown) == columns
    assert known == sorted(known)
    assert shown == [*known, *[None] * (columns - len(known))]
    if count:
        assert known[-1] == count - 1
    if count == total:
        assert None not in shown


# ── Bands ────────────────────────────────────────────────────────────────────────────────


@given(
    columns=st.lists(st.tuples(shares, shares, shares, shares), min_size=1, max_size=40),
    rows=st.integers(1, 12),
)
def test_a_band_is_a_full_table_of_single_characters(
    columns: list[tuple[float, float, float, float]], rows: int
) -> None:
    ordered = [(*sorted(column[:3]), column[3]) for column in columns]
    lower, middle, upper, marks = zip(*ordered, strict=True)
    chart = band(lower, middle, upper, marks, rows=rows)
    assert len(chart) == rows
    assert all(len(row) == len(columns) for row in chart)
    assert all(len(character) == 1 for row in chart for character, _ in row)


def inks(chart: list[list[tuple[str, Ink]]], column: int) -> list[Ink]:
    return [row[column][1] for row in chart]


def test_a_wide_band_is_shaded_between_its_ends() -> None:
    chart = band([0.25], [0.5], [0.75], [0.0], rows=4)
    assert inks(chart, 0) == [Ink.NOTHING, Ink.BAND, Ink.BAND, Ink.FILLED]


def test_a_thin_band_is_drawn_as_its_curve() -> None:
    chart = band([0.55], [0.5625], [0.57], [0.0], rows=2)
    assert [row[0][0] for row in chart] == ["▁", "█"]


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        (1.0, [("▄", Ink.BELOW_MARK), (" ", Ink.NOTHING)]),
        (0.5, [(" ", Ink.NOTHING), ("▄", Ink.BELOW_MARK)]),
        (0.625, [("▂", Ink.MARK), ("▆", Ink.BELOW_MARK)]),
        (0.0, [(" ", Ink.NOTHING), ("▄", Ink.MARK)]),
    ],
)
def test_a_mark_ends_at_its_value(mark: float, expected: list[tuple[str, Ink]]) -> None:
    chart = band([0.0] * 3, [0.0] * 3, [0.0] * 3, [mark] * 3, rows=2)
    assert [row[1] for row in chart] == expected


def test_a_mark_on_the_curve_leaves_the_curve_to_be_seen() -> None:
    chart = band([1.0] * 3, [1.0] * 3, [1.0] * 3, [0.625] * 3, rows=2)
    assert [row[1] for row in chart] == [("▂", Ink.MARK_ON_FILLED), ("▆", Ink.FILLED_BELOW_MARK)]
    assert inks(chart, 0) == inks(chart, 2) == [Ink.FILLED, Ink.FILLED]

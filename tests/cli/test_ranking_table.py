from __future__ import annotations

import re

import pytest

from bandstand.cli._ranking import elapsed_in_words
from bandstand.cli._tables import in_columns
from tests.fixtures.cli.files import HISTORY, Files
from tests.fixtures.cli.run_command import on_a_terminal


def test_the_table_says_for_each_item_what_the_json_says(files: Files) -> None:
    code, out, _ = files.recommend()
    assert code == 0
    header, *rows = out.split("\n\n")[0].splitlines()
    assert re.split(r"\s{2,}", header) == ["id", "last heard", "mean", "sd", "quantile", "score"]
    expected = files.ranking()["items"]
    assert [row.split()[0] for row in rows] == [item["id"] for item in expected]
    for row, item in zip(rows, expected, strict=True):
        numbers = [f"{item[name]:.3f}" for name in ("mean", "sd", "quantile", "score")]
        assert row.split()[-4:] == numbers
    whens = [re.split(r"\s{2,}", row)[1] for row in rows]
    assert sorted(whens) == ["1 day 0 h", "23 h 56 min", "never", "now"]


def test_below_the_table_is_what_was_learned(files: Files) -> None:
    made, learned = files.recommend("--raw").out.split("\n\n")[1].splitlines()
    assert made == "bayes-ucb-cn-x, step 6, seed 0, quantile at level 0.833333"
    assert learned == "Recovery time 272.6 ± 171.5 minutes; noise of a rating 1.68."
    made, learned = files.recommend("--algorithm", "random").out.split("\n\n")[1].splitlines()
    assert made == "random, step 6, seed 0"
    assert learned == "Recovery time unknown; noise of a rating unknown."


def test_nothing_is_said_of_recovery_before_an_item_was_rated_twice(files: Files) -> None:
    files.write(history="\n".join(HISTORY.splitlines()[:3]))
    assert files.ranking()["posterior"]["recovery_time_mean"] is not None
    *_, learned = files.recommend().out.splitlines()
    assert learned.startswith("Recovery time unknown; noise of a rating 0.")


def test_what_does_not_exist_is_a_dash(files: Files) -> None:
    rows = files.recommend("--algorithm", "random").out.split("\n\n")[0].splitlines()[1:]
    assert all(row.split()[-4:-1] == ["-", "-", "-"] for row in rows)


def test_columns_stay_aligned_with_wide_letters() -> None:
    table = in_columns([("id", "last heard", "mean"), ("音楽", "never", "1"), ("b", "now", "-22")])
    assert table.splitlines()[1:] == ["音楽  never          1", "b     now          -22"]


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (0, "now"),
        (0.001, "now"),
        (0.5, "30 s"),
        (0.999, "1 min"),
        (59.4, "59 min"),
        (59.9, "1 h 0 min"),
        (1_439.9, "1 day 0 h"),
        (2_879.9, "2 days 0 h"),
        (43_199, "30 days 0 h"),
        (43_200, "30 days or more"),
    ],
)
def test_elapsed_time_is_said_in_words(minutes: float, words: str) -> None:
    assert elapsed_in_words(minutes) == words


def test_ids_cannot_steer_the_terminal(files: Files) -> None:
    files.write(
        items='id,a\n"two\nlines",1\n\x1b[31mred,2\n[bold]b,3\n', history="item_id,time,rating\n"
    )
    out = files.recommend().out
    assert "\x1b" not in out
    assert all(name in out for name in ("two\\nlines ", "\\x1b[31mred ", "[bold]b "))


def test_a_terminal_gets_a_frame(files: Files) -> None:
    files.write(items='id,a\n[bold]b,3\n"\x1b[31mred",2\n', history="item_id,time,rating\n")
    size = {"TERM": "xterm", "COLUMNS": "100", "PYTHONUTF8": "1"}
    code, shown = on_a_terminal(*files.arguments(), **size)
    assert code == 0
    assert "│" in shown
    assert "[bold]b" in shown
    assert "\\x1b[31mred" in shown
    assert "bayes-ucb-cn-x, step 1, seed 0" in shown

"""`bandstand content`: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.fixtures.cli.run_command import Outcome, assert_refused, run

HEADER = "rater,item_id,rating\n"
PNG = b"\x89PNG\r\n\x1a\n"


class Study:
    """Twenty items and two raters who like the first feature."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.items, self.ratings = folder / "items.csv", folder / "ratings.csv"
        rng = np.random.default_rng(1)
        table = rng.standard_normal((20, 2))
        self.items.write_text(
            "id,a,b\n" + "".join(f"s{i},{a},{b}\n" for i, (a, b) in enumerate(table))
        )
        self.rows = [
            f"{who},s{i},{int(np.clip(np.rint(3 + a + 0.3 * rng.standard_normal()), 1, 5))}\n"
            for who in ("ann", "ben")
            for i, (a, _) in enumerate(table)
        ]
        self.ratings.write_text(HEADER + "".join(self.rows))

    def run(self, *options: str | Path) -> Outcome:
        return run("content", "--items", self.items, "--ratings", self.ratings, *options)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


def test_json_and_figure_are_written(study: Study) -> None:
    file, plot = study.folder / "out.json", study.folder / "out.png"
    code, _, err = study.run("--json", file, "--plot", plot, "--folds", "5", "--workers", "1")
    assert code == 0, err
    found = json.loads(file.read_text())
    assert found["folds"] == 5
    assert [rater["rater"] for rater in found["raters"]] == ["ann", "ben"]
    assert found["rmse"]["content"]["mean"] < found["rmse"]["mean"]["mean"]
    assert found["content_minus"]["ridge"]["degrees_of_freedom"] == 1
    assert plot.read_bytes().startswith(PNG)


def test_neither_the_order_of_rows_nor_the_processes_matter(study: Study) -> None:
    _, one, _ = study.run("--json", "-", "--workers", "1")
    order = np.random.default_rng(3).permutation(len(study.rows))
    study.ratings.write_text(HEADER + "".join(study.rows[place] for place in order))
    _, other, _ = study.run("--json", "-", "--workers", "2")
    found = [{rater["rater"]: rater for rater in json.loads(out)["raters"]} for out in (one, other)]
    assert found[0] == found[1]


def test_one_rater_needs_no_name(study: Study) -> None:
    rows = [row.split(",", 1)[1] for row in study.rows[:20]]
    study.ratings.write_text("item_id,rating\n" + "".join(rows))
    code, out, err = study.run("--workers", "1")
    assert code == 0, err
    assert "20 ratings of 1 rater," in out
    assert "content model minus" not in out  # no test with a single rater


def test_equal_ratings_have_no_share_to_explain(study: Study) -> None:
    study.ratings.write_text(HEADER + "".join(f"ann,s{i},4\n" for i in range(20)))
    code, out, err = study.run("--workers", "1")
    assert code == 0, err
    assert "expected to be off by √2 standard deviations: 0.000." in out
    assert "%" not in out


def test_another_scale_is_taken(study: Study) -> None:
    study.ratings.write_text(HEADER + "".join(f"ann,s{i},{10 * i}\n" for i in range(20)))
    assert_refused(study.run(), f"{study.ratings} line 2", "on the scale from 1 to 5, got '0'")
    assert study.run("--scale", "0", "190", "--workers", "1").code == 0


@pytest.mark.parametrize(
    ("ratings", "words"),
    [
        ("", ("expected a header with item_id,rating", "got an empty file")),
        (HEADER, ("at least one rating, got none",)),
        ("rater,item_id\nann,s1\n", ("line 1", "a column named rating")),
        ("rater,item_id,rating,mood\n", ("line 1", "got also 'mood'")),
        (f"{HEADER}ann,s1,4\nann,q,4\n", ("line 3", "the id of an item, got 'q'")),
        (f"{HEADER}ann,s1,6\n", ("line 2", "rating must be on the scale from 1 to 5", "got '6'")),
        (f"{HEADER}ann,s1,0.99\n", ("line 2", "got '0.99'")),
        (f"{HEADER}ann,s1,nan\n", ("line 2", "must be a finite number, got 'nan'")),
        (f"{HEADER}ann,s1,good\n", ("line 2", "got 'good'")),
        (f"{HEADER}ann,s1\n", ("line 2", "expected 3 fields", "got 2")),
        (f"{HEADER},s1,4\n", ("line 2", "rater must not be empty")),
        (f"{HEADER}ann,s1,4\nann,s2,4\nann,s1,3\n", ("line 4", "'s1' again by 'ann'", "line 2")),
        (
            f"{HEADER}ann,s1,4\nann,s2,4\n",
            ("line 3", "as many ratings as there are folds (10)", "got 2 of 'ann'"),
        ),
    ],
)
def test_ratings_that_cannot_be_used_are_refused(
    study: Study, ratings: str, words: tuple[str, ...]
) -> None:
    study.ratings.write_text(ratings)
    assert_refused(study.run(), str(study.ratings), *words)


def test_one_rater_with_too_few_ratings_among_others_is_named(study: Study) -> None:
    study.ratings.write_text(HEADER + "".join(study.rows) + "cid,s0,4\ncid,s3,2\n")
    refusal = study.run()
    assert_refused(refusal, f"{study.ratings} line 43", "folds (10), got 2 of 'cid'")
    assert study.run("--folds", "2", "--workers", "1").code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--scale", "5", "1"), ("--scale must be a lowest and a highest rating",)),
        (("--plot", "figure.txt"), ("--plot", "ends in .png", "got 'figure.txt'")),
    ],
)
def test_settings_that_cannot_be_used_are_refused(
    study: Study, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_refused(study.run(*options), *words)


def test_nothing_is_written_when_the_input_is_refused(study: Study) -> None:
    file = study.folder / "out.json"
    file.write_text("before")
    study.ratings.write_text(f"{HEADER}ann,s1,6\n")
    assert_refused(study.run("--json", file), "line 2")
    assert file.read_text() == "before"


# docs/research/own-data.md shows what the command really prints.


PAGE = (
    (Path(__file__).parents[2] / "docs" / "research" / "own-data.md")
    .read_text(encoding="utf-8")
    .split("\n## ")[2]
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("session", blocks("console"))
def test_the_examples_print_what_the_page_says(
    session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in zip(("songs.csv", "ratings.csv"), blocks("csv"), strict=True):
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command, expected = session.split("\n", maxsplit=1)
    _, out, err = run(*shlex.split(command.removeprefix("$ bandstand ")), "--workers", "1")
    assert out + err == expected

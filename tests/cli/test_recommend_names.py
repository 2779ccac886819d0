from __future__ import annotations

import re
from time import process_time

import numpy as np
import pytest

from bandstand import Recommender
from tests.fixtures.cli.files import ITEMS, Files
from tests.fixtures.cli.run_command import assert_refused

NAMES = (
    ("The Beatles", "Help! (Deluxe Edition)", "Rock; Pop"),
    ("Nina Simone", "", "jazz"),
    ("BEATLES", "Help!", "rock|Hip-Hop"),
    ("<Unknown>", "unknown album", "(None)"),
)
NAMED = "artist,album,tags,id,a,b\n" + "".join(
    ",".join([*texts, row]) + "\n" for texts, row in zip(NAMES, ITEMS.split()[1:], strict=True)
)
AT = ("--at", "2026-01-03")


def without_numbers(table: str) -> str:
    return "\n".join(line.rsplit(",", 2)[0] for line in table.splitlines())


def values(files: Files, name: str, *options: str) -> dict[str, float]:
    return {item["id"]: item[name] for item in files.ranking(*AT, *options)["items"]}


def test_names_are_learned_from_as_the_recommender_learns_from_them(files: Files) -> None:
    files.write(items=NAMED)
    ranking = files.ranking(*AT)
    assert ranking["algorithm"] == "mixed-effects"
    radio = Recommender(
        features=np.array([[1, 0], [0, 1], [1, 1], [-1, 0.5]]),
        ids=list("xyzw"),
        artists=["beatles", "nina simone", "beatles", None],
        albums=["help", None, "help", None],
        tags=[["rock", "pop"], ["jazz"], ["rock", "hip hop"], []],
        algorithm="mixed-effects",
    )
    for line in files.history.read_text().split()[1:]:
        song, time, rating = line.split(",")
        radio.update(song, rating=float(rating), time=time)
    expected = radio.predict(at="2026-01-03")
    mean, parts = expected.mean(), expected.parts()
    for item in ranking["items"]:
        row = "xyzw".index(item["id"])
        assert item["mean"] == pytest.approx(float(mean[row]), rel=1e-9)  # type: ignore[index]
        for name in ("content", "artist", "album", "song"):
            assert item[name] == pytest.approx(float(parts[name][row]), rel=1e-9, abs=1e-12)
    assert [item["elapsed_minutes"] for item in ranking["items"] if item["id"] == "w"] == [None]


def test_columns_of_other_names_do_as_well(files: Files) -> None:
    files.write(items=NAMED)
    expected = files.ranking()
    files.write(items=NAMED.replace("artist,album,tags", "author,series,keywords"))
    columns = ("--artist", "author", "--album", "series", "--tags", "keywords")
    assert files.ranking(*columns) == expected
    assert_refused(files.recommend(*columns[:4]), "feature 'keywords' must be a finite number")
    assert_refused(files.recommend("--tags", "mood"), "line 1: expected a column named mood")


def test_names_alone_rank_items(files: Files) -> None:
    files.write(items=without_numbers(NAMED))
    means = values(files, "mean")
    assert means["z"] > means["w"] > means["y"]
    for algorithm in ("linucb-c", "bayes-ucb-cn-x", "random"):
        assert files.recommend("--algorithm", algorithm).code == 0


def test_an_algorithm_without_names_says_so_and_learns_from_tags(files: Files) -> None:
    files.write(items=without_numbers(NAMED))
    options = ("--algorithm", "bayes-ucb-cn-x", "--json", "--at", "2027-01-01")
    outcome = files.recommend(*options)
    assert outcome.code == 0
    assert outcome.err == (
        "bayes-ucb-cn-x does not learn from artists and albums; mixed-effects does.\n"
    )
    files.write(items=re.sub("^[^,]*,[^,]*,", "", without_numbers(NAMED), flags=re.MULTILINE))
    assert files.recommend(*options) == outcome._replace(err="")
    assert files.ranking()["algorithm"] == "mixed-effects"


def test_the_table_shows_what_names_add(files: Files) -> None:
    files.write(items=NAMED)
    header, *rows = files.recommend().out.split("\n\n")[0].splitlines()
    assert header.split()[-3:] == ["score", "artist", "album"]
    for row, item in zip(rows, files.ranking()["items"], strict=True):
        assert row.split()[-2:] == [f"{item[name]:.3f}" for name in ("artist", "album")]


@pytest.mark.parametrize(
    ("artist", "tags"),
    [("7", "8"), ("", ""), ("<Unknown>", "(None)"), ("One", ";,|"), ("é" * 9_999, "x;" * 5_000)],
)
def test_names_of_little_use_do_no_harm(files: Files, artist: str, tags: str) -> None:
    rows = "".join(f'{item},{artist},"{tags}"\n' for item in "xyzw")
    files.write(items=f"id,artist,tags\n{rows}")
    outcome = files.ranking()
    assert len(outcome["items"]) == 4
    means = values(files, "mean")
    assert np.isfinite(list(means.values())).all()


def test_a_hundred_thousand_artists_are_ranked_in_seconds(files: Files) -> None:
    rows = (f"i{row},artist {row},tag {row % 7}\n" for row in range(100_000))
    files.write(items="id,artist,tags\n" + "".join(rows), history="item_id,time,rating\ni7,0,5\n")
    started = process_time()
    assert [item["id"] for item in files.ranking("--top", "2")["items"]] == ["i0", "i14"]
    assert process_time() - started < 20

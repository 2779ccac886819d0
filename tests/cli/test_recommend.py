from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bandstand import Recommender
from bandstand.core.registry import ALGORITHMS
from tests.fixtures.cli.files import HISTORY, ITEMS, Files
from tests.fixtures.cli.run_command import run_apart

KEYS = ["id", "elapsed_minutes", "mean", "sd", "quantile", "score"]
DRAWS = ("random", "thompson-cn-x")
EMPTY = "item_id,time,rating\n"
MONTH = 43_200.0
NOW = (
    "Without --at the moment is that of the last rating, 2026-01-02T10:08:00Z: x counts as just "
    "heard, not fresh at all.\n"
)


def order(ranking: dict[str, list[dict[str, str]]]) -> list[str]:
    return [item["id"] for item in ranking["items"]]


# ── The shape of the answer ──────────────────────────────────────────────────────────────


def test_the_json_has_the_promised_keys_in_their_order(files: Files) -> None:
    ranking = files.ranking()
    assert list(ranking) == ["algorithm", "seed", "step", "posterior", "items"]
    assert ranking["algorithm"] == "bayes-ucb-cn-x"
    assert (ranking["seed"], ranking["step"]) == (0, 6)
    assert list(ranking["posterior"]) == ["recovery_time_mean", "recovery_time_sd", "noise_sd"]
    for item in ranking["items"]:
        assert list(item) == [*KEYS, "content", "novelty", "bonus"]
        assert item["bonus"] == pytest.approx(item["score"] - item["mean"], abs=1e-12)


def test_a_process_of_its_own_says_the_same(files: Files) -> None:
    code, out, err = run_apart(*files.arguments("--json", "--raw"))
    assert (code, err) == (0, NOW)
    assert json.loads(out) == files.ranking("--raw")


def test_without_a_moment_the_one_that_is_assumed_is_said(files: Files) -> None:
    assert files.recommend().err == NOW
    assert files.recommend("--at", "2026-01-03T10:08:00Z").err == ""
    files.write(history="item_id,time,rating\nx,7.5,4\ny,8,2\nz,8,3\ny,8,1\n")
    said = files.recommend("--json").err
    assert said.endswith(
        "1970-01-01T00:00:08Z: y and 1 more count as just heard, not fresh at all.\n"
    )
    files.write(history=EMPTY)
    assert files.recommend().err == ""


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_ranks_by_its_own_score(files: Files, algorithm: str) -> None:
    for options in ([], ["--raw"]):
        ranking = files.ranking("--algorithm", algorithm, "--seed", "3", *options)
        assert ranking["algorithm"] == algorithm
        assert ranking["seed"] == 3
        assert sorted(order(ranking)) == ["w", "x", "y", "z"]
        scores = [item["score"] for item in ranking["items"]]
        assert scores == sorted(scores, reverse=True)
        assert all(list(item)[:6] == KEYS for item in ranking["items"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_can_start_from_nothing(files: Files, algorithm: str) -> None:
    files.write(history=EMPTY)
    for options in ([], ["--raw"]):
        ranking = files.ranking("--algorithm", algorithm, *options)
        assert ranking["step"] == 1
        for item in ranking["items"]:
            assert item["quantile"] is None
            assert item["bonus"] is None
            assert item["elapsed_minutes"] == (None if algorithm == "mixed-effects" else MONTH)


def test_what_an_engine_does_not_have_is_null(files: Files) -> None:
    by_chance = files.ranking("--algorithm", "random")
    assert set(by_chance["posterior"].values()) == {None}
    for item in by_chance["items"]:
        assert (item["mean"], item["sd"], item["quantile"]) == (None, None, None)
        assert 0 <= item["score"] < 1
    for item in files.ranking("--algorithm", "linucb-cn")["items"]:
        assert (item["sd"], item["quantile"]) == (None, None)
        assert item["score"] == pytest.approx(item["mean"] + item["width"], rel=1e-12)
        assert item["mean"] == pytest.approx(item["content"] + item["time"], rel=1e-12)


# ── The numbers ──────────────────────────────────────────────────────────────────────────


def problem(seed: int, count: int, columns: int) -> tuple[str, str, Recommender]:
    """Return items, a history with weights and fractions of seconds, and what has learned it."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(5, columns)).round(3)
    names = [f"item {row}" for row in range(5)]
    rows = [",".join(map(str, [name, *row])) for name, row in zip(names, features, strict=True)]
    items = "\n".join([",".join(["id", *(f"f{place}" for place in range(columns))]), *rows])
    lines, seconds = ["weight,rating,time,item_id"], 1_700_000_000.25
    learned = Recommender(features=features, ids=names, raw=True)
    for _ in range(count):
        name = names[rng.integers(4)]  # the last item is never heard
        seconds += round(float(rng.exponential(40_000)) * 64) / 64  # exact in binary
        rating, weight = round(float(rng.normal()), 4), float(rng.choice([1.0, 0.25, 2.0]))
        lines.append(f"{weight},{rating},{seconds!r},{name}")
        learned.update(name, rating, seconds, weight)
    return items, "\n".join(lines), learned


def numbers(ranking: dict[str, Any]) -> list[float]:
    """Return what a ranking says of every item, in the order of the file, and of the listener."""
    items = sorted(ranking["items"], key=lambda item: item["id"])
    of_items = [item[name] for name in ("mean", "sd", "quantile", "score") for item in items]
    return [*of_items, *ranking["posterior"].values()]


def numbers_of(learned: Recommender, level: float) -> list[float | None]:
    """Return the same numbers as the recommender itself says them."""
    found: Any = learned.predict(at=learned.answers[-1].time)
    told, quantile = learned.summary(), found.quantile(level)
    listener = [told.recovery_time_mean, told.recovery_time_sd, told.noise_sd]
    return [*found.mean(), *found.standard_deviation(), *quantile, *quantile, *listener]


@pytest.mark.parametrize(
    ("seed", "count", "columns", "level"),
    [(1, 2, 1, None), (2, 3, 2, 0.95), (3, 6, 3, None), (4, 20, 2, 0.05), (5, 150, 3, None)],
)
def test_the_numbers_are_those_of_the_recommender(
    files: Files, seed: int, count: int, columns: int, level: float | None
) -> None:
    """Which are those of brute force: `tests/core/engines/exact`."""
    items, history, learned = problem(seed, count, columns)
    files.write(items=items, history=history)
    ranking = files.ranking("--raw", *([] if level is None else ["--quantile", str(level)]))
    level = 1 - 1 / (count + 1) if level is None else level
    assert ranking["step"] == count + 1
    assert numbers(ranking) == pytest.approx(numbers_of(learned, level), rel=1e-9, abs=1e-12)
    last = learned.answers[-1]
    learned.undo()
    learned.update(last.song, last.rating + 1e-4, last.time, last.weight)
    assert numbers(ranking) != pytest.approx(numbers_of(learned, level), rel=1e-9, abs=1e-12)


def test_under_the_paper_s_prior_the_moments_come_one_by_one(files: Files) -> None:
    first, second = HISTORY.splitlines()[1:3]
    expected = {EMPTY: (False, False), f"{EMPTY}{first}\n": (True, False)}
    expected[f"{EMPTY}{first}\n{second}\n"] = (True, True)
    for history, exists in expected.items():
        files.write(history=history)
        for item in files.ranking("--raw")["items"]:
            assert (item["mean"] is not None, item["sd"] is not None) == exists


# ── Time ─────────────────────────────────────────────────────────────────────────────────


def elapsed(files: Files, *options: str) -> dict[str, float]:
    items = files.ranking(*options)["items"]
    return {item["id"]: item["elapsed_minutes"] for item in items}


def test_elapsed_minutes_count_from_an_item_s_last_row(files: Files) -> None:
    assert elapsed(files) == {"x": 0.0, "y": 1_444.0, "z": 1_436.0, "w": 43_200.0}


@pytest.mark.parametrize(
    "at", ["2026-01-02T10:09:30.6Z", "1767348570.6", "2026-01-02 12:09:30.6+02:00"]
)
def test_the_moment_can_be_given(files: Files, at: str) -> None:
    assert elapsed(files, "--at", at) == {"x": 1.51, "y": 1_445.51, "z": 1_437.51, "w": 43_200.0}


def test_a_row_of_weight_0_counts_as_heard_but_not_as_an_answer(files: Files) -> None:
    rows = [f"{line},{weight}" for line, weight in zip(HISTORY.split(), "w11011", strict=True)]
    files.write(history="\n".join(rows).replace(",w\n", ",weight\n"))
    with_zero = files.ranking()
    assert with_zero["step"] == 5
    # The third row, of x, says nothing about taste but restarts the clock of the fifth.
    without = HISTORY.replace("x,2026-01-01T10:08:00Z,3\n", "")
    files.write(history=without)
    assert files.ranking()["items"][0]["mean"] != with_zero["items"][0]["mean"]


def test_weights_of_1_are_the_same_as_none(files: Files) -> None:
    plain = files.ranking()
    rows = HISTORY.splitlines()
    files.write(history="\n".join([f"{rows[0]},weight", *(f"{row},1.0" for row in rows[1:])]))
    assert files.ranking() == plain


def test_a_heavier_row_counts_for_more(files: Files) -> None:
    means = []
    for weight in (0.01, 1, 100):
        files.write(
            history=f"item_id,time,rating,weight\nx,0,1,1\nx,90000,5,{weight}\ny,180000,3,1\n"
        )
        items = files.ranking("--at", "270000")["items"]
        means.append(next(item["mean"] for item in items if item["id"] == "x"))
    assert means == sorted(means)


# ── Choosing ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"bayes-ucb-cn"}))
def test_the_top_is_the_beginning_of_the_whole_list(files: Files, algorithm: str) -> None:
    rng = np.random.default_rng(0)
    rows = [f"i{row},{a},{b}" for row, (a, b) in enumerate(rng.normal(size=(40, 2)).round(1))]
    times = [f"i{rng.integers(9)},{3_000 * row},{rng.integers(1, 6)}" for row in range(12)]
    files.write(
        items="\n".join(["id,a,b", *rows]), history="\n".join(["item_id,time,rating", *times])
    )
    options = ("--algorithm", algorithm, "--at", "50000")
    everything, top = files.ranking(*options), files.ranking(*options, "--top", "7")
    assert order(top) == order(everything)[:7]
    for one, other in zip(top["items"], everything["items"][:7], strict=True):
        numbers = {name: value for name, value in other.items() if isinstance(value, float)}
        assert {name: one[name] for name in numbers} == pytest.approx(numbers, rel=1e-9, abs=1e-12)
        assert {**one, **numbers} == other


def test_an_empty_history_is_ordered_by_the_seed_alone(files: Files) -> None:
    files.write(history=EMPTY)
    firsts, orders = set(), set()
    for seed in range(40):
        ranking = files.ranking("--seed", str(seed))
        assert ranking == files.ranking("--seed", str(seed))
        firsts.add(order(ranking)[0])
        orders.add(tuple(order(ranking)))
    assert firsts == {"x", "y", "z", "w"}
    assert len(orders) > 12


@pytest.mark.parametrize("algorithm", DRAWS)
def test_what_is_drawn_follows_the_seed(files: Files, algorithm: str) -> None:
    def scores(seed: int) -> list[float]:
        items = files.ranking("--algorithm", algorithm, "--seed", str(seed))["items"]
        return [item["score"] for item in items]

    assert scores(1) == scores(1)
    assert scores(1) != scores(2)


def test_an_explicit_level_exists_even_before_the_first_rating(files: Files) -> None:
    files.write(history=EMPTY)
    for options in ((), ("--raw",)):
        ranking = files.ranking("--quantile", "0.9", *options)
        assert [item["quantile"] for item in ranking["items"]] == [None] * 4


def test_without_a_level_that_of_the_algorithm_counts(files: Files) -> None:
    own = files.ranking("--algorithm", "mixed-effects")
    assert own == files.ranking("--algorithm", "mixed-effects", "--quantile", "0.7")
    assert own != files.ranking("--algorithm", "mixed-effects", "--quantile", "0.8")
    assert all(item["score"] == item["quantile"] for item in own["items"])


def test_a_level_closer_to_one_never_gives_a_smaller_quantile(files: Files) -> None:
    by_level = [
        {item["id"]: item["quantile"] for item in files.ranking("--quantile", level)["items"]}
        for level in ("0.000001", "0.1", "0.5", "0.9", "0.9999999")
    ]
    for lower, higher in pairwise(by_level):
        assert all(lower[name] <= higher[name] for name in lower)


def test_equal_items_keep_the_order_of_the_file(files: Files) -> None:
    files.write(items=f"{ITEMS}second,1,1\nfirst,1,1\n")
    names = order(files.ranking("--at", "2027-01-01"))
    assert [name for name in names if name in {"z", "second", "first"}] == ["z", "second", "first"]

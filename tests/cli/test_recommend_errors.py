from pathlib import Path

import pytest

from tests.fixtures.cli.files import HISTORY, ITEMS, Files
from tests.fixtures.cli.run_command import assert_refused, run, run_apart

HEADER = "item_id,time,rating\n"
WEIGHTED = "item_id,time,rating,weight\n"


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ("", ("expected a header with id", "got an empty file")),
        ("\n\n", ("got an empty file",)),
        (b"\xef\xbb\xbf", ("got an empty file",)),
        ("id,a\n", ("at least one item",)),
        ("id\nx\n", ("at least one feature",)),
        ("name,a\nx,1\n", ("line 1", "a column named id", "'name', 'a'")),
        ("id;a\nx;1\n", ("line 1", "a column named id", "'id;a'")),
        ("id,a,a\nx,1,2\n", ("line 1", "must differ", "'a' twice")),
        (",id,a\n0,x,1\n", ("line 1", "must have a name")),
        ("id,a\nx,1\ny,2\nx,3\n", ("line 4", "'x' as in line 2")),
        ("id,a\n,1\n", ("line 2", "id must not be empty")),
        ("id,a\nx,1\ny\n", ("line 3", "expected 2 fields", "got 1")),
        ("id,a\nx,1,2\n", ("line 2", "expected 2 fields", "got 3")),
        ("id,a\nx,\n", ("line 2", "feature 'a' must be a finite number, got ''")),
        ("id,a\nx,one\n", ("line 2", "feature 'a' must be a finite number, got 'one'")),
        ("id,a\nx,1_000\n", ("line 2", "got '1_000'")),
        ("id,a\nx,1\ny,nan\n", ("line 3", "feature 'a' must be a finite number, got nan")),
        ("id,a\nx,-inf\n", ("line 2", "got -inf")),
        ("id,a\nx,1e400\n", ("line 2", "must be a finite number, got inf")),
        ("id,a\nx,1e305\n", ("line 2", "at most 1e+300 in size, got 1e+305")),
        (b"id,a\nx,1\n\xe9,2\n", ("line 3", "expected UTF-8 text, got byte 0xe9 at position 9")),
        ("id,a\nx,1\n".encode("utf-16"), ("line 1", "expected UTF-8 text, got byte 0xff")),
        ("id,a\nx,1\ny\0,2\n", ("line 3", "got a NUL byte")),
        (f"id,a\nx,1\n{'y' * 1_000_000},2\n", ("line 3", "expected comma-separated values")),
        (f"id,a\nx,{'y' * 100_000}\n", ("line 2", "yyy...'")),
        ('id,a\nx,1\n"y,2\n', ("line 3", "expected comma-separated values")),
        ('id,a\n"x"y,1\n', ("line 2", "expected comma-separated values")),
        ('id,a\n"two\nlines",1\nx,one\n', ("line 4", "'one'")),
    ],
)
def test_items_that_cannot_be_used_are_refused(
    files: Files, items: str | bytes, words: tuple[str, ...]
) -> None:
    files.write(items=items, history=HEADER)
    assert_refused(files.recommend(), f"{files.items}", *words)
    assert_refused(files.recommend("--json"), *words)


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ("", ("expected a header with item_id,time,rating", "got an empty file")),
        ("item_id,time\nx,1\n", ("line 1", "a column named rating")),
        ("item_id,time,rating,mood,place\n", ("line 1", "got also 'mood', 'place'")),
        ("item_id,time,rating,rating\n", ("line 1", "'rating' twice")),
        (f"{HEADER}x,0,4\nq,1,4\n", ("line 3", "item_id must be the id of an item, got 'q'")),
        (f"{HEADER}x ,0,4\n", ("line 2", "got 'x '")),
        (f"{HEADER},0,4\n", ("line 2", "item_id must not be empty")),
        (f"{HEADER}x,0,five\n", ("line 2", "rating must be a finite number, got 'five'")),
        (f"{HEADER}x,0,nan\n", ("line 2", "rating must be a finite number, got 'nan'")),
        (f"{HEADER}x,0,1e400\n", ("line 2", "rating must be a finite number, got '1e400'")),
        (f"{HEADER}x,0,1e31\n", ("line 2", "rating must be at most 1e+30 in size")),
        (f"{HEADER}x,0,\n", ("line 2", "got ''")),
        (f"{HEADER}x,0\n", ("line 2", "expected 3 fields", "got 2")),
        (f"{HEADER}x,yesterday,4\n", ("line 2", "a time must be ISO-8601", "'yesterday'")),
        (f"{HEADER}x,,4\n", ("line 2", "a time must be ISO-8601", "''")),
        (f"{HEADER}x,2026-13-01,4\n", ("line 2", "'2026-13-01'")),
        (f"{HEADER}x,nan,4\n", ("line 2", "a time must be finite")),
        (f"{HEADER}x,inf,4\n", ("line 2", "a time must be finite")),
        (f"{HEADER}x,1e400,4\n", ("line 2", "a time must be finite")),
        (f"{HEADER}x,1e12,4\n", ("line 2", "before the year 10000")),
        (f"{HEADER}x,60,4\n\ny,59.999,4\n", ("line 4", "in order", "'59.999'")),
        (f"{HEADER}x,2026-01-01,4\ny,2026-01-01T01:00+02:00,4\n", ("line 3", "in order")),
        (f"{WEIGHTED}x,0,4,-1\n", ("line 2", "weight must not be negative, got '-1'")),
        (f"{WEIGHTED}x,0,4,nan\n", ("line 2", "weight must be a finite number")),
        (f"{WEIGHTED}x,0,4,\n", ("line 2", "weight must be a finite number, got ''")),
        (b"item_id,time,rating\nx,0,\xff\n", ("line 2", "expected UTF-8 text")),
        (f"{HEADER}x,0,4\0\n", ("line 2", "NUL")),
    ],
)
def test_a_history_that_cannot_be_used_is_refused(
    files: Files, history: str | bytes, words: tuple[str, ...]
) -> None:
    files.write(history=history)
    assert_refused(files.recommend(), f"{files.history}", *words)
    assert_refused(files.recommend("--json", "--raw"), *words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--algorithm", "best"), ("one of random, linucb-c,", "bayes-ucb-cn-x", "got 'best'")),
        (("--quantile", "0"), ("--quantile must be between 0 and 1", "got 0.0")),
        (("--quantile", "1"), ("--quantile must be between 0 and 1", "got 1.0")),
        (("--quantile", "-3"), ("--quantile must be between 0 and 1",)),
        (("--quantile", "nan"), ("--quantile must be between 0 and 1", "got nan")),
        (("--top", "0"), ("--top", "0")),
        (("--at", "noon"), ("--at: a time must be ISO-8601", "'noon'")),
        (("--at", "nan"), ("--at: a time must be finite",)),
        (("--at", "2026-01-02T10:07:00Z"), ("--at must not be before the last row", "1 minutes")),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    files: Files, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_refused(files.recommend(*options), *words)


def test_raw_features_must_be_of_a_size_that_the_priors_can_meet(files: Files) -> None:
    files.write(items=ITEMS.replace("y,0,1", "y,0,1e9"))
    assert_refused(files.recommend("--raw"), "line 3", "'b' must be at most 1e+06 in size")
    assert files.recommend().code == 0


def test_files_that_cannot_be_read_are_named(files: Files, tmp_path: Path) -> None:
    nowhere, read = tmp_path / "nowhere.csv", "expected a file that can be read"
    for items, history, words in (
        (nowhere, files.history, (f"{nowhere}: {read}", "No such file")),
        (files.items, nowhere, (f"{nowhere}: {read}", "No such file")),
        (tmp_path, files.history, (str(tmp_path), "directory")),
        ("a" * 300, files.history, (read, "too long")),
    ):
        assert_refused(run("recommend", "--items", items, "--history", history), *words)


def test_a_process_of_its_own_ends_with_2_and_one_sentence(files: Files) -> None:
    files.write(history=HISTORY.replace(",5\n", ",five\n"))
    outcome = run_apart(*files.arguments("--json"))
    assert_refused(outcome)
    expected = f"{files.history} line 5: rating must be a finite number, got 'five'"
    assert outcome.err == f"Error: {expected}\n"

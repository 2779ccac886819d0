"""Files of ratings: whose are whose, and what is refused with its line."""

import re
from pathlib import Path

import numpy as np
import pytest

from bandstand.errors import InvalidInputError
from bandstand_lab.content.ratings import RatedItems, read_rated_items

HEADER = "rater,item_id,rating\n"
ROWS = [f"{who},s{row},{1 + row % 5}\n" for who in ("ann", "ben") for row in range(12)]


def read(folder: Path, ratings: str) -> RatedItems:
    items, place = folder / "items.csv", folder / "ratings.csv"
    items.write_text("id,a,b\n" + "".join(f"s{row},{row % 3},{row % 4}\n" for row in range(12)))
    place.write_text(ratings)
    return read_rated_items(items, place, folds=10)


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    order = np.random.default_rng(3).permutation(len(ROWS))
    shuffled = read(tmp_path, HEADER + "".join(ROWS[place] for place in order))
    for one in read(tmp_path, HEADER + "".join(ROWS)).raters:
        (other,) = (each for each in shuffled.raters if each.name == one.name)
        assert one.rows.tolist() == other.rows.tolist()
        assert one.ratings.tolist() == other.ratings.tolist()


def test_one_rater_needs_no_name(tmp_path: Path) -> None:
    rows = [row.split(",", 1)[1] for row in ROWS[:12]]
    (only,) = read(tmp_path, "item_id,rating\n" + "".join(rows)).raters
    assert only.ratings.tolist() == [1 + row % 5 for row in range(12)]


@pytest.mark.parametrize(
    ("ratings", "words"),
    [
        ("", "expected a header with item_id,rating and perhaps rater, got an empty file"),
        (HEADER, "at least one rating, got none"),
        ("rater,item_id\nann,s1\n", "line 1: .* a column named rating"),
        ("rater,item_id,rating,mood\n", "line 1: .* got also 'mood'"),
        (f"{HEADER}ann,s1,4\nann,q,4\n", "line 3: .* the id of an item, got 'q'"),
        (f"{HEADER}ann,s1,6\n", "line 2: rating must be on the scale from 1 to 5, got '6'"),
        (f"{HEADER}ann,s1,nan\n", "line 2: .* must be a finite number, got 'nan'"),
        (f"{HEADER}ann,s1\n", "line 2: expected 3 fields.* got 2"),
        (f"{HEADER},s1,4\n", "line 2: rater must not be empty"),
        (f"{HEADER}ann,s1,4\nann,s2,4\nann,s1,3\n", "line 4: .* 's1' again by 'ann' as in line 2"),
        (f"{HEADER}{''.join(ROWS)}cid,s0,4\n", re.escape("folds (10), got 1 of 'cid'")),
    ],
)
def test_ratings_that_cannot_be_used_are_refused(tmp_path: Path, ratings: str, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        read(tmp_path, ratings)

"""CSV files that worlds are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from bandstand.errors import InvalidInputError
from bandstand_lab.simulation.worlds import TasteWorld, read_feature_table, read_tastes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


@pytest.mark.parametrize("name", ["id", "file"])
def test_features_are_all_columns_but_the_name(file: Path, name: str) -> None:
    file.write_text(f"loud,{name},fast\n1,a song,2\n\n3.5,another,-4e2\n")
    assert read_feature_table(file).tolist() == [[1.0, 2.0], [3.5, -400.0]]


def test_the_raw_descriptors_of_real_tracks_are_a_table(shared_data: Path) -> None:
    features = read_feature_table(shared_data / "marsyas" / "tracks_tiny_159.csv")
    assert features.shape == (213, 159)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a header with id or file and at least one feature, got an empty file"),
        ("loud,fast\n1,2\n", "line 1: expected a column named id, got 'loud', 'fast'"),
        ("id\na\n", "line 1: there must be at least one feature beside id, got none"),
        ("id,x\n", "there must be at least one item, got none"),
        ("id,x\na,1\nb,loud\n", "line 3: feature 'x' must be a finite number, got 'loud'"),
        ("id,x\na,1\nb,\n", "line 3: feature 'x' must be a finite number, got ''"),
        ("id,x\na,inf\n", "line 2: feature 'x' must be a finite number, got inf"),
        ("id,x\na,1,2\n", "line 2: expected 2 fields as in the header, got 3"),
        ("id,x\na,1\nb,2\na,1\n", "line 4: ids must differ, got 'a' as in line 2"),
        ("file,x\na.mp3,1\n,2\n", "line 3: file must not be empty, got nothing"),
        ("id,x,x\na,1,2\n", "line 1: column names must differ, got 'x' twice"),
    ],
)
def test_a_bad_table_of_features_is_refused(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(InvalidInputError) as refused:
        read_feature_table(file)
    assert str(file) in str(refused.value)
    assert message in str(refused.value)


def test_likings_are_all_columns_but_the_name(file: Path) -> None:
    file.write_text("person,Folk,Opera\n0,1,5\n1,2.5,4\n")
    assert read_tastes(file).tolist() == [[1.0, 5.0], [2.5, 4.0]]


def test_what_nobody_said_counts_as_the_mean_of_the_rest(file: Path) -> None:
    file.write_text("Folk,Opera,Rock\n1,,4\n")
    assert read_tastes(file).tolist() == [[1.0, 2.5, 4.0]]


def test_the_survey_has_seventeen_genres(shared_data: Path) -> None:
    likings = read_tastes(shared_data / "taste" / "genre_liking_1010_people.csv")
    assert likings.shape == (1_010, 17)
    meeting = TasteWorld(likings=likings, songs=200).meeting(0, 0)
    stars = meeting.listener.expected_rating(meeting.radio("random", seed=0).songs())
    assert 1 <= stars.min() < stars.max() <= 5
    assert np.std(stars) > 0.2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a header with a column for each genre, got an empty file"),
        ("person\n1\n", "line 1: there must be a column for at least one genre, got none"),
        ("person,Folk\n", "there must be at least one person, got none"),
        ("person,Folk\n0,1\n1,6\n", "line 3: 'Folk' must be from 1 to 5, got '6'"),
        ("person,Folk\n0,much\n", "line 2: 'Folk' must be a finite number, got 'much'"),
        ("person,Folk,Opera\n0,,\n", "line 2: a person must have said something about a genre"),
    ],
)
def test_a_bad_survey_is_refused(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(InvalidInputError) as refused:
        read_tastes(file)
    assert str(file) in str(refused.value)
    assert message in str(refused.value)


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"table\.csv: expected a file that can be read"):
        read_tastes(file)

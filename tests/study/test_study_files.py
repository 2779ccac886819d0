"""A study as files: everything comes back as it was, and bad files are refused by line."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.study.design import Design
from bandstand.study.records import Participant, Record, SongSnapshot, StudyData
from bandstand.study.study_files import FILES, read_export, write_export
from bandstand_lab.user_study.simulated import simulated_study
from tests.fixtures.study.small import ONE, OTHER, THIRD, study

finite = st.floats(allow_nan=False, allow_infinity=False)
seconds = st.none() | st.floats(0.0, 1e9)
ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
moments = st.integers(0, 253_402_300_800_000)


@st.composite
def studies(draw: st.DrawFn) -> StudyData:
    design = Design(
        title=draw(st.sampled_from(["A study", "Études — «é», 音楽"])),
        algorithms=(ONE, OTHER, THIRD),
        ratings_per_arm=5,
        rest_seconds=draw(st.floats(0.0, 86_400.0)),
    )
    songs = draw(st.lists(ids, min_size=1, max_size=5, unique=True))
    columns = draw(st.integers(1, 3))
    row = st.lists(finite, min_size=columns, max_size=columns)
    features = draw(st.lists(row, min_size=len(songs), max_size=len(songs)))
    people = draw(st.lists(st.integers(0, 40), max_size=4, unique=True))
    records = [
        Record(
            participant=person,
            algorithm=algorithm,
            place=place,
            number=number,
            song=draw(st.sampled_from(songs)),
            stars=draw(st.integers(1, 5)),
            known=draw(st.booleans()),
            offered_at=draw(moments),
            rated_at=draw(moments),
            played_seconds=draw(seconds),
            choose_seconds=draw(seconds),
        )
        for person in people
        for place, algorithm in enumerate(design.algorithms)
        for number in range(1, draw(st.integers(0, 3)) + 1)
    ]
    return StudyData(
        design=design,
        study=draw(ids),
        catalogue=SongSnapshot.of(songs, features),
        records=tuple(draw(st.permutations(records))),
        participants=tuple(
            Participant(number=person, joined_at=draw(moments)) for person in people
        ),
        simulated=draw(st.booleans()),
        remarks=tuple(draw(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))),
    )


@given(studies())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_written_is_read_as_it_was(tmp_path: Path, data: StudyData) -> None:
    write_export(data, tmp_path)
    again = read_export(tmp_path)
    assert again == data
    before = [(tmp_path / name).read_bytes() for name in FILES]
    write_export(again, tmp_path)
    assert [(tmp_path / name).read_bytes() for name in FILES] == before


def test_a_whole_study_comes_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data = simulated_study(Design(ratings_per_arm=30), people=3, effects={ONE: 0.3}, rng=rng)
    write_export(data, tmp_path / "new" / "folder")
    assert read_export(tmp_path / "new" / "folder") == data


def test_other_songs_are_another_study(tmp_path: Path) -> None:
    """The twin: equality looks at features, so that losing a digit would be seen."""
    data = study({(0, ONE): [1]})
    write_export(data, tmp_path)
    other = np.array(data.catalogue.features)
    other[3, 1] = np.nextafter(other[3, 1], 9.0)
    songs = SongSnapshot.of(data.catalogue.ids, other)
    assert read_export(tmp_path) != replace(data, catalogue=songs)


# ── Bad files ────────────────────────────────────────────────────────────────────────────

GOOD = {(0, ONE): [1, 2, 3], (0, OTHER): [4], (7, ONE): [5]}


def refused(folder: Path, match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        read_export(folder)


def changed(folder: Path, file: str, line: int, before: str, after: str) -> None:
    """Write a good export and then change one of its lines."""
    write_export(study(GOOD), folder)
    lines = (folder / file).read_text(encoding="utf-8").splitlines()
    assert before in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(before, after, 1)
    (folder / file).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "before", "after", "match"),
    [
        (2, ",1,song 1,1,", ",1,song 1,0,", "line 2: stars must be .* from 1 to 5, got '0'"),
        (2, ",1,song 1,1,", ",1,song 1,6,", "line 2: stars must be .* from 1 to 5, got '6'"),
        (2, ",1,song 1,1,", ",1,song 1,1.0,", "line 2: stars must be a whole number"),
        (2, ",1,song 1,1,", ",1,song 1,,", "line 2: stars must be a whole number"),
        (2, ",song 1,", ",song 99,", "line 2: song must be the id of one in songs.csv"),
        (2, "0,", "3,", "line 2: participant must be one of participants.csv, got 3"),
        (2, "0,", "-1,", "line 2: participant must be a whole number"),
        (2, "greedy-cn", "thompson", "line 2: algorithm must be one of greedy-cn, bayes-ucb-cn-x"),
        (3, "1,2,song", "1,1,song", "line 3: numbers of an arm must differ, got 1 as in line 2"),
        (3, "1,2,song", "1,5,song", "line 4: numbers of participant 0 and .* but no 2"),
        (3, "1,2,song", "1,20,song", "line 3: number must be a whole number from 1 to 19"),
        (3, "cn,1,2", "cn,3,2", "line 3: an arm must have one place, got 3"),
        (5, "x,2,1", "x,1,1", "line 5: place 1 of participant 0 is of greedy-cn"),
        (2, "false", "no", "line 2: known must be one of true, false, got 'no'"),
        (2, "31.2", "-1", "line 2: played_seconds must not be negative"),
        (2, "31.2", "nan", "line 2: played_seconds must be a finite number"),
        (2, "1767", "99991767", "line 2: offered_at must be a whole number"),
        (2, "0,", "٣,", "line 2: participant must be a whole number"),
        (2, "0,", f"{'9' * 5000},", "line 2: participant must be a whole number"),
        (3, "0,", "0,0,", "line 3: expected 11 fields as in the header, got 12"),
        (1, "stars", "rating", "line 1: expected a column named stars"),
    ],
)
def test_a_bad_rating_is_refused_by_its_line(
    tmp_path: Path, line: int, before: str, after: str, match: str
) -> None:
    changed(tmp_path, "ratings.csv", line, before, after)
    refused(tmp_path, rf"ratings\.csv {match}")


@pytest.mark.parametrize(
    ("file", "line", "before", "after", "match"),
    [
        ("participants.csv", 3, "7", "0", "line 3: numbers must differ, got 0 as in line 2"),
        ("participants.csv", 3, "7", "x", "line 3: number must be a whole number"),
        ("participants.csv", 3, "1007", "", "line 3: joined_at must be a whole number"),
        ("songs.csv", 3, "song 1", "song 0", "line 3: ids must differ"),
        ("songs.csv", 3, "1.0", "inf", "line 3: feature 'x3' must be a finite number"),
        ("songs.csv", 3, "1.0", "", "line 3: feature 'x3' must be a finite number"),
        ("songs.csv", 1, "id", "song", "line 1: expected a column named id"),
        ("study.json", 2, "study 1", "study 2", 'expected the format "bandstand study 1"'),
        ("study.json", 4, "false", '"no"', "simulated must be true or false"),
        ("study.json", 3, "0123456789abcdef", "", "study must be an id"),
        ("study.json", 5, "[]", "[1]", "remarks must be a list of sentences"),
        ("study.json", 5, '"remarks"', '"words"', "expected the keys format, study"),
        ("study.json", 2, '"format"', "format", "line 2: expected JSON"),
        ("study.json", 7, '"title": "', '"title": "\\n', "title must be"),
        ("study.json", 10, "greedy-cn", "thompson", "algorithms must be names among"),
    ],
)
def test_what_else_is_bad_is_refused(
    tmp_path: Path, file: str, line: int, before: str, after: str, match: str
) -> None:
    changed(tmp_path, file, line, before, after)
    refused(tmp_path, rf"{file}.*{match}")


@pytest.mark.parametrize("missing", FILES)
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    write_export(study(GOOD), tmp_path)
    (tmp_path / missing).unlink()
    refused(tmp_path, f"{missing}: expected a file that can be read")


@pytest.mark.parametrize("content", [b"[]", b"7", b"null", b"\xff\xfe", b"[" * 100_000, b""])
def test_what_is_no_study_is_refused(tmp_path: Path, content: bytes) -> None:
    write_export(study(GOOD), tmp_path)
    (tmp_path / "study.json").write_bytes(content)
    refused(tmp_path, r"study\.json")


def test_the_design_in_the_file_must_be_an_object(tmp_path: Path) -> None:
    write_export(study(GOOD), tmp_path)
    about: dict[str, Any] = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    (tmp_path / "study.json").write_text(json.dumps({**about, "design": []}), encoding="utf-8")
    refused(tmp_path, "design must be an object")


def test_songs_must_have_a_row_of_finite_features_each() -> None:
    with pytest.raises(InvalidInputError, match="2 rows of finite numbers, got shape"):
        SongSnapshot.of(["a", "b"], [[1.0]])
    with pytest.raises(InvalidInputError, match="rows of finite numbers"):
        SongSnapshot.of(["a"], [[np.nan]])
    with pytest.raises(InvalidInputError, match="ids of songs must differ"):
        SongSnapshot.of(["a", "a"], [[1.0], [2.0]])

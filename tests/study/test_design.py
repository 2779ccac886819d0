"""The design of a study: the paper's by default, never one that nobody could fulfil."""

import json
import math
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.registry import SOUND_ALGORITHMS
from bandstand.errors import InvalidInputError
from bandstand.study.design import Design, differences, read_design, template

printable = st.characters(exclude_categories=["C", "Z"])
designs = st.builds(
    Design,
    title=st.text(printable, min_size=1, max_size=200),
    consent=st.text(printable, min_size=1, max_size=400),
    algorithms=st.lists(st.sampled_from(sorted(SOUND_ALGORITHMS)), min_size=2, unique=True).map(
        tuple
    ),
    ratings_per_arm=st.integers(1, 10_000),
    listen_seconds=st.floats(0, 3_600),
    rest_after=st.integers(1, 10_000),
    rest_seconds=st.floats(0, 86_400),
    arms_per_day=st.integers(1, 2),
    gap_hours=st.floats(0, 23),
    answer_seconds=st.floats(0, 60),
    least_songs=st.integers(2, 10_000_000),
    seed=st.integers(0, 2**63 - 1),
)


def test_the_defaults_are_the_papers() -> None:
    design = Design()
    assert len(design.algorithms) == 6
    assert (design.ratings_per_arm, design.listen_seconds) == (200, 30)
    assert (design.rest_after, design.rest_seconds) == (20, 4 * 60)
    assert (design.arms_per_day, design.gap_hours) == (2, 6)


@given(designs)
def test_a_design_survives_json(design: Design) -> None:
    through = json.loads(json.dumps(design.as_json()))
    assert Design.from_mapping(through, "the store") == design


def test_what_is_left_out_is_the_default() -> None:
    assert Design.from_mapping({}, "study.toml") == Design()
    assert Design.from_mapping({"seed": 9}, "study.toml") == Design(seed=9)
    assert isinstance(Design(rest_seconds=10).rest_seconds, float)
    assert Design(arms_per_day=1, gap_hours=48).gap_hours == 48


def test_zero_switches_a_wait_off() -> None:
    free = Design(listen_seconds=0, rest_seconds=0, gap_hours=0, arms_per_day=6, answer_seconds=0)
    assert free.rest_seconds == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"algorithms": ["random", "magic"]}, "algorithms must be names among .*, got 'magic'"),
        (
            {"algorithms": ["random", "mixed-effects"]},
            "algorithms .* keeps no names of artists.*, got 'mixed-",
        ),
        ({"algorithms": ["random"]}, "algorithms must be at least 2 names, got"),
        ({"algorithms": []}, "algorithms must be at least 2 names, got"),
        ({"algorithms": ["random", "random"]}, "algorithms must differ, got 'random' twice"),
        ({"algorithms": "random"}, "algorithms must be a list of names, got 'random'"),
        ({"algorithms": ["random", 3]}, "algorithms must be a list of names"),
        ({"ratings_per_arm": 0}, "ratings_per_arm must be a whole number from 1 to 10000, got 0"),
        ({"ratings_per_arm": 2.5}, "ratings_per_arm must be a whole number .* got 2.5"),
        ({"ratings_per_arm": True}, "ratings_per_arm must be a whole number .* got True"),
        ({"rest_after": -1}, "rest_after must be a whole number"),
        ({"listen_seconds": -1}, "listen_seconds must be a number from 0 to 3600, got -1"),
        ({"rest_seconds": math.nan}, "rest_seconds must be a number from 0 to 86400, got nan"),
        ({"rest_seconds": math.inf}, "rest_seconds must be a number from 0 to 86400, got inf"),
        ({"rest_seconds": "240"}, "rest_seconds must be a number .* got '240'"),
        ({"rest_seconds": True}, "rest_seconds must be a number .* got True"),
        ({"rest_seconds": 10**400}, "rest_seconds must be a number"),
        ({"answer_seconds": 61}, "answer_seconds must be a number from 0 to 60, got 61"),
        ({"gap_hours": 24}, "arms_per_day and gap_hours .* got 2 arms with 24 hours between"),
        ({"arms_per_day": 5}, "arms_per_day and gap_hours .* got 5 arms with 6 hours between"),
        ({"arms_per_day": 0}, "arms_per_day must be a whole number"),
        ({"least_songs": 1}, "least_songs must be a whole number from 2"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"title": ""}, "title must be text of 1 to 200 characters in one line, got ''"),
        ({"title": "a\nb"}, "title must be text .* without control characters"),
        ({"title": " a"}, "title must be text .* without spaces around it, got ' a'"),
        ({"title": "a" * 201}, "title must be text of 1 to 200 characters in one line, got"),
        ({"title": 3}, "title must be text"),
        ({"consent": "  \n"}, "consent must be text of 1 to 20,000 characters, got"),
        ({"consent": "a\0b"}, "consent must be text .* without control characters"),
        ({"rest": 240}, "a study must have no other keys than title, .*, got 'rest'"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^study.toml: {words}"):
        Design.from_mapping(changes, "study.toml")


def test_every_difference_is_said_in_words() -> None:
    now = Design(title="Other", consent="Yes?", algorithms=("random", "greedy-cn"), rest_seconds=10)
    assert differences(Design(), now) == (
        "title is 'Other' instead of 'Comparison of music recommenders'",
        "consent is another text",
        f"algorithms are random, greedy-cn instead of {', '.join(Design().algorithms)}",
        "rest_seconds is 10 instead of 240",
    )


@given(designs, designs)
def test_equal_designs_are_those_without_differences(one: Design, other: Design) -> None:
    assert (differences(one, other) == ()) == (one == other)


def test_the_template_is_the_default_design(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(template(), encoding="utf-8")
    assert read_design(path) == Design()
    path.write_bytes(b"")
    assert read_design(path) == Design()


def test_every_field_of_the_template_has_a_comment() -> None:
    assert set(tomllib.loads(template())) == {field.name for field in fields(Design)}
    lines = template().splitlines()
    commented = ("", *lines)
    for number, line in enumerate(lines):
        if re.match(r"[a-z_]+ = ", line):
            assert commented[number].startswith("#") or re.match(r"[a-z_]+ = ", commented[number])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"title = ", "must be TOML in UTF-8, got: Invalid value"),
        (b"title = '\xff'", "must be TOML in UTF-8, got: 'utf-8' codec"),
        (b"rest_seconds = nan", "rest_seconds must be a number from 0 to 86400, got nan"),
        (b"seed = " + b"9" * 5_000, "must be TOML in UTF-8, got: Exceeds the limit"),
        (b"seed = " + b"9" * 500, "seed must be a whole number from 0 to .*, got 9999"),
        (b"colour = 1", "a study must have no other keys than .*, got 'colour'"),
        (b"[rest]\nseconds = 1", "a study must have no other keys than .*, got 'rest'"),
        (b"#" * (1 << 20) + b"#", "must have at most 1,048,576 bytes, got more"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"{re.escape(str(path))}:? {words}"):
        read_design(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"none\.toml must be a file .* No such file"):
        read_design(tmp_path / "none.toml")

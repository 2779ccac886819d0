"""A study's file: what is written for a person says all defaults, and what is wrong is said."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from bandstand.errors import InvalidInputError
from bandstand.study.design import Design, read_design, template

if TYPE_CHECKING:
    from pathlib import Path


def test_the_template_is_the_default_design(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(template(), encoding="utf-8")
    assert read_design(path) == Design()


def test_the_template_names_every_field() -> None:
    assert set(tomllib.loads(template())) == {field.name for field in fields(Design)}


def test_every_field_of_the_template_has_a_comment() -> None:
    lines = template().splitlines()
    commented = ("", *lines)
    for number, line in enumerate(lines):
        if re.match(r"[a-z_]+ = ", line):
            assert commented[number].startswith("#") or re.match(r"[a-z_]+ = ", commented[number])


def test_an_empty_file_is_the_default_design(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(b"")
    assert read_design(path) == Design()


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

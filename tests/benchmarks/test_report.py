"""Targets are checked in one place; parts that fail do not cost the others."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bandstand.errors import BandstandError
from benchmarks.program import Target, child, measure_parts, print_tables, write

PART: dict[str, Any] = {
    "rows": [{"kind": "own", "songs": 1_000, "ratio": 0.123}],
    "figures": {"playlist": 9.5},
}


def absent(_: Any) -> dict[str, Any]:
    msg = "expected PostgreSQL [programs], found none"
    raise BandstandError(msg)


@pytest.mark.parametrize(
    ("relation", "below", "equal", "above"),
    [
        ("≤", True, True, False),
        ("<", True, False, False),
        ("≥", False, True, True),
        (">", False, False, True),
        ("=", False, True, False),
    ],
)
def test_a_target_holds_on_one_side_of_its_bound(
    relation: str,
    below: bool,
    equal: bool,
    above: bool,
) -> None:
    target = Target("step", "ratio", relation, 2.0, "×")
    assert [target.check(value)["holds"] for value in (1.0, 2.0, 3.0)] == [below, equal, above]


def test_what_was_measured_is_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = measure_parts({"playlist": lambda _: PART}, {"songs": 3})
    assert [one["holds"] for one in document["targets"]] == [True]
    screen = io.StringIO()
    print_tables(document, Console(file=screen, width=80))
    assert all(word in screen.getvalue() for word in ("≤ 10 × stream", "holds", "1,000", "0.12"))
    write(document, str(tmp_path / "found.json"))
    assert "× stream" in capsys.readouterr().out
    written = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    write(document, "-")
    assert json.loads(capsys.readouterr().out) == written
    assert written["request"] == {"songs": 3}


def test_a_part_that_cannot_be_measured_does_not_cost_the_others() -> None:
    found = measure_parts({"serving": absent, "playlist": lambda _: PART}, {})
    assert list(found["parts"]) == ["playlist"]
    assert found["unmeasured"] == {"serving": "expected PostgreSQL [programs], found none"}
    screen = io.StringIO()
    print_tables(found, Console(file=screen))
    assert "serving could not be measured: expected PostgreSQL [programs]" in screen.getvalue()
    with pytest.raises(BandstandError, match="found none"):
        measure_parts({"serving": absent}, {})


def test_a_child_that_fails_is_one_sentence() -> None:
    with pytest.raises(BandstandError, match="the process memory must end with code 0, got 1"):
        child("memory", {})

from __future__ import annotations

import math
from typing import Any

import pytest

from bandstand.errors import InvalidInputError
from bandstand.music.sandbox import Limits
from bandstand.music.sandbox.protocol import in_words


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("memory_bytes", 0),
        ("cpu_seconds", 0),
        ("cpu_seconds", -1),
        ("wall_seconds", 0),
        ("wall_seconds", math.inf),
        ("cpu_seconds", math.nan),
        ("written_bytes", -1),
        ("open_files", 3),
        ("reply_bytes", 100),
    ],
)
def test_limits_that_nothing_could_work_under_are_refused(field: str, value: float) -> None:
    chosen: dict[str, Any] = {field: value}
    with pytest.raises(InvalidInputError, match=rf"{field} must be .*, got {value}"):
        Limits(**chosen)


def test_the_words_say_what_is_in_force_and_what_is_missing() -> None:
    everything = {"memory", "times", "open files", "calls", "rights", "new rights"}
    assert in_words(Limits(), everything) == (
        "a process of its own, at most 1024 MB of memory, 60 s of processor time, 120 s in all, "
        "64 open files, no network, no writing, no other programs, no rights but to read, "
        "no new rights"
    )
    little = in_words(Limits(), {"times"})
    assert "not on this system: at most 1024 MB of memory" in little
    assert "no network" in little.partition("not on this system")[2]


def test_the_words_do_not_claim_what_was_allowed() -> None:
    free = in_words(Limits(written_bytes=1, may_start_programs=True), {"calls"})
    assert "no network" in free
    assert "no writing" not in free
    assert "no other programs" not in free

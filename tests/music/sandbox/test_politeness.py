"""Children that stand back for others, and that can be ended while they work."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bandstand.errors import InvalidInputError
from bandstand.music.sandbox import Answer, Failure, Limits, Pool
from tests.fixtures.music.sandbox_children import eventually, outcomes, pool, value

if TYPE_CHECKING:
    from bandstand.music.sandbox.protocol import Outcome


def answer(made: Pool) -> Outcome:
    return outcomes(made, [{}])[0]


@pytest.mark.parametrize("niceness", [0, 7])
def test_a_child_is_as_nice_as_it_is_told(niceness: int) -> None:
    with pool("who", limits=Limits(niceness=niceness)) as made:
        number = value(answer(made))["process"]
        mine = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, number) == min(mine + niceness, 19)


def test_a_session_of_its_own_does_not_make_a_child_impolite() -> None:
    place = Path("/proc/self/autogroup")
    if place.exists():  # elsewhere sessions are not weighed
        with pool("read", limits=Limits(niceness=7)) as made:
            (found,) = outcomes(made, [{"path": str(place)}])
        assert value(found)["content"].endswith("nice 7\n")


def test_a_child_cannot_be_told_to_push_others_aside() -> None:
    with pytest.raises(InvalidInputError, match="niceness must be at least 0"):
        Limits(niceness=-5)


def test_whoever_is_at_work_can_be_ended_from_another_thread() -> None:
    with pool("sleep", workers=2) as made:
        threading.Timer(0.5, made.interrupt).start()
        began = time.monotonic()
        ended = dict(made.run((number, {"seconds": 60}) for number in range(2)))
        assert time.monotonic() - began < 30
        assert all(isinstance(outcome, Failure) for outcome in ended.values())


def test_after_an_interruption_there_are_new_children() -> None:
    with pool("who") as made:
        before = value(answer(made))
        made.interrupt()
        # A request in the moment of dying still meets the old one.
        assert eventually(lambda: isinstance(answer(made), Answer))
        assert value(answer(made)) != before

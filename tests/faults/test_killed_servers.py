"""`kill -9` at any moment: what was acknowledged is there, once (A1)."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.faults.load import Acknowledged, Listeners, problems, tell
from tests.fixtures.faults.servers import NAMES, harmed, song_ids

if TYPE_CHECKING:
    from pathlib import Path

# No start takes a fifth of that; one that does never ends.
LONGEST_START = 30.0


def kill_again_and_again(home: Path, kills: int, seed: int) -> str:
    """Return figures in words, after a server was killed so many times and lost nothing."""
    draw, starts = random.Random(seed), []  # noqa: S311
    with harmed(home) as server:
        songs = song_ids(server)
        with Listeners(server, NAMES, songs) as listeners:
            for _ in range(kills):
                listeners.wait_for(11)
                time.sleep(draw.uniform(0, 0.5))
                server.kill()
                began = time.monotonic()
                server.start()
                starts.append(time.monotonic() - began)
            listeners.wait_for(10)
        server.kill()
        found = problems(server.store, listeners.acknowledged)
        assert found == []
        assert listeners.refused == []
        assert len(listeners.acknowledged) > 10 * kills
        assert max(starts) < LONGEST_START
        assert_the_check_sees(server.store, listeners.acknowledged)
    told = f"{len(listeners.acknowledged)} acknowledged, {listeners.unanswered} unanswered"
    return f"{kills} kills: {told}, 0 lost; restart at most {max(starts):.2f} s"


def assert_the_check_sees(place: str, acknowledged: list[Acknowledged]) -> None:
    """Plant errors: an acknowledgement that never was, and some of something else."""
    first, *others = acknowledged
    never = first._replace(key="never sent", seq=10**6)
    assert len(problems(place, [*acknowledged, never])) == 1
    for changed in (
        first._replace(stars=6),
        first._replace(song="0" * 16),
        first._replace(key="of another"),
        first._replace(seq=first.seq + 1),
    ):
        assert len(problems(place, [changed, *others])) == 1
    assert len(problems(place, [first, *acknowledged])) == 1


def test_a_server_that_is_killed_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    tell(kill_again_and_again(tmp_path, 4, seed=1))


@pytest.mark.long
def test_a_server_that_is_killed_fifty_times_loses_nothing(tmp_path: Path) -> None:
    tell(kill_again_and_again(tmp_path, 50, seed=time.time_ns()))

"""The same log says the same in every process, time zone and year (PROMISES H1 to H5, N1, N3)."""

import json
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bandstand.radio.log.fold import fold
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.cli.run_command import environment
from tests.fixtures.programs import require_program
from tests.fixtures.radio.logs import DAY, HOUR, MINUTE, SONGS, Log

SCRIPT = Path(__file__).parents[2] / "fixtures" / "radio" / "fold_in_process.py"
ZONES = ("UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Apia")
YEARS = ("2001-02-28 23:59:50", "2040-02-29 00:00:00")


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000)


@cache
def calendar_log() -> Log:
    """Return plays on the nights when calendars do strange things, and a clock that goes back."""
    nights = [
        "2023-12-29T09:30:00",  # Samoa once had no 30 December
        "2024-02-28T23:58:00",  # a leap day follows
        "2024-02-29T23:58:00",
        "2024-03-10T06:58:00",  # New York loses an hour
        "2024-11-03T05:58:00",  # and gets it back
        "2024-12-31T23:58:00",
        "2023-12-31T23:58:00",  # the clock was set back a year
        "2025-03-01T00:00:00",
    ]
    log = Log()
    for night, text in enumerate(nights):
        log.clock = moment(text)
        for song in range(4):
            log.add("listen", SONGS[(night + song) % 6], after=MINUTE, played_ms=50_000)
            log.add("rating", SONGS[(night + song) % 6], after=1_000, stars=1 + (night + song) % 5)
        log.add("skip", SONGS[night % 6], after=3 * HOUR, played_ms=20_000)
        until = log.events[-1].at + 30 * DAY
        log.add("snooze", scope="song", target=SONGS[night % 6], until=until)
        log.add("retract", retracts=log.events[-5].seq)
    return log


def folded_apart(*before: str, **variables: str) -> dict[str, Any]:
    """Return what a process of its own made of the log; see the script."""
    lines = []
    for event in calendar_log().events:
        told = asdict(event)
        del told["digest"]
        lines.append(json.dumps(told) + "\n")
    done = subprocess.run(
        [*before, sys.executable, str(SCRIPT)],
        env=environment(**variables),
        input="".join(lines),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@cache
def in_every_zone() -> list[dict[str, Any]]:
    return [folded_apart(TZ=zone, PYTHONHASHSEED=str(seed)) for seed, zone in enumerate(ZONES, 1)]


def test_every_zone_and_every_hash_seed_gives_the_same_digest() -> None:
    seen = in_every_zone()
    assert {report["right"] for report in seen} == {fold(calendar_log().events).digest()}


@pytest.mark.parametrize("error", ["clock", "zone", "hash"])
def test_a_fold_that_looks_at_what_is_not_in_the_log_is_seen(error: str) -> None:
    assert len({report[error] for report in in_every_zone()}) > 1


def test_the_zones_and_hash_seeds_were_really_different() -> None:
    assert len({report["offset"] for report in in_every_zone()}) == len(ZONES)
    assert len({report["mixed"] for report in in_every_zone()}) == len(ZONES)


def test_every_year_gives_the_same_digest() -> None:
    program = require_program("faketime")
    seen = [folded_apart(program, year) for year in YEARS]
    assert {report["right"] for report in seen} == {fold(calendar_log().events).digest()}
    assert [report["year"] for report in seen] == [int(text[:4]) for text in YEARS]

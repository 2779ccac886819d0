"""`bandstand rebuild`, as a listener's administrator would use it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bandstand.radio.log.fold import VERSION
from bandstand.radio.log.snapshots import check, rebuild
from bandstand.store.database.connection import open_store
from bandstand.store.events import snapshots
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.cli.run_command import Outcome, assert_refused, environment, run
from tests.fixtures.programs import require_program
from tests.fixtures.radio.listeners import stored
from tests.radio.log.test_fold_anywhere import YEARS, ZONES, calendar_log


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a store with two listeners."""
    path = tmp_path / "radio.db"
    with open_store(str(path), now=1_000) as store:
        stored(store, calendar_log(), calendar_log())
    return path


def digest_of(outcome: Outcome) -> str:
    assert outcome.code == 0, outcome.err
    return str(json.loads(outcome.out)["digest"])


def test_it_says_how_many_and_one_digest(place: Path) -> None:
    with open_store(str(place)) as store:
        expected = rebuild(store)
        with store.writing() as connection:
            snapshots.delete_all(connection)
    code, out, err = run("rebuild", "--store", place)
    count = 2 * len(calendar_log().events)
    assert (code, err) == (0, "")
    assert out == f"2 listeners, {count} events, digest {expected.digest}\n"
    with open_store(str(place)) as store, store.reading() as connection:
        for account in expected.digests:
            assert snapshots.get(connection, account, VERSION) is not None
    with open_store(str(place)) as store:
        assert check(store) == []


def test_it_prints_json(place: Path) -> None:
    outcome = run("rebuild", "--store", place, "--json", "--catalogue")
    report = json.loads(outcome.out)
    assert list(report) == ["listeners", "events", "digest", "digests"]
    assert len(report["digests"]) == report["listeners"] == 2
    assert digest_of(outcome) == digest_of(run("rebuild", "--store", place, "--json"))


def test_a_store_without_listeners_is_soon_done(tmp_path: Path) -> None:
    path = tmp_path / "radio.db"
    open_store(str(path)).close()
    assert run("rebuild", "--store", path).out.startswith("0 listeners, 0 events, digest ")


def test_it_makes_no_store_where_there_is_none(tmp_path: Path) -> None:
    assert_refused(run("rebuild", "--store", tmp_path / "none.db"), "found none")
    assert not list(tmp_path.iterdir())


def test_neither_zone_nor_hash_seed_nor_year_matters(place: Path) -> None:
    program = require_program("faketime")
    expected = digest_of(run("rebuild", "--store", place, "--json"))
    for seed, (year, zone) in enumerate(zip(YEARS, ZONES[2:], strict=True)):
        command = [sys.executable, "-m", "bandstand", "rebuild", "--store", str(place), "--json"]
        done = subprocess.run(
            [program, year, *command],
            env=environment(TZ=zone, PYTHONHASHSEED=str(seed)),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert digest_of(Outcome(done.returncode, done.stdout, done.stderr)) == expected

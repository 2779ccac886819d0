"""The same log, shelf and seed give the same songs, in any process and any order (N1, N2)."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from bandstand.radio.log.fold import fold
from tests.conftest import ROOT
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.radio.catalogues import model, rated, shelf
from tests.fixtures.radio.play_in_process import ALGORITHMS, play
from tests.radio.selection.test_training_data import SHELF, followed


def played_elsewhere(order: str, hash_seed: str, threads: str) -> object:
    """Return what a process of its own plays."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "OPENBLAS_NUM_THREADS": threads,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.fixtures.radio.play_in_process", order],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=PATIENCE,
    )
    return json.loads(done.stdout)


def test_two_processes_play_the_same_in_whatever_order_listeners_come() -> None:
    here = play(in_turn=True)
    assert len({tuple(heard) for heard in here}) == len(ALGORITHMS)  # each their own
    assert played_elsewhere("one-by-one", "1", "1") == here
    assert played_elsewhere("in-turn", "2", "2") == here


def test_another_seed_plays_something_else() -> None:
    one, other = (model(shelf(80), seed=seed).playlist(5, now=0) for seed in (1, 2))
    assert [each.song for each in one] != [each.song for each in other]


def test_a_model_that_was_forgotten_and_made_again_plays_the_same() -> None:
    log = rated([1, 2, 3, 4, 1, 2, 6, 7, 0, 5] * 3, apart=10**7)
    kept = followed(log, list(range(30)))
    again = model(SHELF, log)
    assert kept.ledger.digest() == again.ledger.digest() == fold(log.events).digest()
    rows = [[each.row for each in one.playlist(8, now=log.clock)] for one in (kept, again)]
    assert rows[0] == rows[1]


def test_asking_changes_nothing() -> None:
    one = model(shelf(80), rated([1, 2, 3, 9, 20]))
    asked = [
        [each.row for each in one.playlist(5, now=10**13, dial=dial)]
        for dial in (0.0, -1.0, 1.0, 0.0)
    ]
    assert asked[0] == asked[3]

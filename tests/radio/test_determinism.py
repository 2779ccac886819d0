"""The same log, shelf and seed give the same songs, in any process and any order (N1, N2)."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.conftest import ROOT
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.radio.catalogues import model, shelf
from tests.fixtures.radio.play_in_process import ALGORITHMS, play


def played_elsewhere(order: str, number: str) -> object:
    """Return the songs of another process, with its own hash seed and number of threads."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": number,
        "OPENBLAS_NUM_THREADS": number,
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
    with ThreadPoolExecutor(2) as pool:
        others = pool.map(played_elsewhere, ("one-by-one", "in-turn"), ("1", "2"))
        here = play(in_turn=True)
        assert len({tuple(heard) for heard in here}) == len(ALGORITHMS)  # each their own
        assert list(others) == [here, here]


def test_another_seed_plays_something_else() -> None:
    one, other = (model(shelf(80), seed=seed).playlist(5, now=0) for seed in (1, 2))
    assert [each.song for each in one] != [each.song for each in other]

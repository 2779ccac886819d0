"""Errors planted in the samplers do not go unseen, and the table says which check sees which."""

from __future__ import annotations

import pytest

from tests.fixtures.statistical.mutants import MUTANTS, Mutant

SEED = 20130704
LONG_EFFORT = 3.0
# In the order of their cost: the quick run stops at the first that sees the error.
CHECKS = ("joint", "independence", "Geweke", "calibration")


@pytest.mark.statistical
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_planted_error_is_seen(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    present = [check for check in CHECKS if check in mutant.checks]
    assert any(mutant.caught_by(check, 1.0, SEED, monkeypatch) for check in present)


@pytest.mark.long
@pytest.mark.statistical
def test_every_planted_error_is_seen_in_the_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, unseen = [], []
    for mutant in MUTANTS:
        found = {
            check: mutant.caught_by(check, LONG_EFFORT, SEED, monkeypatch)
            for check in CHECKS
            if check in mutant.checks
        }
        marks = [{True: "seen", False: "missed", None: ""}[found.get(check)] for check in CHECKS]
        rows.append(f"{mutant.name:24}" + "".join(f"{mark:14}" for mark in marks))
        unseen += [] if any(found.values()) else [mutant.name]
    print("\n".join([" " * 24 + "".join(f"{check:14}" for check in CHECKS), *rows]))
    assert not unseen

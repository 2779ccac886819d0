"""Many tasks at once: every result once, with any number of processes; failures are reported."""

import os

import pytest

from bandstand._util.parallel import usable_cores
from bandstand.errors import BandstandError, InvalidInputError
from bandstand_lab.report.tasks import run_tasks


def _square(value: int) -> int:
    return value * value


def _refuse(value: int) -> int:
    if value == 3:
        msg = "three was expected elsewhere"
        raise InvalidInputError(msg)
    return value


def _die(value: int) -> int:
    if value == 2:
        os._exit(1)
    return value


@pytest.mark.parametrize("workers", [1, 2, None])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_every_task_has_its_result_once(workers: int | None, count: int) -> None:
    found = sorted(run_tasks(_square, list(range(count)), workers=workers))
    assert found == [(number, number**2) for number in range(count)]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_task_raises_is_raised_here(workers: int) -> None:
    with pytest.raises(InvalidInputError, match="three was expected elsewhere"):
        list(run_tasks(_refuse, list(range(6)), workers=workers))


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(BandstandError, match="must live until they are done"):
        list(run_tasks(_die, list(range(6)), workers=2))
    assert sorted(run_tasks(_square, [1, 2], workers=2)) == [(0, 1), (1, 4)]  # and the next works


def test_no_workers_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one worker, got 0"):
        run_tasks(_square, [1], workers=0)
    assert usable_cores() >= 1

"""Many tasks at once: every result once, whatever the number of processes; what fails is told."""

from __future__ import annotations

import os

import pytest

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.parallel import run_tasks, usable_cores


def _square(value: int) -> int:
    return value * value


def _process(_: int) -> int:
    return os.getpid()


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


def test_one_worker_is_this_process_and_two_are_others() -> None:
    here = {process for _, process in run_tasks(_process, [1, 2, 3], workers=1)}
    assert here == {os.getpid()}
    others = {process for _, process in run_tasks(_process, [1, 2, 3], workers=2)}
    assert os.getpid() not in others


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


def test_a_result_can_be_left_before_all_are_there() -> None:
    run = run_tasks(_square, list(range(50)), workers=2)
    next(run)
    run.close()  # type: ignore[attr-defined]
    assert len(list(run_tasks(_square, list(range(5)), workers=2))) == 5

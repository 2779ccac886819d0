"""Pools: many requests, a few children."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.music.sandbox import Answer, Failure, Limits, Pool
from bandstand.music.sandbox import pool as pool_module
from bandstand.music.sandbox.protocol import Outcome, in_words
from tests.fixtures.music.sandbox_children import (
    failure,
    living,
    nothing_left,
    outcomes,
    pool,
    value,
)
from tests.fixtures.waiting import eventually

LIMITED = Limits(wall_seconds=2)


@pytest.mark.parametrize("workers", [1, 3])
def test_every_job_is_answered_once(workers: int) -> None:
    requests = [{"number": number, "text": "ü\udcff\0"} for number in range(50)]
    with pool("echo", workers=workers) as made:
        results = list(made.run(enumerate(requests)))
    assert sorted(key for key, _ in results) == list(range(50))
    assert all(value(result) == requests[key] for key, result in results)


def test_a_quick_job_does_not_wait_for_a_slow_one() -> None:
    jobs = [("slow", {"seconds": 600.0}), ("quick", {"seconds": 0.0})]
    with pool("sleep", workers=2) as made:
        assert next(made.run(jobs))[0] == "quick"


@pytest.mark.parametrize("workers", [1, 3])
def test_jobs_are_not_taken_before_there_is_somebody_for_them(workers: int) -> None:
    taken = 0

    def jobs() -> Iterator[tuple[int, dict[str, Any]]]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield number, {}

    with pool("echo", workers=workers) as made:
        done = 0
        for _ in made.run(jobs()):
            done += 1
            assert taken <= done + 2 * workers
    assert done == taken == 100


def test_a_child_is_replaced_after_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MAX_REQUESTS_PER_CHILD", 3)
    with pool("who") as made:
        seen = [value(result)["process"] for result in outcomes(made, [{}] * 7)]
    assert seen[0] == seen[1] == seen[2] != seen[3]
    assert len(set(seen)) == 3


def test_a_child_that_died_in_its_sleep_is_replaced_without_a_failure() -> None:
    with pool("who") as made:
        (first,) = outcomes(made, [{}])
        os.kill(value(first)["process"], 9)
        assert eventually(lambda: not living(value(first)["process"]))
        (second,) = outcomes(made, [{}])
    assert value(first) != value(second)


@pytest.mark.parametrize("how", ["close", "throw", "exit"])
def test_whoever_stops_early_leaves_nobody_at_work(how: str) -> None:
    jobs = [(0, {"seconds": 0.0}), (1, {"seconds": 600.0}), (2, {"seconds": 600.0})]
    with nothing_left(), pool("sleep", workers=2) as made:
        run = made.run(jobs)
        assert next(run)[0] == 0
        match how:
            case "close":
                run.close()  # type: ignore[attr-defined]
            case "throw":
                with pytest.raises(KeyboardInterrupt):
                    run.throw(KeyboardInterrupt())  # type: ignore[attr-defined]
            case _:
                made.close()
                with pytest.raises(InvalidInputError, match="this one is closed"):
                    next(run)
        assert not any(map(living, made.groups))
        assert made._workers._members == set()


def test_a_request_that_json_cannot_carry_is_the_callers_mistake() -> None:
    with (
        pool("echo") as made,
        pytest.raises(InvalidInputError, match="a request must be plain data"),
    ):
        list(made.run([(1, {"path": b"bytes"})]))


def test_a_pool_has_one_run_at_a_time() -> None:
    with pool("echo", workers=2) as made:
        first = made.run((number, {}) for number in range(9))
        next(first)
        with pytest.raises(InvalidInputError, match="this one is at work"):
            next(made.run([(1, {})]))
        assert len(list(first)) == 8
        assert len(list(made.run([(1, {})]))) == 1


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("no.such:module", "No module named 'no'"),
        ("tests.fixtures.music.sandbox_tasks:nothing", "has no attribute 'nothing'"),
        ("ends_when_imported:task", "3 in a row were lost.*status 7"),
    ],
)
def test_a_task_that_cannot_be_loaded_ends_the_run(
    task: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ends_when_imported.py").write_text("import os\nos._exit(7)\n")
    monkeypatch.syspath_prepend(tmp_path)
    expected = pytest.raises(BandstandError, match=words)
    with nothing_left(), pool(task, workers=2) as made, expected:
        list(made.run((number, {}) for number in range(9)))


def test_a_limit_that_leaves_no_room_for_the_libraries_ends_the_run() -> None:
    with (
        pool("echo", limits=Limits(memory_bytes=1 << 20)) as made,
        pytest.raises(BandstandError, match=r"fit into the limits.*MemoryError"),
    ):
        list(made.run([(1, {})]))


def test_a_pool_works_in_any_thread_and_outlives_it() -> None:
    # The kernel ends a child together with the thread that started it.
    results: list[Any] = []
    with nothing_left(), pool("who", workers=2) as made:
        for _ in range(3):
            thread = threading.Thread(target=lambda: results.extend(outcomes(made, [{}] * 4)))
            thread.start()
            thread.join()
    assert len([value(result) for result in results]) == 12


def test_a_child_that_does_not_even_die_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    # As one that waits for a dead network drive: for a while, killing it has no effect.
    kill = os.killpg
    changed = monkeypatch.context()
    with nothing_left(), pool("sleep", limits=LIMITED) as made, changed as patched:
        patched.setattr(os, "killpg", lambda *_: None)
        patched.setattr("bandstand.music.sandbox.worker._MAX_KILL_SECONDS", 0.1)
        slow, quick = outcomes(made, [{"seconds": 600.0}, {"seconds": 0.0}])
        (lingering,) = made._workers._lingering
        kill(lingering.process_id, 9)
        assert eventually(lambda: not living(lingering.process_id))
    assert failure(slow)[0] == "timed out"
    assert value(quick) == {"seconds": 0.0}
    assert made._workers._lingering == []


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


def answer(made: Pool) -> Outcome:
    return outcomes(made, [{}])[0]


@pytest.mark.parametrize("niceness", [0, 7])
def test_a_child_has_the_niceness_of_its_limits(niceness: int) -> None:
    with pool("who", limits=Limits(niceness=niceness)) as made:
        number = value(answer(made))["process"]
        mine = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, number) == min(mine + niceness, 19)


def test_children_at_work_can_be_ended_from_another_thread() -> None:
    seconds = [0.0, 0.0, 600.0, 600.0]
    with pool("sleep", workers=2) as made:
        run = made.run((number, {"seconds": it}) for number, it in enumerate(seconds))
        next(run), next(run)  # so that both children have begun
        over = threading.Event()

        def interrupt() -> None:
            for pause in (1.0, 5.0, 20.0):  # again, if they were not at work yet
                if not over.wait(pause):
                    made.interrupt()

        threading.Thread(target=interrupt).start()
        ended = [outcome for _, outcome in run]
        over.set()
        assert len(ended) == 2
        assert all(isinstance(outcome, Failure) for outcome in ended)


def test_after_an_interruption_there_are_new_children() -> None:
    with pool("who") as made:
        before = value(answer(made))
        made.interrupt()
        # A request in the moment of dying still meets the old one.
        assert eventually(lambda: isinstance(answer(made), Answer))
        assert value(answer(made)) != before


def test_a_pool_has_at_least_one_worker() -> None:
    with pytest.raises(InvalidInputError, match="workers must be at least 1, got 0"):
        Pool("module:function", workers=0)


def test_jobs_are_done_again_whose_child_went_with_a_thread() -> None:
    with pool("sleep", workers=2) as made:
        run = made.run((number, {"seconds": 0.2}) for number in range(4))
        first: list[Any] = []
        thread = threading.Thread(target=lambda: first.append(next(run)))
        thread.start()
        thread.join()
        results = dict(first + list(run))
    assert {key: value(result) for key, result in results.items()} == {
        number: {"seconds": 0.2} for number in range(4)
    }

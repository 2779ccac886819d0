"""Whatever a task does costs its own request, and the next one is answered."""

import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bandstand.music.sandbox import Answer, Failure, Limits
from bandstand.music.sandbox.confinement import OWN_ALARM_SECONDS
from bandstand.music.sandbox.protocol import Outcome, encoded
from tests.fixtures.child_processes import PATIENCE, started
from tests.fixtures.music.sandbox_children import (
    failure,
    living,
    nothing_left,
    outcome,
    outcomes,
    pool,
    value,
    zombies,
)
from tests.fixtures.waiting import eventually

FOUR_GIGABYTES = 4 << 30
SMALL = Limits(memory_bytes=512 << 20)
AMPLE = Limits(memory_bytes=8 << 30)
WITH_PROGRAMS = Limits(may_start_programs=True, wall_seconds=2)


@pytest.mark.parametrize("how", ["python", "system"])
def test_a_task_that_wants_too_much_memory_gets_that_reason(how: str) -> None:
    greedy = {"how": how, "bytes": FOUR_GIGABYTES}
    with pool("allocate", limits=SMALL) as made:
        too_much, enough = outcomes(made, [greedy, {"how": how, "bytes": 1000}])
    assert failure(too_much) == ("out of memory", "needed more than 512 MB of memory")
    assert value(enough) == {"got": 1000}
    assert value(outcome("allocate", greedy, limits=AMPLE)) == {"got": FOUR_GIGABYTES}


@pytest.mark.parametrize(
    ("complaint", "kind"), [("std::bad_alloc", "out of memory"), ("double free", "crashed")]
)
def test_native_code_that_gives_up_says_why(complaint: str, kind: str) -> None:
    request = {"how": "abort", "complaint": complaint}
    assert failure(outcome("misbehave", request))[0] == kind


def test_processor_time_is_counted_for_each_request() -> None:
    # Together they use more than one of them may, in the same child.
    with pool("compute", limits=Limits(cpu_seconds=1)) as made:
        results = outcomes(made, [{"seconds": 0.7}] * 3)
    assert len({value(result)["process"] for result in results}) == 1


def test_an_endless_loop_ends_with_its_time_whatever_signals_the_parent_holds_back() -> None:
    results: list[Outcome] = []

    def inside() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        with pool("compute", limits=Limits(cpu_seconds=1)) as made:
            results.extend(outcomes(made, [{"seconds": 600}, {"seconds": 0.01}]))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert failure(results[0]) == ("timed out", "used more than 1 s of processor time")
    assert isinstance(results[1], Answer)


def test_a_child_stops_itself_while_the_caller_ignores_the_results() -> None:
    with pool("sleep", workers=2, limits=Limits(wall_seconds=2)) as made:
        run = made.run([(0, {"seconds": 0}), (1, {"seconds": 600})])
        next(run)
        (idle,) = made._workers._idle
        busy = set(made.groups) - {idle.process_id}
        assert eventually(lambda: not any(map(living, busy)))
        assert failure(next(run)[1]) == ("timed out", "took longer than 2 s and was stopped")


def test_an_answer_that_came_in_time_counts_however_late_it_is_read() -> None:
    limits = Limits(wall_seconds=2)
    size = 500_000  # more than a pipe holds, so that the child waits in the middle of sending
    with pool("answer_badly", workers=2, limits=limits) as made:
        run = made.run((number, {"how": "large", "bytes": size}) for number in range(4))
        next(run)
        busy = made._workers._members - set(made._workers._idle)
        replies = [worker.replies for worker in busy]
        assert eventually(lambda: len(select.select(replies, [], [], 0)[0]) == len(replies) > 0)
        # Also longer than the child would give itself, were it still at work.
        time.sleep(limits.wall_seconds + OWN_ALARM_SECONDS + 0.5)
        assert all(isinstance(result, Answer) for _, result in run)


@pytest.mark.parametrize(
    ("how", "kind", "reason"),
    [
        ("segfault", "crashed", "the decoder crashed (SIGSEGV)"),
        ("abort", "crashed", "the decoder crashed (SIGABRT)"),
        ("leave", "crashed", "the decoder ended without an answer (status 3)"),
        ("exception", "failed", "the decoder failed (ValueError: it is no sound)"),
        ("system exit", "failed", "the decoder failed (SystemExit: it is no sound)"),
        ("refusal", "refused", "it is no sound"),
    ],
)
def test_a_task_that_fails_has_its_reason_alone(how: str, kind: str, reason: str) -> None:
    with pool("misbehave") as made:
        results = outcomes(made, [{"how": "well"}, {"how": how}, {"how": "well"}])
    assert value(results[0]) == value(results[2]) == {"how": "well"}
    assert failure(results[1]) == (kind, reason)


def test_a_child_killed_from_outside_costs_its_request() -> None:
    kind, reason = failure(outcome("misbehave", {"how": "killed"}))
    assert kind == "crashed"
    assert "memory was short" in reason


def test_a_long_and_ugly_reason_is_made_fit_to_be_shown() -> None:
    ugly = "\x1b[2J\n\udcff\u202e" + "x" * 10_000
    for how in ("exception", "refusal"):
        _, reason = failure(outcome("misbehave", {"how": how, "text": ugly}))
        assert reason.isprintable()
        assert len(reason) <= 500


def test_what_was_said_during_one_request_is_no_reason_for_the_next() -> None:
    said = {"how": "complain", "complaint": "std::bad_alloc"}
    with pool("misbehave") as made:
        good, bad = outcomes(made, [said, {"how": "segfault"}])
    assert value(good) == said
    assert failure(bad) == ("crashed", "the decoder crashed (SIGSEGV)")


def test_a_child_that_complains_without_end_is_not_held_up() -> None:
    assert value(outcome("misbehave", {"how": "complain"})) == {"how": "complain"}


@pytest.mark.parametrize("how", ["nan", "bytes", "deep", "list"])
def test_an_answer_that_is_not_plain_data_is_a_failure(how: str) -> None:
    with pool("answer_badly") as made:
        bad, good = outcomes(made, [{"how": how, "value": [1]}, {"how": "", "value": {"a": 1}}])
    assert failure(bad)[0] == "malformed"
    assert value(good) == {"a": 1}


def test_an_answer_that_is_too_large_is_a_failure() -> None:
    with pool("answer_badly") as made:
        large, good = outcomes(made, [{"how": "large", "bytes": size} for size in (1 << 20, 1000)])
    assert failure(large) == ("too large", "the answer was larger than 1 MB")
    assert isinstance(good, Answer)
    # It noticed that itself, and need not be replaced.
    assert len(made.groups) == 1


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        ({"text": "garbage"}, "malformed"),
        ({"text": '{"number":1,"value":{"a":NaN}}'}, "malformed"),
        ({"text": '{"number":1,"value":{"a":1e999}}'}, "malformed"),
        ({"text": '{"number":2,"value":{}}'}, "malformed"),
        ({"text": "[" * 100_000}, "malformed"),
        ({"text": "\xff" * 100, "framed": False}, "too large"),
        ({"text": "x" * 60_000, "length": 2**32 - 1}, "too large"),
        ({"text": "x", "length": 1000, "close": True}, "crashed"),
    ],
    ids=str,
)
def test_what_arrives_instead_of_a_reply_fails(request_: dict[str, Any], kind: str) -> None:
    with pool("write_raw") as made:
        bad, good = outcomes(made, [request_, {"text": '{"number":1,"value":{}}'}])
    assert failure(bad)[0] == kind
    assert isinstance(good, Answer)


def test_a_second_reply_is_not_taken_for_that_to_the_next_request() -> None:
    # Each child replies twice to its first request. What comes second is seen before the next
    # request and the child replaced, or after it and refused; but it answers no request.
    forged = '{"number":1,"value":{"forged":true}}'
    with pool("write_raw") as made:
        results = outcomes(made, [{"text": forged, "n": number} for number in range(6)])
    answers = [result.value for result in results if isinstance(result, Answer)]
    assert value(results[0]) == {"forged": True}
    assert all(answer == {"forged": True} for answer in answers)
    assert all(failure(bad)[0] == "malformed" for bad in results if isinstance(bad, Failure))
    assert len(made.groups) > 1


def test_who_speaks_unasked_is_not_asked_again() -> None:
    twice = 2 * encoded({"number": 1, "value": {"forged": True}}).decode("latin-1")
    with pool("write_raw") as made:
        results = outcomes(made, [{"text": twice, "framed": False}] * 4)
    assert results == [Answer(value={"forged": True})] * 4
    assert len(made.groups) == 4


def test_a_forged_but_well_formed_reply_is_what_the_child_says() -> None:
    forged = '{"number":1,"failure":"refused","reason":"\\u001b[31mred"}'
    assert failure(outcome("write_raw", {"text": forged})) == ("refused", "�[31mred")


def test_a_task_that_multiplies_is_ended_as_a_whole() -> None:
    with pool("multiply", limits=WITH_PROGRAMS) as made:
        multiplied: list[bool] = []
        watcher = threading.Thread(
            target=lambda: multiplied.append(
                eventually(lambda: any(len(living(group)) > 8 for group in made.groups))
            )
        )
        watcher.start()
        (result,) = outcomes(made, [{"power": 6}])
        watcher.join()
        assert multiplied == [True]
        assert failure(result)[0] == "timed out"
        assert eventually(lambda: not living(made.groups[0]))


def test_a_task_that_must_not_multiply_does_not() -> None:
    kind, reason = failure(outcome("multiply", {"power": 20}))
    assert kind == "failed"
    assert "Operation not permitted" in reason


@pytest.mark.parametrize("how", ["segfault", "leave", "exception", "refusal"])
def test_programs_end_with_the_failure_of_their_request(how: str) -> None:
    with pool("start_and_forget", limits=WITH_PROGRAMS) as made:
        (result,) = outcomes(made, [{"how": how, "count": 3}])
        assert failure(result)[0] in {"crashed", "failed", "refused"}
        assert eventually(lambda: not any(map(living, made.groups)))


def test_a_parent_that_ignores_the_end_of_children_gets_its_failures() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pool("misbehave") as made:
            bad, good = outcomes(made, [{"how": "segfault"}, {"how": "well"}])
        assert signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert failure(bad)[0] == "crashed"
    assert value(good) == {"how": "well"}


def _survive(count: int) -> None:
    """Run failures of every kind; nothing may remain of them in this process."""
    ways = ["segfault", "leave", "exception", "refusal", "abort"]
    requests = [{"how": ways[number % len(ways)]} for number in range(count)]
    with nothing_left(), pool("misbehave") as made:
        outcomes(made, [{"how": "well"}])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with nothing_left():
            results = outcomes(made, requests)
        assert len(results) == count
        assert all(failure(result) for result in results)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 1024


def test_many_failures_leave_nothing_behind() -> None:
    _survive(30)


@pytest.mark.long
def test_a_thousand_failures_leave_nothing_behind() -> None:
    _survive(1000)


def test_a_child_that_was_not_waited_for_would_be_seen() -> None:
    children: list[int] = []

    def neglect() -> None:
        with nothing_left():
            children.append(os.posix_spawn("/bin/true", ["true"], {}))
            assert eventually(lambda: children[0] in zombies())

    with pytest.raises(AssertionError, match="were not waited for"):
        neglect()
    os.waitpid(children[0], 0)


def test_a_file_that_was_left_open_would_be_seen() -> None:
    with pytest.raises(AssertionError, match="left open"), nothing_left():
        file = os.open("/", os.O_RDONLY)
    os.close(file)


def test_greed_in_a_child_does_not_make_the_parent_grow() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pool("allocate", limits=SMALL) as made:
        outcomes(made, [{"how": "python", "bytes": FOUR_GIGABYTES}] * 3)
    with pool("answer_badly") as made:
        outcomes(made, [{"how": "large", "bytes": 30 << 20}] * 2)
    with pool("write_raw") as made:
        outcomes(made, [{"text": "x" * 1000, "times": 50_000, "length": 2**31}] * 2)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 1024


# ── The end of the parent ────────────────────────────────────────────────────────────────


# Starts a child that would sleep for ever, tells its number, and waits with it.
PARENT = """
import sys
sys.path[:] = {path!r}
from bandstand.music.sandbox import Limits
from tests.fixtures.music import sandbox_children as running
if __name__ == "__main__":
    with running.pool("sleep", workers=2, limits=Limits(may_start_programs={programs})) as made:
        run = made.run([(0, {{"seconds": 0}}), (1, {{"seconds": 600}}), (2, {{"seconds": 600}})])
        next(run)
        print(*made.groups, flush=True)
        next(run)
"""
# Inherits whatever its children leave behind, as the first process of a container does.
HEIR = """
import ctypes, sys
sys.path[:] = {path!r}
from bandstand.music.sandbox import Limits
from tests.fixtures.music import sandbox_children as running
from tests.fixtures.waiting import eventually
if __name__ == "__main__":
    assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0
    if {blind}:
        running.Worker._reap_orphans = lambda worker: None
    jobs = [(number, {{"how": "refusal", "count": 2}}) for number in range(3)]
    with running.pool("start_and_forget", limits=Limits(may_start_programs=True)) as made:
        assert all(running.failure(result) for _, result in made.run(jobs))
    eventually(lambda: not any(map(running.living, made.groups)))
    print(len(running.zombies()))
"""
IDLE_PARENT = """
import sys, time
sys.path[:] = {path!r}
from tests.fixtures.music import sandbox_children as running
if __name__ == "__main__":
    with running.pool("who") as made:
        print(running.value(running.outcomes(made, [{{}}])[0])["process"], flush=True)
        time.sleep(600)
"""


@pytest.mark.parametrize("script", [PARENT, IDLE_PARENT], ids=["busy", "idle"])
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_children_end_with_a_parent(script: str, ending: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "parent.py"
    path = [str(Path(entry).absolute()) for entry in sys.path]
    file.write_text(script.format(path=path, programs=False))
    with started(
        [sys.executable, file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout is not None
        groups = [int(word) for word in parent.stdout.readline().split()]
        assert groups
        assert all(map(living, groups))
        os.kill(parent.pid, ending)
        assert parent.wait() != 0
        assert eventually(lambda: not any(map(living, groups)))


@pytest.mark.parametrize(("blind", "left"), [(False, "0"), (True, "6")])
def test_what_children_leave_is_waited_for(tmp_path: Path, left: str, *, blind: bool) -> None:
    file = tmp_path / "heir.py"
    path = [str(Path(entry).absolute()) for entry in sys.path]
    file.write_text(HEIR.format(path=path, blind=blind))
    heir = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert heir.stdout.strip() == left

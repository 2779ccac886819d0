"""Runs what is missing of many jobs, and keeps each result as soon as it is there.

A result is a file of its own, written whole, with a fingerprint of what was computed. The next
start, however the last run ended, computes only what has no such file. One job that fails is
reported and leaves the others alone; the next start tries it again.
"""

import hashlib
import json
import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context, parent_process
from typing import Any, Final

from bandstand import __version__
from bandstand._util.parallel import usable_cores
from bandstand.errors import BandstandError, InvalidInputError
from bandstand_lab.report.folder import ReportFolder, as_bytes, problem_line, write_whole
from bandstand_lab.report.machine import one_thread
from bandstand_lab.report.study import Job, Json
from bandstand_lab.report.tasks import run_tasks

_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=,-]{0,150}")
_MAX_REASON: Final = 400  # characters of a reason


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyJob:
    """A job and the study that it belongs to."""

    study: str
    job: Job

    def __post_init__(self) -> None:
        """Refuse a key that is no name of a file."""
        if not _KEY.fullmatch(self.job.key):
            msg = f"a job's key must be good for a file's name, got {self.job.key!r}"
            raise InvalidInputError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a job has left: its result, and how long it took."""

    result: Json
    seconds: float
    finished: str  # moment, such that later ones sort after it


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailure:
    """A job that ended without a result."""

    study: str
    key: str
    reason: str


def run_jobs(
    jobs: Sequence[StudyJob],
    folder: ReportFolder,
    *,
    workers: int | None = None,
    on_done: Callable[[int, int], None] = lambda *_: None,
) -> list[JobFailure]:
    """Return the jobs that failed, when all others have their results in the folder.

    What measures time runs first, each in a process of its own with nothing beside it; then
    the rest in parallel. `on_done` hears how many of all are done.
    """
    missing = [each for each in jobs if kept(each, folder) is None]
    alone = [each for each in missing if each.job.alone]
    others = [each for each in missing if not each.job.alone]
    failures: list[JobFailure] = []
    done = len(jobs) - len(missing)
    on_done(done, len(jobs))
    for each, answer in _answers(alone, others, workers):
        failure = _keep(each, folder, answer)
        failures += [] if failure is None else [failure]
        done += 1
        on_done(done, len(jobs))
    return sorted(failures, key=lambda one: (one.study, one.key))


def kept(each: StudyJob, folder: ReportFolder) -> Kept | None:
    """Return what an earlier run left of a job; None where it has to be computed."""
    try:
        record = json.loads(folder.result(each.study, each.job.key).read_bytes())
        if record["fingerprint"] != fingerprint(each.job, folder.digests):
            return None
        return Kept(result=record["result"], seconds=record["seconds"], finished=record["finished"])
    except (OSError, ValueError, KeyError, TypeError):  # none, or not one of ours
        return None


def fingerprint(job: Job, digests: Mapping[str, str]) -> str:
    """Return what tells whether a result is the one that this job would have.

    A file of the user's counts by what it holds, wherever it is.
    """
    what = [__version__, job.function, _by_content(job.arguments, digests)]
    text = json.dumps(what, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def execute(call: tuple[str, Mapping[str, Json]]) -> dict[str, Json]:
    """Return the result of "package.module:function" with these arguments, or why there is none.

    The result is text already, so that it is the same whether or not it has travelled.
    """
    name, arguments = call
    start = time.perf_counter()
    try:
        module, function = name.split(":")
        with redirect_stdout(sys.stderr):  # what a job prints is no part of any answer
            result = getattr(import_module(module), function)(**arguments)
        text = as_bytes(result).decode()
    except Exception as problem:  # noqa: BLE001  # whatever it is, the other jobs go on
        trace = "".join(traceback.format_exception(problem))
        return {"reason": problem_line(problem)[:_MAX_REASON], "trace": trace}
    return {"text": text, "seconds": time.perf_counter() - start}


def _by_content(value: Json, digests: Mapping[str, str]) -> Json:
    match value:
        case dict():
            return {key: _by_content(each, digests) for key, each in value.items()}
        case list() | tuple():
            return [_by_content(each, digests) for each in value]
        case str() if value in digests:
            return f"sha256:{digests[value]}"
        case _:
            return value


def _answers(
    alone: Sequence[StudyJob], others: Sequence[StudyJob], workers: int | None
) -> Iterator[tuple[StudyJob, dict[str, Json]]]:
    """Yield each job with its answer, as they come."""
    for each in alone:
        yield each, run_apart(_call(each))
    waiting = dict(enumerate(others))
    try:
        calls = [_call(each) for each in others]
        for number, answer in run_tasks(execute, calls, workers=workers):
            yield waiting.pop(number), answer
    except BandstandError as problem:
        # A process was ended from outside, by a lack of memory for instance. Whose fault it was
        # is not known, so each of the rest gets a process of its own.
        if isinstance(problem, InvalidInputError):
            raise
        rest = list(waiting.values())
        with one_thread(), ThreadPoolExecutor(workers or usable_cores()) as pool:
            yield from zip(rest, pool.map(run_apart, map(_call, rest)), strict=True)


def _call(each: StudyJob) -> tuple[str, dict[str, Any]]:
    return each.job.function, dict(each.job.arguments)


def _keep(each: StudyJob, folder: ReportFolder, answer: Mapping[str, Json]) -> JobFailure | None:
    """Write a result to its file; return the failure where there is none."""
    place = folder.result(each.study, each.job.key)
    trace = place.with_suffix(".error.txt")
    if "text" not in answer:
        write_whole(trace, answer.get("trace", answer["reason"]).encode())
        return JobFailure(study=each.study, key=each.job.key, reason=answer["reason"])
    record = {
        "study": each.study,
        "key": each.job.key,
        "function": each.job.function,
        "arguments": each.job.arguments,
        "version": __version__,
        "fingerprint": fingerprint(each.job, folder.digests),
        "seconds": answer["seconds"],
        "finished": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "result": json.loads(answer["text"]),
    }
    write_whole(place, as_bytes(record))
    trace.unlink(missing_ok=True)
    return None


def run_apart(call: tuple[str, Mapping[str, Json]]) -> dict[str, Json]:
    """Return what `execute` answers in a fresh process, or that it ended without an answer.

    For what measures time, and for what may end its process. It has one thread for linear algebra,
    and ends with its parent.
    """
    with (
        one_thread(),
        ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_follow_parent) as pool,
    ):
        try:
            return pool.submit(execute, call).result()
        except BrokenProcessPool as problem:
            return {"reason": "its process ended without an answer", "trace": str(problem)}


def _follow_parent() -> None:
    """End this process when its parent has ended."""

    def wait() -> None:
        if parent := parent_process():
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()

"""`bandstand reproduce`: plan, run what is missing, write the report.

The report follows from the results on disk alone, so it is the same whether they were computed
in one go or in many.
"""

from __future__ import annotations

import platform
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from bandstand import __version__
from bandstand._util.parallel import check_one_place, connected, usable_cores
from bandstand.errors import BandstandError, InvalidInputError
from bandstand_lab import histories
from bandstand_lab.content.ratings import read_rated_items
from bandstand_lab.content.validation import DEFAULT_FOLDS
from bandstand_lab.report.folder import (
    as_bytes,
    claimed,
    options,
    problem_line,
    remove_others,
    write_whole,
)
from bandstand_lab.report.jobs import Failure, StudyJob, kept, run_jobs
from bandstand_lab.report.page import (
    Report,
    StudyTime,
    Written,
    finding_json,
    page,
    tally,
    write_chapter,
)
from bandstand_lab.report.registry import studies_named
from bandstand_lab.simulation.tables import read_feature_table, read_tastes
from bandstand_lab.speed.machine import machine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bandstand_lab.report.folder import Folder
    from bandstand_lab.report.jobs import Kept
    from bandstand_lab.report.study import Json, Plan, Study

_LIBRARIES: Final = ("numpy", "scipy", "matplotlib", "joblib")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """A study and all that it wants computed."""

    study: Study
    jobs: tuple[StudyJob, ...] = ()
    problems: tuple[str, ...] = ()  # why its jobs cannot be known

    def kept(self, folder: Folder) -> dict[str, Kept]:
        """Return what there is of it, by key."""
        found = {each.job.key: kept(each, folder) for each in self.jobs}
        return {key: each for key, each in found.items() if each is not None}


def reproduce(
    out: Path,
    plan: Plan,
    studies: Sequence[Study],
    *,
    only: Sequence[str] = (),
    workers: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[int, int], None] = lambda *_: None,
) -> Report:
    """Return the report, when it and all its files are in `out`.

    `only` are the names of the studies to run. The report also has the others, if their
    results are there from an earlier run. What cannot be used is refused before anything is
    written.
    """
    chosen = {study.name for study in studies_named(studies, only)}
    check_one_place(workers, scheduler)
    if scheduler is not None:
        connected(scheduler).close()
    _check_data(plan)
    works = [_work(study, plan) for study in studies]
    wanted = [each for work in works if work.study.name in chosen for each in work.jobs]
    with claimed(out, plan) as folder:
        failures = run_jobs(wanted, folder, workers=workers, scheduler=scheduler, on_done=on_done)
        return _write_report(folder, plan, works, chosen, failures)


def _check_data(plan: Plan) -> None:
    """Refuse a file that is not what its option wants; the sentence names it and the line."""
    if plan.taste is not None:
        read_tastes(plan.taste)
    if plan.features is not None:
        read_feature_table(plan.features)
    if plan.content is not None:
        read_rated_items(*plan.content, folds=DEFAULT_FOLDS)
    for file in plan.histories:  # one by one, as the studies read them
        histories.read([file])


def _work(study: Study, plan: Plan) -> _Work:
    """Return what a study wants; data that it cannot use are refused before the work begins."""
    try:
        jobs = tuple(StudyJob(study=study.name, job=job) for job in study.jobs(plan))
        _check_different([each.job.key for each in jobs])
    except InvalidInputError:
        raise
    except Exception as problem:  # noqa: BLE001  # the other studies are none the worse
        return _Work(study=study, problems=(f"its jobs cannot be known: {problem_line(problem)}",))
    return _Work(study=study, jobs=jobs)


def _check_different(keys: Sequence[str]) -> None:
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if twice:
        msg = f"the jobs of a study must have different keys, got {twice[0]!r} twice"
        raise BandstandError(msg)


def _write_report(
    folder: Folder,
    plan: Plan,
    works: Sequence[_Work],
    chosen: set[str],
    failures: Sequence[Failure],
) -> Report:
    chapters, times, absent, finished = [], [], [], ""
    for work in works:
        found = work.kept(folder)
        if work.study.name not in chosen and (len(found) < len(work.jobs) or not found):
            absent.append(work.study.title)
            _remove_data(folder, work.study)
            continue
        chapters.append(_chapter(work, plan, found, folder, failures))
        seconds = sum(each.seconds for each in found.values())
        times.append(StudyTime(title=work.study.title, jobs=len(found), seconds=seconds))
        finished = max([finished, *(each.finished for each in found.values())])
    report = Report(
        plan=plan,
        chapters=tuple(chapters),
        absent=tuple(absent),
        machine=_machine(),
        times=tuple(times),
        finished=finished,
    )
    write_whole(folder.path / "findings.json", as_bytes(_findings(report), indent=2))
    write_whole(folder.path / "run.json", as_bytes(_run(report), indent=2))
    write_whole(folder.page, page(report))
    return report


def _remove_data(folder: Folder, study: Study) -> None:
    """Remove what an earlier report showed of a study, such as one with other data."""
    place = folder.data(study.name)
    if place.is_dir():
        remove_others(place, set())


def _chapter(
    work: _Work,
    plan: Plan,
    found: Mapping[str, Kept],
    folder: Folder,
    failures: Sequence[Failure],
) -> Written:
    own = [each for each in failures if each.study == work.study.name]
    problems = [*work.problems, *(f"the job {each.key} failed: {each.reason}" for each in own)]
    study = work.study
    if problems:
        failed = tuple(problems)
        return Written(name=study.name, title=study.title, chapter=None, problems=failed)
    results = {key: each.result for key, each in found.items()}
    return write_chapter(
        study.name,
        study.title,
        lambda: study.chapter(plan, results),
        place=folder.data(study.name),
    )


def _machine() -> dict[str, Any]:
    """Return what the numbers may depend on; loads and dates are elsewhere."""
    return {
        "bandstand": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _LIBRARIES},
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": usable_cores(),
    }


def _findings(report: Report) -> dict[str, Json]:
    return {
        "size": report.plan.size,
        "seed": report.plan.seed,
        "tally": {str(verdict): count for verdict, count in tally(report.chapters).items()},
        "studies": [
            {
                "name": chapter.name,
                "title": chapter.title,
                "findings": [finding_json(each) for each in chapter.findings],
                "problems": list(chapter.problems),
                "files": list(chapter.files),
            }
            for chapter in report.chapters
        ],
    }


def _run(report: Report) -> dict[str, Json]:
    return {
        "command": f"bandstand reproduce OUT {options(report.plan)}",
        "machine": machine() | dict(report.machine),
        "finished": report.finished,
        "studies": [
            {"title": time.title, "jobs": time.jobs, "seconds": time.seconds}
            for time in report.times
        ],
    }

"""`bandstand reproduce`: the studies of the paper; plan, run what is missing, write the report.

The report follows from the results on disk alone, so it is the same whether they were computed
in one go or in many. To add a study, write it as a module of this folder that ends in `STUDY`, and
add one line to `STUDIES`.
"""

from __future__ import annotations

import platform
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from bandstand import __version__
from bandstand._util.parallel import connected, usable_cores
from bandstand.errors import BandstandError, InvalidInputError
from bandstand_lab import histories as listening
from bandstand_lab.content.ratings import read_rated_items
from bandstand_lab.content.validation import DEFAULT_FOLDS
from bandstand_lab.paper import (
    ablation,
    content,
    effectiveness,
    efficiency,
    equivalence,
    histories,
    novelty_curves,
    novelty_learned,
    prediction_time,
    real_worlds,
    repetition,
    uncertainty,
    worked_example,
)
from bandstand_lab.report.folder import (
    as_bytes,
    claimed,
    options,
    problem_line,
    remove_others,
    write_whole,
)
from bandstand_lab.report.jobs import JobFailure, StudyJob, kept, run_jobs
from bandstand_lab.report.machine import machine
from bandstand_lab.report.page import (
    ReproductionReport,
    StudyTime,
    Written,
    finding_json,
    page,
    tally,
    write_chapter,
)
from bandstand_lab.report.tasks import check_one_place
from bandstand_lab.simulation.worlds import read_feature_table, read_tastes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bandstand_lab.report.folder import ReportFolder
    from bandstand_lab.report.jobs import Kept
    from bandstand_lab.report.study import Json, Plan, Study

_LIBRARIES: Final = ("numpy", "scipy", "matplotlib", "joblib")
# In the order of the paper; those that it does not have stand beside the nearest.
STUDIES: Final = (
    worked_example.STUDY,
    histories.STUDY,
    novelty_curves.STUDY,
    ablation.STUDY,
    content.STUDY,
    effectiveness.STUDY,
    real_worlds.STUDY,
    equivalence.STUDY,
    efficiency.STUDY,
    prediction_time.STUDY,
    uncertainty.STUDY,
    repetition.STUDY,
    novelty_learned.STUDY,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StudyWork:
    """A study and all that it wants computed."""

    study: Study
    jobs: tuple[StudyJob, ...] = ()
    problems: tuple[str, ...] = ()  # why its jobs cannot be known

    def kept(self, folder: ReportFolder) -> dict[str, Kept]:
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
) -> ReproductionReport:
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


def studies_named(studies: Sequence[Study], names: Sequence[str]) -> tuple[Study, ...]:
    """Return the studies of these names, in the order of their chapters; all if there are none."""
    known = [study.name for study in studies]
    for name in names:
        if name not in known:
            msg = f"the study must be one of {', '.join(known)}, got {name!r}"
            raise InvalidInputError(msg)
    return tuple(study for study in studies if not names or study.name in names)


def _check_data(plan: Plan) -> None:
    """Refuse a file that is not what its option wants; the sentence names it and the line."""
    if plan.taste is not None:
        read_tastes(plan.taste)
    if plan.features is not None:
        read_feature_table(plan.features)
    if plan.content is not None:
        read_rated_items(*plan.content, folds=DEFAULT_FOLDS)
    for file in plan.histories:  # one by one, as the studies read them
        listening.read([file])


def _work(study: Study, plan: Plan) -> _StudyWork:
    """Return what a study wants; data that it cannot use are refused before the work begins."""
    try:
        jobs = tuple(StudyJob(study=study.name, job=job) for job in study.jobs(plan))
        _check_different([each.job.key for each in jobs])
    except InvalidInputError:
        raise
    except Exception as problem:  # noqa: BLE001  # the other studies are none the worse
        return _StudyWork(
            study=study, problems=(f"its jobs cannot be known: {problem_line(problem)}",)
        )
    return _StudyWork(study=study, jobs=jobs)


def _check_different(keys: Sequence[str]) -> None:
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if twice:
        msg = f"the jobs of a study must have different keys, got {twice[0]!r} twice"
        raise BandstandError(msg)


def _write_report(
    folder: ReportFolder,
    plan: Plan,
    works: Sequence[_StudyWork],
    chosen: set[str],
    failures: Sequence[JobFailure],
) -> ReproductionReport:
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
    report = ReproductionReport(
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


def _remove_data(folder: ReportFolder, study: Study) -> None:
    """Remove what an earlier report showed of a study, such as one with other data."""
    place = folder.data(study.name)
    if place.is_dir():
        remove_others(place, set())


def _chapter(
    work: _StudyWork,
    plan: Plan,
    found: Mapping[str, Kept],
    folder: ReportFolder,
    failures: Sequence[JobFailure],
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


def _findings(report: ReproductionReport) -> dict[str, Json]:
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


def _run(report: ReproductionReport) -> dict[str, Json]:
    return {
        "command": f"bandstand reproduce OUT {options(report.plan)}",
        "machine": machine() | dict(report.machine),
        "finished": report.finished,
        "studies": [
            {"title": time.title, "jobs": time.jobs, "seconds": time.seconds}
            for time in report.times
        ],
    }

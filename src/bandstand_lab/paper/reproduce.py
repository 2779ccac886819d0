"""`bandstand reproduce`: the studies of the paper; plan, run what is missing, write the report.

The report follows from the results on disk alone, so it is the same whether they were computed
in one go or in many. To add a study, write it as a module of this folder that ends in `STUDY`, and
add one line to `STUDIES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bandstand.errors import BandstandError, InvalidInputError
from bandstand_lab.content.ratings import read_rated_items
from bandstand_lab.content.validation import DEFAULT_FOLDS
from bandstand_lab.histories import plays
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
    repetition,
    uncertainty,
    worked_example,
)
from bandstand_lab.people import battery
from bandstand_lab.report.folder import (
    ReportFolder,
    as_bytes,
    claimed,
    options,
    remove_others,
    write_whole,
)
from bandstand_lab.report.jobs import JobFailure, Kept, StudyJob, kept, run_jobs
from bandstand_lab.report.machine import machine, platform_facts
from bandstand_lab.report.page import (
    ReproductionReport,
    StudyTime,
    Written,
    finding_json,
    page,
    tally,
    write_chapter,
)
from bandstand_lab.report.study import Chapter, Json, Plan, Study

# In the order of the paper; the one that it does not have stands beside the nearest.
STUDIES: Final = (
    worked_example.STUDY,
    histories.STUDY,
    novelty_curves.STUDY,
    ablation.STUDY,
    content.STUDY,
    effectiveness.STUDY,
    equivalence.STUDY,
    efficiency.STUDY,
    prediction_time.STUDY,
    uncertainty.STUDY,
    repetition.STUDY,
    novelty_learned.STUDY,
    battery.STUDY,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StudyWork:
    """A study and all that it wants computed."""

    study: Study
    jobs: tuple[StudyJob, ...]

    @classmethod
    def of(cls, study: Study, plan: Plan) -> _StudyWork:
        """Return the work of a study, whose jobs must have different keys."""
        jobs = tuple(StudyJob(study=study.name, job=job) for job in study.jobs(plan))
        for key, count in Counter(each.job.key for each in jobs).items():
            if count > 1:
                msg = f"the jobs of {study.name} must have different keys, got {key!r} twice"
                raise BandstandError(msg)
        return cls(study=study, jobs=jobs)

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
    on_done: Callable[[int, int], None] = lambda *_: None,
) -> ReproductionReport:
    """Return the report, when it and all its files are in `out`.

    `only` are the names of the studies to run. The report also has the others, if their
    results are there from an earlier run. What cannot be used is refused before anything is
    written.
    """
    chosen = _chosen(studies, only)
    _check_data(plan)
    works = [_StudyWork.of(study, plan) for study in studies]
    wanted = [each for work in works if work.study.name in chosen for each in work.jobs]
    with claimed(out, plan) as folder:
        failures = run_jobs(wanted, folder, workers=workers, on_done=on_done)
        report = _report(folder, plan, works, chosen, failures)
        write_whole(out / "findings.json", as_bytes(_findings(report), indent=2))
        write_whole(out / "run.json", as_bytes(_run(report), indent=2))
        write_whole(out / "index.html", page(report))
        return report


def _chosen(studies: Sequence[Study], only: Sequence[str]) -> set[str]:
    """Return the names of the studies to run: all if none is named."""
    known = [study.name for study in studies]
    for name in only:
        if name not in known:
            msg = f"the study must be one of {', '.join(known)}, got {name!r}"
            raise InvalidInputError(msg)
    return set(only or known)


def _check_data(plan: Plan) -> None:
    """Refuse a file that is not what its option wants; the sentence names it and the line."""
    if plan.content is not None:
        read_rated_items(*plan.content, folds=DEFAULT_FOLDS)
    for file in plan.histories:  # one by one, as the studies read them
        plays.read([file])


def _report(
    folder: ReportFolder,
    plan: Plan,
    works: Sequence[_StudyWork],
    chosen: set[str],
    failures: Sequence[JobFailure],
) -> ReproductionReport:
    """Return the report of all studies whose results are there, when their files are written."""
    chapters, times, absent, finished = [], [], [], ""
    for work in works:
        found = work.kept(folder)
        if work.study.name not in chosen and (len(found) < len(work.jobs) or not found):
            absent.append(work.study.title)
            remove_others(folder.data(work.study.name), set())
            continue
        chapters.append(_chapter(work.study, plan, found, folder, failures))
        seconds = sum(each.seconds for each in found.values())
        times.append(StudyTime(title=work.study.title, jobs=len(found), seconds=seconds))
        finished = max([finished, *(each.finished for each in found.values())])
    return ReproductionReport(
        plan=plan,
        chapters=tuple(chapters),
        absent=tuple(absent),
        machine=platform_facts(),
        times=tuple(times),
        finished=finished,
    )


def _chapter(
    study: Study,
    plan: Plan,
    found: Mapping[str, Kept],
    folder: ReportFolder,
    failures: Sequence[JobFailure],
) -> Written:
    """Return a chapter with its files, the results of all jobs among them."""
    own = [each for each in failures if each.study == study.name]
    if own:
        problems = tuple(f"the job {each.key} failed: {each.reason}" for each in own)
        return Written(name=study.name, title=study.title, chapter=None, problems=problems)

    def chapter() -> Chapter:
        results = {key: each.result for key, each in found.items()}
        return replace(study.chapter(plan, results), data=results)

    return write_chapter(study.name, study.title, chapter, place=folder.data(study.name))


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
        "machine": machine(),
        "finished": report.finished,
        "studies": [
            {"title": time.title, "jobs": time.jobs, "seconds": time.seconds}
            for time in report.times
        ],
    }

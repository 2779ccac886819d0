"""One folder, one report: the same whether it was made in one go or in many."""

import json
import os
import re
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from bandstand.errors import BandstandError, InvalidInputError
from bandstand_lab.paper.reproduce import reproduce
from bandstand_lab.report.study import Chapter, Drawing, Job, Plan, Study
from tests.fixtures.child_processes import started
from tests.fixtures.lab.small_study import job, small_study, study_of_jobs

PLAN = Plan(size="quick", seed=5)
COUNTS = tuple(range(10, 40))
# In a process of its own, with jobs long enough to be hit.
PROGRAM = f"""
import sys
from pathlib import Path
from bandstand_lab.paper.reproduce import reproduce
from bandstand_lab.report.study import Plan
from tests.fixtures.lab.small_study import small_study
study = small_study(counts={COUNTS}, seconds=0.05)
reproduce(Path(sys.argv[1]), Plan(size="quick", seed=5), [study], workers=2)
"""


def contents(out: Path) -> dict[str, bytes]:
    """Return what a report consists of, without how long it took and when."""
    files = {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.relative_to(out).parts[0] != "work"
    }
    del files["run.json"]
    durations = rb'<section id="durations">.*?</section>'
    files["index.html"], count = re.subn(durations, b"", files["index.html"], flags=re.DOTALL)
    assert count == 1
    return files


def results(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "work").glob("*/*.json")}


def test_a_report_and_its_raw_numbers_are_written(tmp_path: Path) -> None:
    report = reproduce(tmp_path, PLAN, [small_study()], workers=1)
    assert report.problems == ()
    assert set(contents(tmp_path)) == {
        "index.html",
        "findings.json",
        "data/means/means.json",
        "data/means/means.csv",
        "data/means/means.png",
        "data/means/findings.json",
    }
    table = (tmp_path / "data/means/means.csv").read_text(encoding="utf-8").splitlines()
    kept = json.loads((tmp_path / "data/means/means.json").read_bytes())
    means = [each["mean"] for each in kept.values()]
    assert table == ["draws,mean", *map("{},{!r}".format, (10, 100, 1_000), means)]
    claims = json.loads((tmp_path / "findings.json").read_bytes())
    assert claims["tally"]["holds"] == 1
    assert claims["studies"][0]["findings"][0]["verdict"] == "holds"


def test_the_report_does_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    for workers in (1, 2):
        reproduce(tmp_path / str(workers), PLAN, [small_study()], workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_made_again_it_is_the_same(tmp_path: Path) -> None:
    study = small_study()
    reproduce(tmp_path, PLAN, [study], workers=1)
    first, kept = contents(tmp_path), results(tmp_path)
    (tmp_path / "index.html").unlink()
    reproduce(tmp_path, PLAN, [study], workers=1)
    assert (contents(tmp_path), results(tmp_path)) == (first, kept)


def kill_all(process: Any) -> None:
    os.killpg(process.pid, signal.SIGKILL)


def kill_the_parent(process: Any) -> None:
    process.kill()


def test_killed_at_any_moment_nothing_is_lost(tmp_path: Path) -> None:
    out = tmp_path / "killed"
    command = [sys.executable, "-c", PROGRAM, str(out)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    earlier: dict[str, bytes] = {}
    for more, kill in ((3, kill_all), (9, kill_the_parent)):
        with started(command, env=environment, start_new_session=True) as process:
            while len(results(out)) < len(earlier) + more and process.poll() is None:
                time.sleep(0.002)
            kill(process)
            process.wait()
        # Torn files, if any, are not among the results, and what was there is as it was.
        found = {name: json.loads(content) for name, content in results(out).items()}
        assert len(found) >= len(earlier) + more
        assert earlier.items() <= results(out).items()
        earlier = results(out)
    study = small_study(counts=COUNTS, seconds=0.05)
    reproduce(out, PLAN, [study], workers=1)
    assert earlier.items() <= results(out).items()
    reproduce(tmp_path / "whole", PLAN, [study], workers=2)
    assert contents(out) == contents(tmp_path / "whole")


def test_one_failing_job_is_named_and_the_other_chapters_are_whole(tmp_path: Path) -> None:
    bad = study_of_jobs(job("unlucky", "failing", reason="no <luck>"), name="bad", title="Bad")
    report = reproduce(tmp_path, PLAN, [bad, small_study()], workers=1)
    assert report.problems == ("Bad: the job unlucky failed: RuntimeError: no <luck>",)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "the job unlucky failed: RuntimeError: no &lt;luck&gt;" in page
    assert 'id="means"' in page
    assert "data:image/png" in page
    assert "The last mean is" in page


def test_a_chapter_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    def chapter(plan: Plan, results: Any) -> Chapter:
        raise KeyError(plan.size, *results)

    wrong = replace(study_of_jobs(title="Wrong"), chapter=chapter)
    report = reproduce(tmp_path, PLAN, [wrong, small_study()], workers=1)
    (problem,) = report.problems
    assert problem.startswith("Wrong: the chapter could not be made of its results: KeyError:")
    assert [bool(chapter.findings) for chapter in report.chapters] == [False, True]


def test_jobs_with_the_same_key_are_refused(tmp_path: Path) -> None:
    twice = study_of_jobs(job("a", "threads"), job("a", "threads"), name="twice")
    with pytest.raises(BandstandError, match="jobs of twice must have different keys, got 'a'"):
        reproduce(tmp_path / "out", PLAN, [twice], workers=1)
    assert not (tmp_path / "out").exists()


def test_a_figure_that_cannot_be_drawn_leaves_the_rest_of_its_chapter(tmp_path: Path) -> None:
    def wrong(figure: Figure) -> None:
        figure.subplots().plot([1, 2], [1])

    chapter = Chapter(
        introduction="Why?", method="So.", drawings=(Drawing(name="x", caption="X.", draw=wrong),)
    )
    report = reproduce(tmp_path, PLAN, [study_of_jobs(title="Draws", given=chapter)], workers=1)
    (problem,) = report.problems
    assert problem.startswith("Draws: the figure x could not be drawn: ValueError")
    assert "Why?" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_only_some_studies_are_run_and_the_others_come_when_they_are_there(
    tmp_path: Path,
) -> None:
    studies = [small_study(), study_of_jobs(job("a", "chatting", text="a"))]
    first = reproduce(tmp_path, PLAN, studies, only=["jobs"], workers=1)
    assert [chapter.name for chapter in first.chapters] == ["jobs"]
    assert first.absent == ("Means come near the truth",)
    second = reproduce(tmp_path, PLAN, studies, only=["means"], workers=1)
    assert [chapter.name for chapter in second.chapters] == ["means", "jobs"]
    assert second.absent == ()


def test_a_study_that_is_not_there_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="must be one of means, got 'medians'"):
        reproduce(tmp_path / "out", PLAN, [small_study()], only=["medians"])
    assert not (tmp_path / "out").exists()


def size_of_history() -> Study:
    """Return a study that depends on the user's data."""

    def jobs(plan: Plan) -> tuple[Job, ...]:
        return tuple(job("size", "size_of", file=str(file)) for file in plan.histories)

    return replace(study_of_jobs(), jobs=jobs)


SHORT, LONG = "item,time\na,1700000000\n", "item,time\na,1700000000\nb,1700000600\n"


def test_only_what_depends_on_changed_data_is_computed_anew(tmp_path: Path) -> None:
    out, history = tmp_path / "out", tmp_path / "plays.csv"
    plan = replace(PLAN, histories=(history,))
    studies = [size_of_history(), small_study()]
    history.write_text(SHORT, encoding="utf-8")
    reproduce(out, plan, studies, workers=1)
    before = results(out)
    history.write_text(LONG, encoding="utf-8")
    reproduce(out, plan, studies, workers=1)
    after = results(out)
    assert json.loads(after["size.json"])["result"] == history.stat().st_size
    assert {name for name in after if after[name] != before[name]} == {"size.json"}


def test_nothing_of_earlier_data_is_shown(tmp_path: Path) -> None:
    out, history = tmp_path / "out", tmp_path / "plays.csv"
    plan = replace(PLAN, histories=(history,))
    studies = [size_of_history(), small_study()]
    history.write_text(SHORT, encoding="utf-8")
    reproduce(out, plan, studies, workers=1)
    assert (out / "data" / "jobs" / "jobs.json").exists()
    history.write_text(LONG, encoding="utf-8")
    report = reproduce(out, plan, studies, only=["means"], workers=1)
    assert report.absent == ("Jobs",)
    assert not list((out / "data" / "jobs").iterdir())


@pytest.mark.parametrize(
    ("option", "files", "said"),
    [
        ("histories", ("item,time\na,soon\n",), "0.csv line 2"),
        ("content", ("id,x\na,1\n", "item_id,rating\nb,3\n"), "1.csv line 2: item_id must be"),
    ],
)
def test_bad_data_are_refused_before_anything_is_made(
    tmp_path: Path, option: str, files: tuple[str, ...], said: str
) -> None:
    paths = tuple(tmp_path / f"{number}.csv" for number in range(len(files)))
    for path, text in zip(paths, files, strict=True):
        path.write_text(text, encoding="utf-8")
    plan = replace(PLAN, **{option: paths})  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=re.escape(said)):
        reproduce(tmp_path / "out", plan, [small_study()], workers=1)
    assert not (tmp_path / "out").exists()


def test_results_of_another_version_are_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reproduce(tmp_path, PLAN, [small_study()], workers=1)
    before = results(tmp_path)
    monkeypatch.setattr("bandstand_lab.report.jobs.__version__", "99.0")
    reproduce(tmp_path, PLAN, [small_study()], workers=1)
    assert all(
        before[name] != content for name, content in results(tmp_path).items() if "draws" in name
    )


def test_files_of_an_earlier_report_do_not_stay(tmp_path: Path) -> None:
    reproduce(tmp_path, PLAN, [small_study()], workers=1)
    stale = tmp_path / "data" / "means" / "stale.csv"
    stale.write_bytes(b"1")
    reproduce(tmp_path, PLAN, [small_study()], workers=1)
    assert not stale.exists()


def test_no_studies_at_all_make_a_report_that_says_so(tmp_path: Path) -> None:
    reproduce(tmp_path, PLAN, [])
    assert "No claim was examined" in (tmp_path / "index.html").read_text(encoding="utf-8")

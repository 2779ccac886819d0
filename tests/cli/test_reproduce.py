"""`bandstand reproduce` as people run it."""

import json
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

from bandstand_lab import paper, people
from bandstand_lab.paper import reproduce
from bandstand_lab.report.study import Plan, Study
from tests.fixtures.cli.run_command import assert_refused, run
from tests.fixtures.lab.small_study import job, small_study, study_of_jobs

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the paper have two small studies."""
    studies: tuple[Study, ...] = (
        small_study(),
        study_of_jobs(job("a", "threads"), title="Talk"),
    )
    monkeypatch.setattr(reproduce, "STUDIES", studies)


@pytest.mark.usefixtures("small")
def test_it_prints_the_verdicts_and_where_the_report_is(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, printed, errors = run("reproduce", out, "--quick", "--workers", "1")
    assert (code, errors) == (0, "")
    assert printed.splitlines() == [
        "Means come near the truth",
        "  holds: The mean comes near zero.",
        "Talk",
        "Claims: 1 holds.",
        f"The report is {out / 'index.html'}",
    ]
    assert (out / "index.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.usefixtures("small")
def test_another_size_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    assert run("reproduce", tmp_path, "--quick", "--workers", "1").code == 0
    before = (tmp_path / "index.html").read_bytes()
    assert_refused(run("reproduce", tmp_path), "belongs to another plan", "size quick, got full")
    assert_refused(run("reproduce", tmp_path, "--quick", "--seed", "2"), "seed 1, got 2")
    assert (tmp_path / "index.html").read_bytes() == before


@pytest.mark.usefixtures("small")
def test_only_what_is_asked_for_is_run(tmp_path: Path) -> None:
    _, printed, _ = run("reproduce", tmp_path, "--quick", "--only", "jobs")
    assert printed.startswith("Talk\nClaims: none.\n")
    refused = run("reproduce", tmp_path, "--quick", "--only", "means", "--only", "medians")
    assert_refused(refused, "must be one of means, jobs", "'medians'")


def test_a_failing_job_is_named_and_the_code_is_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = study_of_jobs(job("unlucky", "failing", reason="no luck"), title="Bad")
    monkeypatch.setattr(reproduce, "STUDIES", (bad, small_study()))
    code, printed, errors = run("reproduce", tmp_path, "--quick", "--workers", "1")
    assert code == 1
    assert errors == "Error: Bad: the job unlucky failed: RuntimeError: no luck\n"
    assert "Claims: 1 holds." in printed
    assert (tmp_path / "index.html").exists()


def test_interrupted_it_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = (job("a", "threads"), job("b", "interrupting"))
    monkeypatch.setattr(reproduce, "STUDIES", (study_of_jobs(*jobs),))
    code, _, errors = run("reproduce", tmp_path, "--quick", "--workers", "1")
    assert code == 130
    assert errors.strip() == "Interrupted; the same command continues it."
    assert [path.name for path in (tmp_path / "work" / "jobs").iterdir()] == ["a.json"]


@pytest.mark.usefixtures("small")
def test_bad_options_are_refused(tmp_path: Path) -> None:
    data = tmp_path / "items.csv"
    data.write_text("id,a\n", encoding="utf-8")
    out = tmp_path / "out"
    assert_refused(run("reproduce", out, "--items", data), "--items and --ratings go together")
    assert_refused(run("reproduce", out, "--history", tmp_path / "none.csv"), "none.csv")
    assert_refused(run("reproduce", out, "--seed", "-1"), "--seed")
    assert_refused(run("reproduce", data), "items.csv")
    assert_refused(run("reproduce", tmp_path), "expected a new or empty folder")
    assert not out.exists()


@pytest.mark.parametrize("study", reproduce.STUDIES, ids=lambda study: study.name)
@pytest.mark.parametrize("size", ["quick", "full"])
def test_the_jobs_of_every_study_can_be_written_down(study: Study, size: str) -> None:
    jobs = list(study.jobs(Plan(size="quick" if size == "quick" else "full")))
    assert len({each.key for each in jobs}) == len(jobs)
    for each in jobs:
        assert json.loads(json.dumps(dict(each.arguments), allow_nan=False)) is not None
        module, function = each.function.split(":")
        assert module.startswith("bandstand_lab.")
        assert function.isidentifier()


def test_every_study_is_on_the_page() -> None:
    page = (DOCS / "research" / "reproduce.md").read_text(encoding="utf-8")
    section = page.split("## Studies\n")[1].split("\n## ")[0]
    told = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert told == [study.name for study in reproduce.STUDIES]


def test_every_study_that_is_written_is_registered() -> None:
    modules = [
        import_module(f"{package.__name__}.{found.name}")
        for package in (paper, people)
        for found in pkgutil.iter_modules(package.__path__)
    ]
    written = [module.STUDY for module in modules if hasattr(module, "STUDY")]
    assert sorted(study.name for study in written) == sorted(
        each.name for each in reproduce.STUDIES
    )

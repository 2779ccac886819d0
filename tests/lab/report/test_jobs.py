"""Jobs run once, in any order, and one that fails leaves the others alone."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bandstand.errors import InvalidInputError
from bandstand_lab.report.folder import ReportFolder
from bandstand_lab.report.jobs import StudyJob, execute, fingerprint, kept, run_jobs
from bandstand_lab.report.study import Job
from tests.fixtures.child_processes import started
from tests.fixtures.lab.small_study import job
from tests.fixtures.waiting import wait_until


@pytest.fixture
def folder(tmp_path: Path) -> ReportFolder:
    return ReportFolder(path=tmp_path / "out", digests={})


def of_study(*jobs: Job) -> list[StudyJob]:
    return [StudyJob(study="study", job=each) for each in jobs]


def result(folder: ReportFolder, each: StudyJob) -> Any:
    found = kept(each, folder)
    assert found is not None
    return found.result


def calls(folder: Path) -> list[str]:
    return (folder / "calls.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("workers", [1, 2])
def test_every_job_has_its_result(folder: ReportFolder, workers: int) -> None:
    jobs = of_study(*(job(f"n{n}", "mean_of_draws", seed=1, count=n) for n in (3, 5, 9)))
    seen: list[tuple[int, int]] = []
    assert run_jobs(jobs, folder, workers=workers, on_done=lambda *both: seen.append(both)) == []
    assert [result(folder, each)["count"] for each in jobs] == [3, 5, 9]
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_no_jobs_are_done_at_once(folder: ReportFolder) -> None:
    assert run_jobs([], folder) == []


def test_what_is_there_is_not_computed_again(folder: ReportFolder, tmp_path: Path) -> None:
    jobs = of_study(*(job(name, "noted", folder=str(tmp_path), name=name) for name in "ab"))
    run_jobs(jobs[:1], folder)
    run_jobs(jobs, folder, workers=1)
    assert calls(tmp_path) == ["begin a", "end a", "begin b", "end b"]


def test_another_argument_is_another_result(folder: ReportFolder) -> None:
    few = of_study(job("n", "mean_of_draws", seed=1, count=3))
    many = of_study(job("n", "mean_of_draws", seed=1, count=30))
    run_jobs(few, folder)
    assert kept(many[0], folder) is None
    run_jobs(many, folder)
    assert result(folder, many[0])["count"] == 30


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"fingerprint": 1}', b"\xff", b"1"])
def test_a_file_that_is_no_result_is_computed_again(folder: ReportFolder, content: bytes) -> None:
    jobs = of_study(job("n", "mean_of_draws", seed=1, count=3))
    run_jobs(jobs, folder)
    expected = result(folder, jobs[0])
    place = folder.result("study", "n")
    place.write_bytes(content)
    assert kept(jobs[0], folder) is None
    run_jobs(jobs, folder)
    assert result(folder, jobs[0]) == expected


def test_a_torn_result_is_computed_again_wherever_it_ends(folder: ReportFolder) -> None:
    jobs = of_study(job("n", "mean_of_draws", seed=1, count=3))
    run_jobs(jobs, folder)
    place = folder.result("study", "n")
    whole = place.read_bytes()
    for length in range(len(whole)):
        place.write_bytes(whole[:length])
        assert kept(jobs[0], folder) is None


@pytest.mark.parametrize("workers", [1, 2])
def test_one_that_fails_leaves_the_others_alone(folder: ReportFolder, workers: int) -> None:
    jobs = of_study(
        job("bad", "failing", reason="no <luck>"),
        job("refused", "refusing", file="plays.csv"),
        job("nan", "not_json"),
        Job(key="absent", function="bandstand.nowhere:nothing", arguments={}),
        job("good", "mean_of_draws", seed=1, count=3),
    )
    failures = run_jobs(jobs, folder, workers=workers)
    reasons = {each.key: each.reason for each in failures}
    assert reasons.pop("nan").startswith("ValueError: Out of range float values")
    assert reasons == {
        "absent": "ModuleNotFoundError: No module named 'bandstand.nowhere'",
        "bad": "RuntimeError: no <luck>",
        "refused": "plays.csv line 3: expected a number, got 'x'",
    }
    assert result(folder, jobs[-1])["count"] == 3
    trace = folder.result("study", "bad").with_suffix(".error.txt")
    assert "in failing" in trace.read_text(encoding="utf-8")


def test_one_that_failed_is_tried_again(folder: ReportFolder, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    jobs = of_study(job("size", "size_of", file=str(data)))
    assert len(run_jobs(jobs, folder)) == 1
    data.write_bytes(b"abc")
    assert run_jobs(jobs, folder) == []
    assert result(folder, jobs[0]) == 3
    assert [path.name for path in (folder.path / "work" / "study").iterdir()] == ["size.json"]


def test_one_whose_process_is_killed_leaves_the_others_alone(folder: ReportFolder) -> None:
    jobs = of_study(
        *(job(f"n{n}", "mean_of_draws", seed=1, count=n, seconds=0.05) for n in range(3, 7)),
        job("dying", "dying"),
        *(job(f"n{n}", "mean_of_draws", seed=1, count=n) for n in range(7, 12)),
    )
    failures = run_jobs(jobs, folder, workers=2)
    assert [(each.key, each.reason) for each in failures] == [
        ("dying", "its process ended without an answer")
    ]
    assert all(kept(each, folder) is not None for each in jobs if each.job.key != "dying")


def test_what_measures_time_runs_by_itself(folder: ReportFolder, tmp_path: Path) -> None:
    place = str(tmp_path)
    jobs = of_study(
        *(job(f"n{n}", "noted", folder=place, name=f"n{n}", seconds=0.05) for n in range(3)),
        *(job(f"t{n}", "noted", alone=True, folder=place, name=f"t{n}") for n in range(2)),
    )
    run_jobs(jobs, folder, workers=2)
    assert calls(tmp_path)[:4] == ["begin t0", "end t0", "begin t1", "end t1"]


def test_what_measures_time_has_a_fresh_process_with_one_thread(
    folder: ReportFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    jobs = of_study(*(job(key, "threads", alone=True) for key in "ab"))
    run_jobs(jobs, folder)
    found = [result(folder, each) for each in jobs]
    assert [each["threads"] for each in found] == ["1", "1"]
    assert len({os.getpid(), *(each["process"] for each in found)}) == 3


def test_what_a_job_prints_is_none_of_its_result(folder: ReportFolder) -> None:
    jobs = of_study(job("chat", "chatting", alone=True, text="{}"))
    assert run_jobs(jobs, folder) == []
    assert result(folder, jobs[0]) == "{}"


def test_what_runs_by_itself_ends_with_whoever_started_it(tmp_path: Path) -> None:
    file = tmp_path / "process"
    order = ("tests.fixtures.lab.small_study:waiting", {"file": str(file)})
    code = f"from bandstand_lab.report.jobs import run_apart\nrun_apart({order!r})\n"
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths}
    with started([sys.executable, "-c", code], env=environment) as process:
        wait_until(file.exists)
        child = int(file.read_text(encoding="utf-8"))
        assert Path(f"/proc/{child}").exists()
        process.kill()
        process.wait()
        wait_until(lambda: not _runs(child))


def _runs(process: int) -> bool:
    try:
        state = (
            Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
        )
    except OSError:
        return False
    return state != "Z"


def test_a_file_counts_by_what_it_holds() -> None:
    def seen(name: str, digest: str) -> str:
        nested = {"files": [{"plays": name}], "other": 1}
        return fingerprint(Job(key="k", function="m:f", arguments=nested), {name: digest})

    assert seen("/a/plays.csv", "1f") == seen("/b/moved.csv", "1f")
    assert seen("/a/plays.csv", "1f") != seen("/a/plays.csv", "2e")


def test_a_tuple_and_a_list_are_the_same_to_a_fingerprint() -> None:
    first = Job(key="k", function="m:f", arguments={"sizes": (1, 2)})
    second = Job(key="k", function="m:f", arguments={"sizes": [1, 2]})
    assert fingerprint(first, {}) == fingerprint(second, {})


@pytest.mark.parametrize("key", ["", "../up", "a/b", ".hidden", "a b", "x" * 200, "a\n"])
def test_a_key_that_is_no_name_of_a_file_is_refused(key: str) -> None:
    with pytest.raises(InvalidInputError, match="must be good for a file's name"):
        of_study(job(key, "threads"))


def test_the_record_says_how_it_was_made(folder: ReportFolder) -> None:
    run_jobs(of_study(job("n", "mean_of_draws", seed=1, count=3)), folder)
    record = json.loads(folder.result("study", "n").read_bytes())
    assert record["arguments"] == {"seed": 1, "count": 3}
    assert record["function"].endswith(":mean_of_draws")
    assert record["seconds"] >= 0


def test_a_result_is_the_same_in_any_process() -> None:
    name, arguments = "tests.fixtures.lab.small_study:mean_of_draws", {"seed": 1, "count": 9}
    assert execute((name, arguments))["text"] == execute((name, arguments))["text"]

"""The scan on a real cluster: one scheduler, two worker processes, nothing beyond loopback."""

from __future__ import annotations

import json
import operator
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.library import analysers
from bandstand.music.library.analyse import request
from bandstand.music.library.analysers import Asked, ClusterAnalyser, LocalAnalyser, analyse_batch
from bandstand.types import Analysis
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.cli.run_command import environment
from tests.fixtures.music.dask_cluster import Cluster, children_of, cluster, lonely_scheduler
from tests.fixtures.music.scan_command import contents, matrix, scanned
from tests.fixtures.music.scanned_library import song, tagged

FILES = 40  # five batches


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Cluster]:
    with cluster(workers=2) as started:
        yield started


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    for number in range(FILES):
        path = folder / f"album {number % 3}" / f"{number}.mp3"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"no music" if number % 10 == 9 else tagged(number, f"Song {number}"))
    (folder / b"\xff two\nlines.wav".decode(errors="surrogateescape")).write_bytes(song(1))
    return folder


def jobs(library: Path) -> list[Asked]:
    paths = [bytes(path) for path in sorted(library.rglob("*.*"))]
    return [(path, request(path, root=bytes(library))) for path in paths]


def facts(found: Analysis | str) -> object:
    """Return all of an analysis, to the last bit."""
    if isinstance(found, str):
        return found
    names = ("tags", "duration", "version", "fingerprint", "size", "modified_ns")
    return [found.descriptors.tobytes(), *(getattr(found, name) for name in names)]


def local_facts(library: Path) -> dict[bytes, object]:
    with LocalAnalyser(workers=1) as analyser:
        return {path: facts(found) for path, found in analyser.run(jobs(library))}


def test_a_worker_killed_in_the_middle_loses_nothing(two_workers: Cluster, library: Path) -> None:
    expected = local_facts(library)
    assert sum(isinstance(reason, str) for reason in expected.values()) == FILES // 10
    with ClusterAnalyser(two_workers.address) as analyser:
        analyser._client.wait_for_workers(2, timeout=PATIENCE)
        found = dict(analyser.run(iter(jobs(library))))
        assert {path: facts(it) for path, it in found.items()} == expected

        victim, children, again = two_workers.workers[0], set[int](), {}
        # Often enough that the victim is at work when it is killed.
        for path, outcome in analyser.run(iter(jobs(library) * 3)):
            again[path] = outcome
            if victim.poll() is None and victim.pid in _at_work(analyser):
                children = children_of(victim)
                victim.send_signal(signal.SIGKILL)
                victim.wait(PATIENCE)
        two_workers.add_worker()
    assert {path: facts(it) for path, it in again.items()} == expected
    assert victim.returncode == -signal.SIGKILL
    assert children
    _assert_gone(children)


def _at_work(analyser: ClusterAnalyser) -> set[int]:
    """Return the process ids of the workers that have something to do."""
    ids = analyser._client.run(os.getpid, on_error="return")
    return {ids[worker] for worker, keys in analyser._client.processing().items() if keys}


def _assert_gone(processes: set[int]) -> None:
    until = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{number}/cmdline").exists() for number in processes):
        assert time.monotonic() < until, "children must end with their worker"
        time.sleep(0.02)


def test_the_command_agrees_on_a_cluster(
    two_workers: Cluster, library: Path, tmp_path: Path
) -> None:
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    local = scanned(library, store=here)
    options = ("--scheduler", two_workers.address, "--json")
    done = subprocess.run(
        [sys.executable, "-m", "bandstand", "scan", *options, "--store", there, library],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert not done.stderr
    report = json.loads(done.stdout)
    assert report["isolation"] is None  # the workers know, and may differ
    assert report | {"seconds": 0, "isolation": 0} == local | {"seconds": 0, "isolation": 0}
    assert report["added"] == FILES - FILES // 10 + 1
    assert contents(there).facts == contents(here).facts
    assert matrix(there) == matrix(here)


def test_jobs_are_taken_a_few_at_a_time(two_workers: Cluster, library: Path) -> None:
    taken: list[int] = []

    def endless() -> Iterator[Asked]:
        while True:
            for job in jobs(library):
                taken.append(1)
                yield job

    with ClusterAnalyser(two_workers.address) as analyser:
        outcomes = analyser.run(endless())
        for _ in range(20):
            next(outcomes)
    assert len(taken) < 200


def test_what_goes_wrong_on_the_workers_is_not_the_files_fault(
    two_workers: Cluster, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Something that every worker has, and that fails on a list of requests.
    monkeypatch.setattr(analysers, "analyse_batch", operator.index)
    with (
        ClusterAnalyser(two_workers.address) as analyser,
        pytest.raises(BandstandError, match="must be able to analyse files, got: TypeError"),
    ):
        list(analyser.run(jobs(library)))


def test_workers_of_another_version_are_not_blamed_on_the_files(
    two_workers: Cluster, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysers, "VERSION", VERSION + 1)
    with (
        ClusterAnalyser(two_workers.address) as analyser,
        pytest.raises(BandstandError, match=f"version {VERSION + 1}, got version {VERSION}"),
    ):
        list(analyser.run(jobs(library)[:5]))


def test_a_scheduler_without_workers_or_lost_on_the_way_is_reported(library: Path) -> None:
    with lonely_scheduler() as (process, address):
        with pytest.raises(InvalidInputError, match="must have a worker, found none"):
            ClusterAnalyser(address, timeout_seconds=0.5)
        assert process.stdin is not None
        process.stdin.write("a worker, please\n")
        process.stdin.flush()
        with ClusterAnalyser(address, timeout_seconds=PATIENCE) as analyser:
            outcomes = analyser.run(iter(jobs(library) * 10))
            next(outcomes)
            process.kill()
            with pytest.raises(BandstandError, match="it was lost"):
                list(outcomes)


def test_without_the_package_one_sentence_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BandstandError, match=r"install bandstand\[dask\]"):
        ClusterAnalyser("tcp://127.0.0.1:8786")


def test_a_worker_answers_in_the_order_it_was_asked(library: Path) -> None:
    asked = jobs(library)[:5]
    try:
        version, answers = analyse_batch([wanted for _, wanted in asked])
    finally:
        analysers._of_this_thread.analyser.__exit__(None, None, None)
        del analysers._of_this_thread.analyser
    with LocalAnalyser(workers=1) as analyser:
        replies = dict(analyser.replies(asked))
    assert version == VERSION
    assert answers == [analysers._as_plain(replies[path]) for path, _ in asked]

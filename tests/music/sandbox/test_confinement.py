import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bandstand.music.sandbox import Limits, Pool
from tests.fixtures.music.escape_attempts import ATTEMPTS
from tests.fixtures.music.sandbox_children import outcome, outcomes, pool, value

ATTEMPT = "tests.fixtures.music.escape_attempts:attempt"
PROGRAMS = Limits(may_start_programs=True)
# What else those can do who may start programs.
FREE_WITH_PROGRAMS = {"fork", "start a program", "become a program"}


@pytest.fixture
def surroundings(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Yield what attempts need: a folder with one file, a port with a listener."""
    (tmp_path / "existing").write_bytes(b"content")
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield {"folder": str(tmp_path), "port": server.getsockname()[1]}


@pytest.fixture(scope="module")
def filtered() -> Iterator[Pool]:
    with pool(ATTEMPT) as made:
        yield made


@pytest.fixture(scope="module")
def unfiltered() -> Iterator[Pool]:
    with pool(ATTEMPT, filtered=False) as made:
        yield made


@pytest.mark.parametrize("what", ATTEMPTS)
def test_a_child_can_not_do_this(what: str, surroundings: dict[str, Any], filtered: Pool) -> None:
    (result,) = outcomes(filtered, [surroundings | {"what": what}])
    assert value(result) == {"error": "EPERM"}
    assert os.listdir(surroundings["folder"]) == ["existing"]
    assert Path(surroundings["folder"], "existing").read_bytes() == b"content"


@pytest.mark.parametrize("what", ATTEMPTS)
def test_without_the_filter_it_can(
    what: str, surroundings: dict[str, Any], unfiltered: Pool
) -> None:
    (result,) = outcomes(unfiltered, [surroundings | {"what": what}])
    assert value(result) == {"error": None}


def test_who_may_start_programs_may_do_nothing_else_more(surroundings: dict[str, Any]) -> None:
    with pool(ATTEMPT, limits=PROGRAMS) as made:
        jobs = ((what, surroundings | {"what": what}) for what in ATTEMPTS)
        errors = {what: value(result)["error"] for what, result in made.run(jobs)}
    assert {what for what, error in errors.items() if error is None} == FREE_WITH_PROGRAMS
    assert set(errors.values()) == {None, "EPERM"}


@pytest.mark.parametrize("filtered", [True, False])
def test_a_started_program_is_bound_by_the_same_filter(tmp_path: Path, *, filtered: bool) -> None:
    script = f"echo out; echo content > {tmp_path}/new"
    request = {"command": ["/bin/sh", "-c", script]}
    written = Limits(may_start_programs=True, written_bytes=0 if filtered else 100)
    answer = value(outcome("start", request, limits=written, filtered=filtered))
    assert answer["printed"] == "out\n"
    assert (answer["status"] == 0) is not filtered
    assert (tmp_path / "new").exists() is not filtered


@pytest.mark.parametrize("filtered", [True, False])
def test_a_started_program_can_not_leave_its_group(*, filtered: bool) -> None:
    command = ["/bin/sh", "-c", "setsid echo out"]
    answer = value(outcome("start", {"command": command}, limits=PROGRAMS, filtered=filtered))
    assert (answer["printed"] == "out\n") is not filtered


@pytest.mark.parametrize("filtered", [True, False])
def test_the_largest_file_is_limited_by_the_system_too(tmp_path: Path, *, filtered: bool) -> None:
    script = f"head -c 100000 /dev/zero > {tmp_path}/new"
    request = {"command": ["/bin/sh", "-c", script]}
    limits = Limits(may_start_programs=True, written_bytes=5000)
    value(outcome("start", request, limits=limits, filtered=filtered))
    assert (tmp_path / "new").stat().st_size == 5000


def test_a_child_sees_little_of_its_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDSTAND_STORE", "postgresql://user:secret@host/base")
    monkeypatch.setenv("PYTHONSTARTUP", "/tmp/x.py")  # noqa: S108
    seen = value(outcome("look_around", {}))
    assert set(seen["variables"]) <= {
        "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "TMPDIR", "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_NUM_THREADS",
        "MALLOC_ARENA_MAX",
    }  # fmt: skip
    assert seen["isolated"] == 1
    assert seen["leads_a_session"]
    assert seen["standard_input"] == ""
    assert not seen["has_folder"]


def test_a_child_is_under_its_limits_for_good() -> None:
    chosen = Limits(memory_bytes=300 << 20, written_bytes=700, open_files=20)
    seen = value(outcome("look_around", {}, limits=chosen))["limits"]
    assert seen == {
        "memory": [300 << 20] * 2,
        "written": [700, 700],
        "files": [20, 20],
        "core": [0, 0],
    }


def test_a_child_has_no_rights_to_lose() -> None:
    seen = value(outcome("look_around", {}))
    status = seen["status"]
    assert seen["dumpable"] == 0
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert int(status["CapEff"], 16) & ~0b110 == 0
    assert int(status["CapPrm"], 16) & ~0b110 == 0


@pytest.mark.parametrize("limits", [Limits(), PROGRAMS], ids=["strict", "programs"])
def test_threads_start_in_a_child(limits: Limits) -> None:
    assert value(outcome("start_threads", {"count": 16}, limits=limits)) == {"count": 16}


@pytest.mark.parametrize("filtered", [True, False])
def test_a_pool_tells_what_is_in_force(*, filtered: bool) -> None:
    with pool("echo", filtered=filtered) as made:
        words = made.isolation()
        assert value(dict(made.run([(1, {"a": 1})]))[1]) == {"a": 1}
    assert "at most 1024 MB of memory" in words
    assert ("not on this system" in words) is not filtered

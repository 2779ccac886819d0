"""A folder belongs to one size, one seed and one process, and never to other files."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bandstand.errors import ConflictError, InvalidInputError
from bandstand_lab.report.folder import claimed, options, write_whole
from bandstand_lab.report.study import Plan
from tests.fixtures.child_processes import started

PLAN = Plan(size="quick", seed=3)


def claim(path: Path, plan: Plan = PLAN) -> dict[str, Any]:
    """Return what a folder says of its plan while it is claimed."""
    with claimed(path, plan):
        kept: dict[str, Any] = json.loads((path / "work" / "plan.json").read_bytes())
    assert (kept["size"], kept["seed"]) == (plan.size, plan.seed)
    return kept


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "plays.csv"
    file.write_text("item\na\n", encoding="utf-8")
    return file


def test_a_new_folder_is_made_and_the_same_plan_may_come_again(tmp_path: Path) -> None:
    assert claim(tmp_path / "deep" / "out") == claim(tmp_path / "deep" / "out")


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert claim(tmp_path / "out") == claim(tmp_path / "new")


def test_one_left_before_the_plan_was_written_will_do(tmp_path: Path) -> None:
    (tmp_path / "out" / "work").mkdir(parents=True)
    (tmp_path / "out" / "work" / ".plan.json.part").write_bytes(b"{")
    assert claim(tmp_path / "out") == claim(tmp_path / "new")


def test_somebody_elses_folder_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="expected a new or empty folder"):
        claim(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(PLAN, size="full"), "size quick, got full"),
        (replace(PLAN, seed=4), "seed 3, got 4"),
        (replace(PLAN, seed=4, size="full"), "size quick, got full, seed 3, got 4"),
    ],
)
def test_another_size_or_seed_is_refused(tmp_path: Path, other: Plan, said: str) -> None:
    claim(tmp_path / "out")
    with pytest.raises(ConflictError, match=said):
        claim(tmp_path / "out", other)
    claim(tmp_path / "out")


def test_other_data_are_taken_and_written_down(tmp_path: Path, data: Path) -> None:
    def kept(plan: Plan) -> list[str]:
        return list(claim(tmp_path / "out", plan)["histories"])

    plan = replace(PLAN, histories=(data,))
    first = kept(plan)
    data.write_text("item\nb\n", encoding="utf-8")
    second = kept(plan)
    assert len(second) == 1
    assert second != first
    assert kept(PLAN) == []


def test_data_may_move(tmp_path: Path, data: Path) -> None:
    before = claim(tmp_path / "out", replace(PLAN, histories=(data,)))
    moved = data.rename(tmp_path / "elsewhere.csv")
    assert claim(tmp_path / "out", replace(PLAN, histories=(moved,))) == before


def test_data_that_are_not_there_are_refused(tmp_path: Path) -> None:
    plan = replace(PLAN, histories=(tmp_path / "none.csv",))
    with pytest.raises(InvalidInputError, match=r"none\.csv: expected a file that can be read"):
        claim(tmp_path / "out", plan)
    assert not (tmp_path / "out").exists()


def test_a_place_that_is_no_folder_is_refused(data: Path) -> None:
    with pytest.raises(InvalidInputError, match="must be a folder that can be written to"):
        claim(data / "out")


@pytest.mark.parametrize("content", [b"{", b"[]", b"null", b"\xff"])
def test_a_plan_that_cannot_be_read_is_told(tmp_path: Path, content: bytes) -> None:
    claim(tmp_path / "out")
    (tmp_path / "out" / "work" / "plan.json").write_bytes(content)
    with pytest.raises(InvalidInputError, match="expected the plan of an earlier run"):
        claim(tmp_path / "out")


def test_two_processes_do_not_work_in_one_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from bandstand_lab.report.folder import claimed\n"
        "from bandstand_lab.report.study import Plan\n"
        "with claimed(Path(sys.argv[1]), Plan(size='quick', seed=3)):\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(300)\n"
    )
    with started([sys.executable, "-c", code, str(out)], stdout=-1, env=_environment()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with pytest.raises(ConflictError, match="another `bandstand reproduce` works in it"):
            claim(out)
        process.kill()
        process.wait()
        claim(out)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_the_options_ask_for_the_same_plan() -> None:
    plan = Plan(
        size="quick",
        seed=7,
        histories=(Path("/home/ann/a.csv"), Path("b.csv")),
        content=(Path("items.csv"), Path("ratings.csv")),
    )
    expected = (
        "--quick --seed 7 --history a.csv --history b.csv --items items.csv --ratings ratings.csv"
    )
    assert options(plan) == expected


def test_a_file_is_whole_even_if_an_unfinished_one_is_there(tmp_path: Path) -> None:
    (tmp_path / ".a.json.part").write_bytes(b"unfinished and much longer")
    write_whole(tmp_path / "a.json", b"{}")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.json": b"{}"}

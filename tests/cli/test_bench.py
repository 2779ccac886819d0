"""`bandstand bench` as people run it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bandstand_lab.cli.bench import bench

if TYPE_CHECKING:
    from pathlib import Path

# As small as it can be; what is measured is the same as in the whole study.
TINY = ("--quick", "--sizes", "12,20", "--repeats", "1", "--features", "3", "--songs", "60")


def test_json_is_all_that_is_printed_and_a_plot_is_drawn(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plot_file = tmp_path / "bench.png"
    arguments = [*TINY, "--json", "-", "--plot", str(plot_file)]
    outcome = CliRunner().invoke(bench, arguments, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    document = json.loads(capfd.readouterr().out)
    assert {"asked", "claims", "training", "growth", "online_step", "import"} <= set(document)
    assert document["request"]["sizes"] == [12, 20]
    assert set(document["machine"]["threads"].values()) == {"1"}
    assert document["import"]["unwanted_modules_after_all_engines"] == []
    assert plot_file.read_bytes().startswith(b"\x89PNG")


def test_without_jinja2_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bandstand_lab.cli.bench.find_spec", lambda _: None)
    outcome = CliRunner().invoke(bench, [*TINY])
    assert outcome.exit_code == 1
    assert "install bandstand[report]" in outcome.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "100,many"], "expected different numbers of ratings, each at least 5"),
        (["--sizes", "100,100"], "got '100,100'"),
        (["--sizes", ""], "got ''"),
        (["--sizes", "3"], "got '3'"),
        (["--repeats", "0"], "0 is not in the range"),
        (["--features", "1"], "1 is not in the range"),
        (["--plot", "bench.txt"], "expected a name that ends in .png, .svg or .pdf"),
        (["--plot", "nowhere/bench.png"], "expected a file in a folder that exists"),
        (["--json", "nowhere/bench.json"], "expected a file in a folder that exists"),
        (["--scale", "--sizes", "100"], "--scale does not go with --audio, --radio, --sizes or"),
        (["--scale", "--radio"], "--scale does not go with"),
        (["--only", "step"], "--only goes with --scale"),
        (["--songs", "49", "--scale"], "49 is not in the range"),
    ],
)
def test_bad_input_is_refused_before_anything_is_measured(
    arguments: list[str], message: str
) -> None:
    outcome = CliRunner().invoke(bench, arguments)
    assert outcome.exit_code == 2
    assert message in outcome.output


def test_a_measurement_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bandstand_lab.speed.timing.run_pinned", lambda *_: 3)
    outcome = CliRunner().invoke(bench, ["--quick"])
    assert outcome.exit_code == 1
    assert "must end with code 0, got 3" in outcome.output


def test_one_part_of_a_large_catalogue_is_measured_alone(
    capfd: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--scale", "--quick", "--songs", "60", "--features", "3", "--json", "-"]
    outcome = CliRunner().invoke(bench, [*arguments, "--only", "step"], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    document = json.loads(capfd.readouterr().out)
    assert list(document["parts"]) == ["step"]
    assert document["request"]["songs"] == 60
    assert set(document["machine"]["threads"].values()) == {"1"}


def test_a_part_that_is_not_there_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    outcome = CliRunner().invoke(bench, ["--scale", "--only", "everything"])
    assert outcome.exit_code == 2
    assert "a part must be one of step, playlist" in capfd.readouterr().err


def test_a_figure_of_parts_that_have_none_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "scale.png"
    outcome = CliRunner().invoke(bench, ["--scale", "--only", "costs", "--plot", str(picture)])
    assert outcome.exit_code == 2
    assert "a figure shows the part growth, got only costs" in capfd.readouterr().err
    assert not picture.exists()

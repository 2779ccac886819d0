"""`bandstand bench` as people run it."""

import json

import pytest
from click.testing import CliRunner

from bandstand_lab.cli.bench import bench
from tests.fixtures.cli.run_command import assert_refused, run

SMALL = ("--quick", "--features", "3", "--songs", "60", "--json", "-")


def test_json_is_all_that_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    outcome = CliRunner().invoke(bench, [*SMALL, "--seed", "0"], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    document = json.loads(capfd.readouterr().out)
    assert list(document["parts"]) == ["small"]
    assert (document["request"]["small_songs"], document["request"]["seed"]) == ([60], 0)
    assert set(document["machine"]["threads"].values()) == {"1"}


def test_one_part_of_a_large_catalogue_is_measured_alone(
    capfd: pytest.CaptureFixture[str],
) -> None:
    arguments = [*SMALL, "--scale", "--only", "playlist", "--rate", "32"]
    outcome = CliRunner().invoke(bench, arguments, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    document = json.loads(capfd.readouterr().out)
    assert list(document["parts"]) == ["playlist"]
    assert (document["request"]["songs"], document["request"]["rate"]) == (60, [32.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--features", "1"], "1 is not in the range"),
        (["--scale", "--radio"], "--radio does not go with --scale"),
        (["--radio", "--features", "3"], "--radio does not go with --features"),
        (["--only", "step"], "bench does not go with --only"),
        (["--scale", "--rate", "0"], "0.0 is not in the range"),
        (["--songs", "49", "--scale"], "49 is not in the range"),
    ],
)
def test_bad_input_is_refused_before_anything_is_measured(
    arguments: list[str], message: str
) -> None:
    outcome = CliRunner().invoke(bench, arguments)
    assert outcome.exit_code == 2
    assert message in outcome.output


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured() -> None:
    words = "--json must name a file in a folder that can be written to"
    assert_refused(run("bench", "--json", "nowhere/bench.json"), words)


def test_a_measurement_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bandstand_lab.speed.timing.run_pinned", lambda *_, **__: 3)
    assert CliRunner().invoke(bench, ["--quick"]).exit_code == 3


def test_a_part_that_is_not_there_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    outcome = CliRunner().invoke(bench, ["--scale", "--only", "everything"])
    assert outcome.exit_code == 2
    assert "a part must be one of step, small" in capfd.readouterr().err

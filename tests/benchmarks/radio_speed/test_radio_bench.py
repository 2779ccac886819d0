"""`bandstand bench --radio`: a real server under a tiny load; how fast it is, is not tested."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from bandstand.errors import BandstandError, InvalidInputError
from bandstand_lab.cli.bench import bench
from benchmarks.latencies import latencies_of
from benchmarks.radio_speed.bench import PARTS, main, print_tables, promises
from benchmarks.radio_speed.client import whole_answer
from benchmarks.radio_speed.load import Order, load
from benchmarks.radio_speed.process import RadioProcess
from benchmarks.radio_speed.study import RadioRequest, RadioResult, measure, quick_request

if TYPE_CHECKING:
    from pathlib import Path

TINY = RadioRequest(songs=50, ratings=5, steps=3, listeners=3, seconds=0.5)


@pytest.fixture(scope="module")
def parts() -> list[str]:
    """What a run has told of its parts."""
    return []


@pytest.fixture(scope="module")
def result(parts: list[str]) -> RadioResult:
    """The result of a tiny run."""
    return measure(TINY, parts.append)


def test_everything_is_measured_and_nothing_is_lost(result: RadioResult, parts: list[str]) -> None:
    assert len(parts) == PARTS
    for name, outcome in result.loads.items():
        assert outcome.errors == {}, name
        assert outcome.behind == 0, name
        assert outcome.acknowledged == len(outcome.ratings) > 0, name
    assert len(result.one.steps) == TINY.steps
    assert len(result.first_songs.songs) == TINY.listeners
    assert result.rating.steps == []
    assert result.stored == result.acknowledged
    assert result.memory_in_use.resident > 10_000_000
    assert 0 < result.restart_seconds < 60


def test_what_was_measured_can_be_written_and_printed(result: RadioResult) -> None:
    document: dict[str, Any] = json.loads(json.dumps(result.as_json(), allow_nan=False))
    assert document["stored"] == document["acknowledged"]
    assert set(document["loads"]["songs"]) >= {"rating", "song", "step", "per_second", "errors"}
    screen = io.StringIO()
    print_tables(result, Console(file=screen, width=140))
    for promise in promises(result):
        assert promise.what in screen.getvalue()


def failing(promised: list[Any]) -> list[str]:
    return [promise.what for promise in promised if not promise.holds]


def test_a_promise_that_is_not_kept_is_seen(result: RadioResult) -> None:
    """Planted: a lost event, an error, a song that came too early, a slow step."""
    slow = replace(result.one, steps=[1.0], behind=1, errors={"500": 1})
    broken = replace(result, one=slow, stored=result.stored - 1, restart_seconds=6.0)
    # However busy the machine is, the one that is compared with has started quickly.
    kept = replace(result, restart_seconds=1.0)
    seen = set(failing(promises(broken))) - set(failing(promises(kept)))
    assert seen >= {
        "songs chosen without the rating before",
        "errors",
        "acknowledged, but not in the store",
        "restart after kill -9",
    }
    assert "rating → next song, 5 ratings" in failing(promises(broken))


def test_a_load_that_nobody_answers_is_errors() -> None:
    order = Order(port=1, cookies=["a"], stars={"0": 3}, prefix="x", asks=True, count=2)
    outcome = asyncio.run(load(order))
    assert (outcome.acknowledged, sum(outcome.errors.values())) == (0, 2)
    with pytest.raises(InvalidInputError, match="at least one answer"):
        latencies_of(outcome.ratings)


def test_a_server_that_does_not_start_is_one_sentence(tmp_path: Path) -> None:
    place = tmp_path / "radio.db"
    place.write_bytes(b"no store at all" * 100)
    with pytest.raises(BandstandError, match="expected to start, got: Error: "):
        RadioProcess(str(place), tmp_path).start()


def test_an_answer_is_whole_when_its_last_byte_is_there() -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nx: y\r\n\r\nabc"
    for count in range(len(answer)):
        assert whole_answer(answer[:count]) is None
    assert whole_answer(answer) == (200, b"abc")
    assert whole_answer(b"HTTP/1.1 204 No Content\r\n\r\n") == (204, b"")


@pytest.mark.parametrize("name", ["songs", "ratings", "steps", "listeners"])
def test_what_cannot_be_measured_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} must be at least"):
        quick_request(**{name: 0})


@pytest.mark.parametrize("other", [["--plot", "a.png"], ["--features", "3"], ["--audio", "."]])
def test_other_options_do_not_go_with_it(other: list[str]) -> None:
    outcome = CliRunner().invoke(bench, ["--radio", *other])
    assert outcome.exit_code == 2
    assert "--radio goes with --quick, --json and --songs only" in outcome.output


def test_an_order_is_measured_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    order = {"songs": 60, "ratings": 1, "steps": 1, "listeners": 1, "seconds": 0.2}
    target = tmp_path / "radio.json"
    main(json.dumps({**order, "quick": True, "json": str(target)}))
    assert "What was promised" in capsys.readouterr().out
    document = json.loads(target.read_text(encoding="utf-8"))
    assert document["request"]["songs"] == 60
    assert {"asked", "machine", "loads"} <= set(document)

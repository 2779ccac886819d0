"""Real servers under a tiny load, and the check of their answers; no time is judged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bandstand.errors import BandstandError
from bandstand.store.database.connection import open_store
from benchmarks.fixtures.postgres import PrivatePostgres
from benchmarks.load import LoadScript, Offered, Outcome, load, read_reply
from benchmarks.program import TARGETS
from benchmarks.radio import RadioRequest, RadioResult, measure, measure_radio
from benchmarks.server import ServerProcess
from benchmarks.serving import Check, Served, check, check_answers, result, serve

TINY = RadioRequest(songs=50, ratings=5, steps=3, listeners=3, seconds=0.5)
LISTENERS = 6


# ── The load generator ───────────────────────────────────────────────────────────────────


def read(received: bytes) -> tuple[int, bytes]:
    async def reply() -> tuple[int, bytes]:
        reader = asyncio.StreamReader()
        reader.feed_data(received)
        reader.feed_eof()
        return await read_reply(reader)

    return asyncio.run(reply())


def test_a_reply_is_whole_when_its_last_byte_is_there() -> None:
    reply = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nx: y\r\n\r\nabc"
    assert read(reply) == (200, b"abc")
    assert read(b"HTTP/1.1 204 No Content\r\n\r\n") == (204, b"")
    for count in range(len(reply)):
        with pytest.raises(ConnectionError, match="hung up"):
            read(reply[:count])


@pytest.mark.parametrize("rate", [None, 100.0])
def test_servers_that_are_gone_are_errors_and_no_times(rate: float | None) -> None:
    script = LoadScript(
        ports=(1, 1), cookies=["a=b"] * 3, stars={"0" * 16: 3}, prefix="gone", turns=5, rate=rate
    )
    outcome = asyncio.run(load(script))
    assert sum(outcome.errors.values()) == outcome.row()["errors"] == 5
    assert not outcome.turns
    assert outcome.row()["turn_p99_ms"] is None


def test_a_server_that_does_not_start_is_one_sentence(tmp_path: Path) -> None:
    place = tmp_path / "radio.db"
    place.write_bytes(b"no store at all" * 100)
    with pytest.raises(BandstandError, match="expected to start, got: Error: "):
        ServerProcess(str(place), tmp_path).start()


# ── bandstand bench --radio ──────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def radio() -> RadioResult:
    return measure(TINY, lambda _: None)


def test_every_load_is_measured_and_nothing_is_lost(radio: RadioResult) -> None:
    for name, outcome in radio.loads.items():
        assert (outcome.errors, outcome.behind) == ({}, 0), name
        assert sum(outcome.acknowledged) == len(outcome.events) > 0, name
    assert len(radio.loads["one listener"].turns) == TINY.steps
    assert radio.loads["all rate and ask, first song"].acknowledged == [1, 1, 1]
    assert radio.loads["all rate"].turns == []
    figures = json.loads(json.dumps(radio.as_json(), allow_nan=False))["figures"]
    wanted = {target.name for target in TARGETS if target.part == "radio"}
    assert wanted == {name for name, value in figures.items() if value is not None}
    assert figures["acknowledged ratings that are not stored"] == 0


def test_losses_are_seen() -> None:
    """Planted: a lost event, an error, and a song that was chosen without the rating before."""
    late = Offered(listener=0, server=0, last_event=2, seq=1, at=0, step=2, song="a", score=None)
    fine = Outcome(events=[0.1], turns=[0.2], acknowledged=[1], seconds=1.0)
    loads = dict.fromkeys(
        ("one listener", "all rate", "10 ratings a second", "all rate and ask"), fine
    )
    honest = RadioResult(loads=loads, stored=4, start_bytes=1, restart_seconds=1.0)
    worse = replace(fine, offered=[late], errors={"500": 1})
    broken = replace(honest, loads={**loads, "one listener": worse}, stored=3)
    for found, losses in ((honest, 0), (broken, 1)):
        figures = found.figures()
        assert figures["songs chosen without the rating before"] == losses
        assert figures["errors"] == losses
        assert figures["acknowledged ratings that are not stored"] == losses


def test_a_quick_radio_can_be_changed() -> None:
    sizes = {"songs": 50, "ratings": 1, "steps": 1, "seconds": 0.2}
    document = measure_radio(quick=True, **sizes)
    assert document["request"] == {**sizes, "listeners": 10}
    assert [one["part"] for one in document["targets"]] == ["radio"] * 11


# ── Two servers on PostgreSQL ────────────────────────────────────────────────────────────


class Run:
    """A small run, and its store, in which its answers can be checked once more."""

    def __init__(self, served: Served, store: str, home: Path) -> None:
        self.served, self.store = served, store
        self.part = result(served, check_answers(served, store, home))

    def check(self, offered: list[Offered], events: list[int] | None = None) -> Check:
        with open_store(self.store) as store:
            return check(store, self.served.names, offered, events or self.served.expected_events)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, PrivatePostgres(is_safe=False) as postgres:
        # The check in this process derives its files from the store by itself.
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        store = postgres.new_schema()
        order = {"fill": store, "songs": 200, "listeners": LISTENERS}
        yield Run(serve(order, home, 20, [10.0], lambda _: None), store, home)


def test_every_answer_of_two_servers_is_the_one_of_a_single_process(run: Run) -> None:
    found = run.part["check"]
    assert found["wrong"] == found["behind"] == found["missing"] == 0, found
    assert found["checked"] == len(run.served.offered) >= LISTENERS + 20
    assert found["by_model"] > found["checked"] / 2
    assert {one.server for one in run.served.offered} == {0, 1}
    assert run.part["figures"]["wrong answers"] == run.part["figures"]["errors"] == 0
    assert run.part["figures"]["p99 at the highest rate"] > 0
    assert [row["load"] for row in run.part["rows"]] == ["first turns", "10 turns a second"]


def test_wrong_answers_are_seen(run: Run) -> None:
    """Planted: another song, another step, another score."""
    some = [one for one in run.served.offered if one.score is not None][:3]
    songs = {one.song for one in run.served.offered}
    assert run.check(some).wrong == 0
    for wrong in (
        [one._replace(song=min(songs - {one.song})) for one in some],
        [one._replace(step=one.step + 1) for one in some],
        [one._replace(score=one.score + 0.01) for one in some if one.score is not None],
    ):
        assert run.check(wrong).wrong == len(some)


def test_answers_from_an_old_log_are_seen(run: Run) -> None:
    """Planted: a server that does not know of the event before."""
    some = [one for one in run.served.offered if one.seq == one.last_event > 1][-4:]
    stale = [one._replace(seq=one.seq - 1) for one in some]
    assert run.check(stale).behind == len(some)


def test_lost_events_are_seen(run: Run) -> None:
    """Planted: one more event was acknowledged than the log has."""
    some = run.served.offered[:1]
    events = list(run.served.expected_events)
    events[some[0].listener] += 1
    assert run.check(some, events).missing == 1

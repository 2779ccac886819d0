"""Listeners who take turns at two real servers on one real PostgreSQL: small, and checked.

How fast it is, is not tested. That every answer is the one that a single process gives, is.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.inference import exact_prediction, exact_search
from bandstand.store.database.connection import open_store
from benchmarks.private_postgres import PrivatePostgres
from benchmarks.scale import forcing
from benchmarks.scale.hall import highest_held, is_held
from benchmarks.scale.listeners import taken
from benchmarks.scale.replay import SCORE_TOLERANCE, judged
from benchmarks.scale.serving import SMALL, ServingRequest, measure, served, shortened
from benchmarks.scale.turns import Order, Outcome, Said
from benchmarks.scale.verdicts import evidence, merged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.scale.replay import Verdict
    from benchmarks.scale.serving import Served

LISTENERS = 10


class Run:
    """A small run, and its store, in which its answers can be judged once more."""

    def __init__(self, served: Served, store: str) -> None:
        self.document = served.as_json()
        kept = evidence(served.crowd, [served.first, *(each for _, each in served.rates)])
        self.said: list[Said] = kept["said"]
        self.told: list[int] = kept["told"]
        self._names: list[str] = kept["names"]
        self._store = store

    def judged(self, said: list[Said], *, told: list[int] | None = None, **forced: int) -> Verdict:
        with open_store(self._store) as store:
            return judged(store, self._names, said, told=told, **forced)


@pytest.fixture(scope="module")
def parts() -> list[str]:
    """What a run has told of its parts."""
    return []


@pytest.fixture(scope="module")
def run(parts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run of ten listeners on a thousand songs."""
    with pytest.MonkeyPatch.context() as patch, PrivatePostgres(is_safe=False) as postgres:
        # The one process here derives what it needs from the store by itself.
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        store = postgres.new_schema()
        request = ServingRequest(
            **{
                **SMALL,
                "listeners": LISTENERS,
                "store": store,
                "rates": (10.0,),
                "seconds": 4.0,
                "by_force": 5,
            }
        )
        yield Run(served(request, parts.append), store)


def test_every_answer_of_two_servers_is_the_one_of_a_single_process(run: Run) -> None:
    verdict = run.document["verdict"]
    assert verdict["checked"] == len(run.said) >= 2 * LISTENERS + 40 - 5
    assert {said.server for said in run.said} == {0, 1}
    assert (verdict["by_force"], verdict["among_all"]) == (5, 2)
    assert verdict["answers"] == verdict["checked"]
    assert verdict["by_model"] > verdict["checked"] / 2
    assert verdict["wrong"] == verdict["behind"] == verdict["missing"] == 0, verdict
    assert verdict["largest_score_difference"] <= SCORE_TOLERANCE


def test_everything_is_measured(run: Run, parts: list[str]) -> None:
    document = json.loads(json.dumps(run.document, allow_nan=False))
    assert parts[-3:-1] == ["40 turns, 10 in a second (1)", "40 turns, 10 in a second (2)"]
    assert parts[-1] == "the same answers by one process"
    for load in (document["first_turns"], *document["rates"]):
        assert load["errors"] == {}
        assert load["behind"] == 0
        assert load["turns"] == load["telling"]["count"] > 0
        work = load["server_processor_ms_per_turn"]
        assert work is None or 0 < work < 1_000 * 2 * load["seconds"]
    assert [load["turns"] for load in document["rates"]] == [40, 40]
    assert document["turns_there"] == (40 if document["highest_rate_held"] else 0)
    assert document["verdict"]["turns_timed"] > 40
    assert document["verdict"]["engine_ms_per_turn"] > 0
    assert 0 <= document["verdict"]["turns_that_read_all"] <= document["verdict"]["turns_timed"]
    assert len(document["memory"]) == len(document["start_seconds"]) == 2
    assert document["highest_rate_held"] in {0.0, 10.0}
    assert document["request"]["store"] == "given"


def test_answers_that_are_wrong_are_seen(run: Run) -> None:
    """Planted: another song, another number, another score, or what another listener was told."""
    some = [said for said in run.said if said.score is not None and said.seq > 1][:6]
    songs = {said.song for said in run.said}
    assert run.judged(some).wrong == 0
    for wrong in (
        [said._replace(song=min(songs - {said.song})) for said in some],
        [said._replace(step=said.step + 1) for said in some],
        [said._replace(score=said.score + 0.01) for said in some if said.score is not None],
    ):
        assert run.judged(wrong).wrong == len(some)


@pytest.mark.parametrize("whole", [0, 3])
def test_answers_that_a_search_gets_wrong_everywhere_are_seen_by_force(
    run: Run, monkeypatch: pytest.MonkeyPatch, whole: int
) -> None:
    """Planted: servers and the one process share a search that puts the second best first."""
    monkeypatch.setattr(forcing.among_many, "__kwdefaults__", {"many": 200})
    some = [said for said in run.said if said.score is not None and said.seq > 1][:3]
    assert run.judged(some, by_force=3, whole=whole).wrong == 0
    honest = exact_search.search

    def careless(prediction: Any, memory: Any, level: float, count: int, allowed: Any) -> Any:
        found = honest(prediction, memory, level, count + 1, allowed)
        return None if found is None else found[1:]

    monkeypatch.setattr(exact_prediction, "search", careless)
    seconds = [
        Said(**each["said"])._replace(
            song=each["expected"]["song"], score=each["expected"]["score"]
        )
        for each in run.judged(some).examples
    ]
    assert len(seconds) == 3
    assert run.judged(seconds).wrong == 0
    forced = run.judged(seconds, by_force=3, whole=whole)
    assert (forced.wrong, forced.by_force, forced.among_all) == (3, 3, whole)


def test_answers_of_a_server_that_reads_an_old_log_are_seen(run: Run) -> None:
    """Planted: a server that does not know of the event before; and one that says it does."""
    some = [said for said in run.said if said.score is not None and said.seq == said.told][-12:]
    honest = [said._replace(seq=said.seq - 1) for said in some]
    assert run.judged(honest).behind == len(some)
    # What is judged is the choice that should follow: with one more event it is another.
    stale = [
        each._replace(seq=each.seq + 1) for each in some if each.seq + 1 <= run.told[each.listener]
    ]
    assert run.judged(stale).wrong > len(stale) / 2 > 0


def test_events_that_are_lost_are_seen(run: Run) -> None:
    """Planted: one more event was acknowledged than the log has."""
    told = list(run.told)
    told[run.said[0].listener] += 1
    assert run.judged(run.said[:1], told=told).missing == 1


def test_a_rate_is_held_only_in_time_and_without_errors() -> None:
    quick = Outcome(turns=[0.1] * 99 + [0.5], told=[100], seconds=1.0)
    assert is_held(quick)
    assert not is_held(replace(quick, turns=[0.1] * 90 + [0.5] * 10))
    assert not is_held(replace(quick, errors={"503": 1}))
    assert not is_held(Outcome())


def test_rates_begin_with_one_turn_in_a_second_and_rise() -> None:
    rates = ServingRequest().rates
    assert rates[0] == 1.0
    assert list(rates) == sorted(set(rates))


@pytest.mark.parametrize(
    ("limit", "place", "tried"),
    [
        (0.5, None, [8.0, 4.0, 2.0]),
        (2.0, 0, [8.0, 4.0, 2.0]),
        (7.9, 1, [8.0, 4.0]),
        (8.0, 2, [8.0, 16.0]),
        (99.0, 3, [8.0, 16.0]),
    ],
)
def test_rates_rise_while_they_are_held_and_fall_until_one_is(
    limit: float, place: int | None, tried: list[float]
) -> None:
    seen: list[float] = []

    def is_held_at(rate: float) -> bool:
        seen.append(rate)
        return rate <= limit

    request = ServingRequest(rates=(2.0, 4.0, 8.0, 16.0), begin=5.0)
    assert highest_held(request, is_held_at) == place
    assert seen == tried


def test_a_rate_below_the_first_one_is_tried_first_where_there_are_only_such() -> None:
    request = ServingRequest(rates=(1.0, 2.0), begin=5.0)
    assert highest_held(request, lambda _: True) == 1


def test_what_is_done_less_often_is_said() -> None:
    whole = ServingRequest(every_server=1, by_force=0, fewest=1_000)
    part = ServingRequest(check_every=3)
    assert len(shortened(whole)) == 1
    assert "only answers to every listener of 3 are made again" in shortened(part)


def test_several_verdicts_are_one() -> None:
    one = {"checked": 3, "wrong": 1, "largest_score_difference": 0.5, "examples": [1]}
    other = {"checked": 4, "wrong": 0, "largest_score_difference": 0.25, "examples": []}
    both = {"checked": 7, "wrong": 1, "largest_score_difference": 0.5, "examples": [1]}
    assert merged([one, other]) == both
    assert merged([one]) == one


def test_servers_that_are_gone_are_errors_and_no_times() -> None:
    order = Order(
        ports=(1, 1), cookies=["a=b"] * 3, stars={"0" * 16: 3}, prefix="gone", turns=5, pace=100.0
    )
    outcome = asyncio.run(taken(order))
    assert sum(outcome.errors.values()) == 5
    assert not outcome.turns
    assert not outcome.said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"songs": 5}, "songs must be at least 50, got 5"),
        ({"listeners": 0}, "listeners must be at least 1"),
        ({"turns": 0}, "turns must be at least 1, got 0"),
        ({"check_every": 0}, "check_every must be at least 1, got 0"),
        ({"rates": ()}, "rates must be positive and rise"),
        ({"rates": (2.0, 1.0)}, "rates must be positive and rise"),
    ],
)
def test_what_cannot_be_measured_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        ServingRequest(**{**SMALL, **changes})


def test_a_store_that_cannot_be_filled_is_one_sentence() -> None:
    with pytest.raises(BandstandError, match="the process of the crowd must end with code 0"):
        measure(**SMALL, store="postgresql:///radio?host=/nowhere")

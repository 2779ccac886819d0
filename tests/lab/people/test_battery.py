"""The battery: the same listeners for every player, and verdicts that see a bad one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bandstand_lab.people import battery
from bandstand_lab.people.rivals import BEFORE, OURS, PLAYERS, RIVALS, Forecast
from bandstand_lab.people.worlds import WORLDS, listener_of
from bandstand_lab.report.study import Plan, Verdict

if TYPE_CHECKING:
    from bandstand_lab.people.rivals import Mask
    from bandstand_lab.people.worlds import Taste
    from bandstand_lab.report.study import Chapter, Json

SONGS, STEPS, RUNS = 120, 32, 4
PLAN = Plan(size="quick", seed=3)


@dataclass
class Knowing:
    """A player that knows the truth, or the contrary of it."""

    taste: Taste
    sign: float

    def choose(self, allowed: Mask) -> int | None:
        return int(np.argmax(np.where(allowed, self.sign * self.taste.expected(1), -np.inf)))

    def learn(self, row: int, rating: float, weight: float) -> None:
        pass

    def forecast(self) -> Forecast:
        stars = self.taste.expected(1)
        return Forecast(stars if self.sign > 0 else 6 - stars, np.full(len(stars), 0.6))


@pytest.mark.parametrize("name", PLAYERS)
def test_a_player_plays_every_song_once_and_no_artist_too_soon(name: str) -> None:
    library, taste = listener_of("a bit of everything", 0, 3, songs=60)
    rows: list[int] = []
    player: Any = PLAYERS[name](library)
    learn = player.learn

    def noted(row: int, rating: float, weight: float) -> None:
        rows.append(row)
        learn(row, rating, weight)

    player.learn = noted
    battery.session(player, library, taste, run=0, seed=3, steps=20)
    assert len(set(rows)) == 20
    artists = library.artist[rows].tolist()
    assert all(artists[place] not in artists[max(place - 5, 0) : place] for place in range(20))


def test_the_truth_beats_chance_and_its_contrary_loses() -> None:
    library, taste = listener_of("genre", 1, 3, songs=SONGS)
    found = {
        sign: battery.session(Knowing(taste, sign), library, taste, run=1, seed=3, steps=STEPS)
        for sign in (1.0, -1.0)
    }
    chance = battery.session(PLAYERS["random"](library), library, taste, run=1, seed=3, steps=STEPS)
    best, worst = found[1.0], found[-1.0]
    assert best["means"]["20"] > chance["means"]["20"] + 0.5 > worst["means"]["20"] + 1.0
    assert best["forecasts"][0]["error"] < best["forecasts"][0]["error_of_mean"]
    assert worst["forecasts"][0]["error"] > worst["forecasts"][0]["error_of_mean"]
    assert best["forecasts"][0]["within_one"] > 0.6


@pytest.fixture(scope="module")
def results() -> dict[str, Json]:
    """The results of some worlds, which stand for all."""
    size = {"songs": SONGS, "steps": STEPS, "runs": RUNS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(battery, "_size", lambda _: dict(size))
        few = [job for job in battery.jobs(PLAN) if job.arguments["world"] in ("genre", "artist")]
        done = {job.arguments["world"]: {} for job in few}  # type: ignore[var-annotated]
        for job in few:
            done[job.arguments["world"]][job.arguments["run"]] = battery.meet(**job.arguments)
        return {
            job.key: done["artist" if "random" in job.arguments["world"] else "genre"][
                job.arguments["run"]
            ]
            for job in battery.jobs(PLAN)
        }


def chapter(results: dict[str, Json]) -> Chapter:
    with pytest.MonkeyPatch.context() as patch:
        size = {"songs": SONGS, "steps": STEPS, "runs": RUNS}
        patch.setattr(battery, "_size", lambda _: dict(size))
        patch.setattr(battery, "LOOKS", (20,))
        return battery.chapter(PLAN, results)


def test_the_chapter_has_every_world_and_player(results: dict[str, Json]) -> None:
    found = chapter(results)
    gains, forecasts = found.tables
    assert [row[0] for row in gains.rows] == list(WORLDS)
    assert len(gains.columns) == len(gains.rows[0]) == 1 + 2 * (len(PLAYERS) - 1)
    assert {row[1] for row in forecasts.rows} == {OURS, BEFORE}
    assert len(forecasts.columns) == len(forecasts.rows[0])
    assert all(finding.verdict in Verdict for finding in found.findings)


def worse(results: dict[str, Json], by: float) -> dict[str, Json]:
    """Return results in which every song of ours is worth less."""
    return {
        key: {
            **run,
            OURS: {**run[OURS], "means": {k: v - by for k, v in run[OURS]["means"].items()}},
        }
        for key, run in results.items()
    }


def test_the_verdicts_see_a_player_that_is_worse(results: dict[str, Json]) -> None:
    begin, rivals, *_ = chapter(worse(results, 3.0)).findings
    assert begin.verdict is rivals.verdict is Verdict.FAILS
    assert all(world in rivals.measured for world in WORLDS)


def test_the_verdicts_see_forecasts_that_are_wrong_or_too_sure(results: dict[str, Json]) -> None:
    broken = {
        key: {
            **run,
            OURS: {
                **run[OURS],
                "forecasts": [
                    {**one, "error": 2 * one["error_of_mean"], "within_one": 0.3}
                    for one in run[OURS]["forecasts"]
                ],
            },
        }
        for key, run in results.items()
    }
    *_, error, doubt = chapter(broken).findings
    assert error.verdict is Verdict.FAILS
    assert doubt.verdict is not Verdict.HOLDS


def test_an_error_too_small_to_be_seen_is_none() -> None:
    def ratio(error: float, of_mean: float) -> float | None:
        return battery._ratio([{"step": 30, "error": error, "error_of_mean": of_mean}], 30)

    assert ratio(0.6, 1.2) == pytest.approx(0.5)
    assert ratio(0.01, 0.0) == 1.0
    assert ratio(0.3, 0.0) == pytest.approx(6.0)


def test_rivals_are_players() -> None:
    assert set(RIVALS) < set(PLAYERS)
    assert {OURS, BEFORE, "random"} < set(PLAYERS)

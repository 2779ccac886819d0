"""What foretells skips: planted causes are found, others gain nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import expit

from bandstand.types import frozen
from bandstand_lab.histories.findings import examine, gaps_before, is_skip
from bandstand_lab.histories.plays import PlayHistory, read
from bandstand_lab.histories.skips import SkipForecast, skip_forecast, together

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.types import Indices, Vector

PLAYS = 4_000
HOUR = 3_600.0


def history(items: Indices, skips: Vector, *, apart: float = 2 * HOUR) -> PlayHistory:
    return PlayHistory(
        name="x",
        items=items,
        times=frozen(apart * np.arange(len(items))),
        played=frozen(np.full(len(items), 200.0)),
        skipped=frozen(skips),
    )


def forecast(made: PlayHistory) -> SkipForecast | None:
    return skip_forecast(made, is_skip(made), gaps_before(made))


def random_items(rng: np.random.Generator, songs: int = 20) -> Indices:
    return rng.integers(songs, size=PLAYS)


def test_skips_by_chance_are_not_foretold() -> None:
    rng = np.random.default_rng(1)
    found = forecast(history(random_items(rng), (rng.random(PLAYS) < 0.3).astype(float)))
    assert found is not None
    assert found.plays == PLAYS // 2
    for gain in (found.novelty, found.song, found.sitting, found.all):
        assert -10 < gain < 3


def test_a_song_that_is_always_skipped_is_foretold_to_its_entropy() -> None:
    """Half of the songs are always skipped: all there is to know is log 2 for each play."""
    rng = np.random.default_rng(2)
    items = random_items(rng)
    found = forecast(history(items, (items < 10).astype(float)))
    assert found is not None
    assert found.song == pytest.approx(1_000 * np.log(2), rel=0.05)
    assert found.all == pytest.approx(1_000 * np.log(2), rel=0.05)
    assert abs(found.novelty) < 10
    assert abs(found.sitting) < 10


@pytest.mark.parametrize(("apart", "is_one_sitting"), [(240.0, True), (2 * HOUR, False)])
def test_a_mood_is_foretold_within_a_sitting_alone(apart: float, is_one_sitting: bool) -> None:
    rng = np.random.default_rng(3)
    skips = np.zeros(PLAYS)
    for play in range(1, PLAYS):
        skips[play] = rng.random() < (0.8 if skips[play - 1] else 0.1)
    found = forecast(history(random_items(rng), skips, apart=apart))
    assert found is not None
    # What the play before says: the entropy of a skip, less that after each kind of play.
    entropy = {p: -p * np.log(p) - (1 - p) * np.log(1 - p) for p in (1 / 3, 0.8, 0.1)}
    said = 1_000 * (entropy[1 / 3] - entropy[0.8] / 3 - 2 * entropy[0.1] / 3)
    assert found.sitting == pytest.approx(said if is_one_sitting else 0.0, rel=0.15, abs=10)


def test_songs_that_are_skipped_when_they_come_too_soon_are_foretold_by_novelty() -> None:
    rng = np.random.default_rng(4)
    made = history(random_items(rng, 100), np.zeros(PLAYS), apart=HOUR)
    days = np.nan_to_num(gaps_before(made), nan=1e9) / 86_400
    skips = (rng.random(PLAYS) < expit(3 - 2 * np.log1p(days))).astype(float)
    found = forecast(history(made.items, skips, apart=HOUR))
    assert found is not None
    assert found.novelty > 30
    assert found.novelty > 3 * max(found.song, found.sitting)
    assert found.all > 0.8 * found.novelty


def test_what_is_to_be_foretold_is_never_used() -> None:
    """Another end of the last play changes the forecast of that play alone."""
    rng = np.random.default_rng(5)
    items, skips = random_items(rng), (rng.random(PLAYS) < 0.4).astype(float)
    other = skips.copy()
    other[-1] = 1 - skips[-1]
    before, after = forecast(history(items, skips)), forecast(history(items, other))
    assert before is not None
    assert after is not None
    odds = np.log(skips[: PLAYS // 2].mean() / (1 - skips[: PLAYS // 2].mean()))
    # By chance the odds are nearly those of the base rate, and so is the difference of the gains.
    assert abs(after.all - before.all) < 1_000 / (PLAYS // 2) * (abs(odds) + 1)


def test_too_few_known_ends_or_a_half_without_skips_say_nothing() -> None:
    rng = np.random.default_rng(6)
    items = random_items(rng)
    never = np.zeros(PLAYS)
    assert forecast(history(items, never)) is None
    few = np.where(np.arange(PLAYS) % 80 == 0, 1.0, np.nan)
    few[1::80] = 0.0
    unknown = PlayHistory(
        name="x",
        items=items,
        times=frozen(np.arange(PLAYS, dtype=float)),
        played=frozen(np.full(PLAYS, np.nan)),
        skipped=frozen(few),
    )
    assert forecast(unknown) is None
    assert together([None]) is None


def test_together_every_play_counts_the_same() -> None:
    one = SkipForecast(plays=300, novelty=1.0, song=2.0, sitting=3.0, all=4.0)
    other = SkipForecast(plays=100, novelty=5.0, song=2.0, sitting=-1.0, all=0.0)
    expected = SkipForecast(plays=400, novelty=2.0, song=2.0, sitting=2.0, all=3.0)
    assert together([one, None, other]) == expected


def test_four_people_are_foretold_better_by_all_than_by_novelty(shared_data: Path) -> None:
    found = examine(read([shared_data / "history" / "plays_4_listeners.csv.gz"]))
    forecasts = [each.skip_forecast for each in found.listeners]
    assert len(forecasts) == 4
    for each in forecasts:
        assert each is not None
        assert each.all > 0
        assert each.all >= 3 * each.novelty

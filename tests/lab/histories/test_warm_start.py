"""The first songs after an import are judged by what the listener did afterwards."""

import numpy as np

from bandstand_lab.histories.plays import PlayHistory
from bandstand_lab.histories.warm_start import WarmStart, interval, warm_start

SONGS = 300
DAY = 86_400.0


def listener(rng: np.random.Generator, *, has_taste: bool) -> PlayHistory:
    """Return plays of songs of which the first hundred are loved, or are like all others."""
    items = np.concatenate([rng.permutation(SONGS) for _ in range(12)]).astype(np.intp)
    is_loved = items < SONGS // 3 if has_taste else rng.random(len(items)) < 1 / 3
    skipped = np.where(rng.random(len(items)) < np.where(is_loved, 0.1, 0.9), 1.0, 0.0)
    times = 1.6e9 + DAY * np.arange(len(items)) / 20
    played = np.where(skipped == 1.0, 10.0, 200.0)
    return PlayHistory(name="x", items=items, times=times, played=played, skipped=skipped)


def measured(*, has_taste: bool) -> WarmStart:
    found = warm_start(listener(np.random.default_rng(3), has_taste=has_taste))
    assert found is not None
    return found


def test_who_loves_the_same_songs_gains_by_an_import() -> None:
    found = measured(has_taste=True)
    low, high = interval([found.unskipped], rng=np.random.default_rng(0))
    assert 0.3 < low < found.unskipped.gain < high
    assert found.unskipped.every.mean() < 0.5


def test_who_skips_at_random_gains_nothing() -> None:
    """The planted error: without a taste nothing must be seen."""
    found = measured(has_taste=False)
    low, high = interval([found.unskipped], rng=np.random.default_rng(0))
    assert low < 0 < high


def test_few_songs_judge_nothing() -> None:
    whole = listener(np.random.default_rng(3), has_taste=True)
    few = np.arange(40)
    parts = {name: getattr(whole, name)[few] for name in ("items", "times", "played", "skipped")}
    assert warm_start(PlayHistory(name="x", **parts)) is None

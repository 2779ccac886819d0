from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bandstand.core.registry import WITHOUT_NAMES
from bandstand.music.catalogue.catalogue import catalogue_of
from bandstand.radio.listener_cache import CachedListener, ListenerCache
from bandstand.radio.listener_settings import ListenerSettings
from bandstand.radio.log.fold import fold
from bandstand.radio.selection.select import RadioListener
from tests.fixtures.radio.catalogues import features, matrix, model, rated, record, shelf, song_id
from tests.fixtures.radio.logs import HOUR, Log

CATALOGUE = shelf(30)


# ── Room for some listeners ──────────────────────────────────────────────────────────────


def put(cache: ListenerCache, account: str, nbytes: int) -> None:
    listener: Any = SimpleNamespace(nbytes=nbytes)
    with cache.locked(account) as cached:
        cached.listener = listener


def kept(cache: ListenerCache) -> list[str]:
    return sorted(each.account for each in cache.all() if each.listener is not None)


@pytest.mark.parametrize(
    ("sizes", "accounts", "nbytes"),
    [
        ([("ann", 40), ("ben", 40)], ["ann", "ben"], 80),
        # The least recently used gives way, …
        ([("ann", 40), ("ben", 40), ("ann", 40), ("cleo", 40)], ["ann", "cleo"], 80),
        # … the last one is kept however large, …
        ([("ann", 40), ("ben", 1_000)], ["ben"], 1_000),
        # … and one that has changed is counted again.
        ([("ann", 10), ("ann", 20), ("ann", 5)], ["ann"], 5),
    ],
)
def test_listeners_are_kept_within_the_bytes(
    sizes: list[tuple[str, int]], accounts: list[str], nbytes: int
) -> None:
    cache = ListenerCache(100)
    for account, size in sizes:
        put(cache, account, size)
    assert (kept(cache), len(cache), cache.nbytes) == (accounts, len(accounts), nbytes)


def test_a_dropped_listener_counts_no_more_not_even_while_in_use() -> None:
    cache = ListenerCache(1_000)
    put(cache, "ann", 10)
    cache.drop("ann")
    cache.drop("of no account")
    assert (len(cache), cache.nbytes, cache.get("ann")) == (0, 0, None)
    listener: Any = SimpleNamespace(nbytes=10)
    with cache.locked("ann") as cached:
        cache.drop("ann")
        cached.listener = listener
    assert (len(cache), cache.nbytes) == (0, 0)


def test_what_a_question_that_fails_leaves_behind_is_counted() -> None:
    cache = ListenerCache(100)
    put(cache, "ann", 40)
    listener: Any = SimpleNamespace(nbytes=90)

    def fail() -> None:
        with cache.locked("ben") as cached:
            cached.listener = listener
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (len(cache), cache.nbytes) == (1, 90)


# ── What was rebuilt counts from the next answer on, and not before ──────────────────────


def grid(one: RadioListener) -> object:
    belief: Any = one.belief
    return belief.grid


SOUND = ListenerSettings(algorithm=WITHOUT_NAMES)


def cached_with(log: Log) -> tuple[CachedListener, RadioListener, RadioListener]:
    """Return a listener in the cache, and the same rebuilt on a grid of its own."""
    one, twin = model(CATALOGUE, log), model(CATALOGUE, log)
    assert grid(one) is not grid(twin)
    return (
        CachedListener("ann", settings=SOUND, seed=7, listener=one, rebuilt=(one, twin)),
        one,
        twin,
    )


@pytest.fixture
def log() -> Log:
    return rated([1, 2, 3, 1, 4], apart=7 * HOUR)


def test_what_was_rebuilt_waits_for_the_next_answer(log: Log) -> None:
    cached, one, twin = cached_with(log)
    assert cached.follow(one.ledger, CATALOGUE) is one
    assert cached.size() > one.nbytes + twin.nbytes - 1
    log.add("rating", song_id(5), after=HOUR, stars=4)
    after = cached.follow(fold(log.events), CATALOGUE)
    assert grid(after) is grid(twin)
    assert (len(after.history), cached.rebuilt, cached.listener) == (6, None, after)


def test_a_listener_who_has_gone_on_is_not_replaced_by_an_earlier_one(log: Log) -> None:
    cached, _, _ = cached_with(log)
    log.add("rating", song_id(5), after=HOUR, stars=4)
    cached.listener = later = model(CATALOGUE, log)
    log.add("rating", song_id(6), after=HOUR, stars=4)
    after = cached.follow(fold(log.events), CATALOGUE)
    assert grid(after) is grid(later)
    assert len(after.history) == 7


def test_nothing_is_kept_that_was_rebuilt_from_another_listener(log: Log) -> None:
    cached, one, _ = cached_with(log)
    cached.keep(one)
    assert cached.is_rebuilt(one)
    cached.keep(model(CATALOGUE, log))
    assert cached.rebuilt is None


def test_a_listener_is_rebuilt_once_and_only_if_still_there(log: Log) -> None:
    one = model(CATALOGUE, log)
    cached = CachedListener("ann", settings=SOUND, listener=one)
    cached.rebuild()
    assert cached.rebuilt == (one, one)  # fresh from a fit, it needs none
    cached.rebuild()
    CachedListener("ben").rebuild()
    assert cached.size() == one.nbytes


def test_other_songs_and_other_settings_are_taken_notice_of(log: Log) -> None:
    cached, one, _ = cached_with(log)
    more = catalogue_of([record(row) for row in range(30)], matrix(features(30)))
    moved = cached.follow(one.ledger, more)
    assert (moved.catalogue, moved.engine) == (more, one.engine)
    for settings in (replace(SOUND, algorithm="linucb-cn"), replace(SOUND, intercept=False)):
        cached.settings = settings
        other = cached.follow(one.ledger, more)
        assert (other.algorithm, other.reader.intercept) == (settings.algorithm, settings.intercept)
        assert other.history.columns == 4 + settings.intercept

"""Stores with a few analysed songs, on both databases, and a short study in them."""

from collections.abc import Iterator

import pytest

from bandstand.store.database.connection import Store
from tests.fixtures.study.participants import Study, add_songs, served, short_design
from tests.store.conftest import empty, place, postgres, store

__all__ = ["empty", "full", "place", "postgres", "store", "study"]


@pytest.fixture
def full(store: Store) -> Store:
    """A store with songs."""
    add_songs(store)
    return store


@pytest.fixture
def study(full: Store) -> Iterator[Study]:
    """A short study that is open."""
    with served(full, short_design()) as opened:
        yield opened

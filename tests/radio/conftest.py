"""Stores as in tests/store: every test that asks for `store` runs on both databases."""

from tests.store.conftest import empty, place, postgres, store

__all__ = ["empty", "place", "postgres", "store"]

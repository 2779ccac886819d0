"""Stores as in tests/store: every test that asks for `store` runs on both databases."""

from __future__ import annotations

from tests.store.conftest import empty, place, postgres, store

__all__ = ["empty", "place", "postgres", "store"]

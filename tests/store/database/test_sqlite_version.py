from __future__ import annotations

import pytest

from bandstand.store.database.sqlite_file import sqlite_warning


@pytest.mark.parametrize("version", ["3.51.3", "3.51.10", "3.52.0", "4.0.0", "3.50.7", "3.44.6"])
def test_versions_without_the_bug_are_passed_over(version: str) -> None:
    assert sqlite_warning(version) is None


@pytest.mark.parametrize(
    "version",
    ["3.40.1", "3.51.2", "3.51.0", "3.50.6", "3.50.0", "3.44.5", "3.45.1", "3.49.9", "3.7"],
)
def test_versions_with_the_bug_are_warned_of(version: str) -> None:
    warning = sqlite_warning(version)
    assert warning is not None
    assert f"SQLite {version} " in warning
    assert "only its one writer" in warning


def test_the_version_that_runs_is_asked_by_itself() -> None:
    warning = sqlite_warning()
    assert warning is None or warning.startswith("SQLite 3.")

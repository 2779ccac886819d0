from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fixtures.cli.files import Files

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Return an items file and a history file that can be asked about."""
    return Files(tmp_path)

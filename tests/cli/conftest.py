from pathlib import Path

import pytest

from tests.fixtures.cli.files import Files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Return an items file and a history file that can be asked about."""
    return Files(tmp_path)

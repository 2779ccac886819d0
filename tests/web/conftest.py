"""A server behind its sockets, made anew for each test or shared by those of a module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.web.worlds import World, make_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A server with some songs and no accounts."""
    with make_world(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The same, for all tests of a module: each takes accounts of its own."""
    with make_world(tmp_path_factory.mktemp("world")) as made:
        yield made

"""What every test can rely on: one BLAS thread, fixed examples, the choice of long runs."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Before anything imports numpy, which reads these once: the workers share the cores, and
# results must not depend on how many there are.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

ROOT = Path(__file__).resolve().parent.parent

# Before anything imports numba, and inherited by every program that a test starts: two workers that
# compile at once give different machine code the same name in a cache that they share, and what
# loads it afterwards crashes.
os.environ["NUMBA_CACHE_DIR"] = str(
    ROOT / ".cache" / "numba" / os.environ.get("PYTEST_XDIST_WORKER", "alone")
)

# Whoever starts the tests in the background has them ignore Ctrl-C, and every program that they
# start would inherit that; the tests that press it need the answer of a terminal.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no failure, so there is no deadline. The quick run draws the same examples
# every time for the same choice of tests; the nightly one draws new ones and prints how to
# draw them again.
hypothesis.settings.register_profile("quick", deadline=None, derandomize=True)
hypothesis.settings.register_profile("nightly", deadline=None, print_blob=True, database=None)
# At once: what other modules set on import builds on the profile of that moment.
hypothesis.settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="run the long tests, and only those, with fresh seeds"
    )


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("nightly" if config.getoption("long") else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = bool(config.getoption("long"))
    others = [item for item in items if _is_long(item) != wanted]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if _is_long(item) == wanted]
    if wanted:
        for item in items:
            item.add_marker(pytest.mark.timeout(0))


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays until the end: all the tests, and what they import.

    There are so many objects that to look through them takes half a second, and whatever is timed
    begins with that.
    """
    gc.collect()
    gc.freeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a failure at once, so that a run that is cut short has said what failed."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        sys.stdout.write(f"\n{report.nodeid}: {report.when} failed\n")
        sys.stdout.flush()


def _is_long(item: pytest.Item) -> bool:
    return item.get_closest_marker("long") is not None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of reference data, which is not part of the repository."""
    folder = Path(os.environ.get("BANDSTAND_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if folder.is_dir():
        return folder
    reason = f"reference data must be in {folder} (or where BANDSTAND_SHARED_DATA says), found none"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser. One per module: what drives it keeps an event loop running meanwhile."""
    from tests.fixtures.web.chromium import browser

    with browser() as found:
        yield found

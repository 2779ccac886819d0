"""The computer that measures: versions, processor, load, and one thread for linear algebra."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np

_THREAD_VARIABLES: Final = (
    *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    *("BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
)


def machine() -> dict[str, Any]:
    """Return versions, processor, load and thread settings of this computer."""
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    return {
        **platform_facts(),
        "load_at_the_end": [round(value, 2) for value in load],
        "threads": {name: os.environ.get(name) for name in _THREAD_VARIABLES},
    }


def platform_facts() -> dict[str, Any]:
    """Return what is the same for every run on this computer."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": _version("scipy"),
        "bandstand": _version("bandstand"),
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a source tree
        return None


@contextmanager
def one_thread() -> Iterator[None]:
    """Let processes that are started inside have one thread for linear algebra."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})

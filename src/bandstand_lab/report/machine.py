"""The computer that measures: versions, processor, load, and one thread for linear algebra."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

_THREAD_VARIABLES: Final = (
    *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    *("BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
)


def machine() -> dict[str, Any]:
    """Return versions, processor, load and thread settings of this computer."""
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": _version("scipy"),
        "bandstand": _version("bandstand"),
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "load_at_the_end": [round(value, 2) for value in load],
        "threads": {name: os.environ.get(name) for name in _THREAD_VARIABLES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a source tree
        return None


def pinned_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with one thread for linear algebra."""
    return {**environment, **dict.fromkeys(_THREAD_VARIABLES, "1")}

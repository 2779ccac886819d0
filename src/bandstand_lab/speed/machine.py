"""On what something was measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from bandstand_lab.speed.timing import THREAD_VARIABLES


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
        "threads": {name: os.environ.get(name) for name in THREAD_VARIABLES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a source tree
        return None

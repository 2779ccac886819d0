"""Programs of the system that some tests need, beside those that Python brings."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

# The Debian package that holds a program, where it has another name.
PACKAGES = {"faketime": "faketime", "chromium": "chromium", "strace": "strace"}
INSTALL_SECONDS = 600


def require_program(name: str) -> str:
    """Return the path of a program; it is installed where that is possible.

    Without it the test is skipped with a clear word; in CI (`CI=true`) that is a failure.
    """
    found = shutil.which(name)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get") is not None:
        found = _installed(name)
    if found is not None:
        return found
    reason = f"this test needs the program {name}, found none and could not install it"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _installed(name: str) -> str | None:
    """Return the path of a program after installing it, one process of the tests at a time."""
    # apt-get does not wait for another one that runs, but gives up.
    with (Path(tempfile.gettempdir()) / "bandstand-tests-install.lock").open("ab") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if shutil.which(name) is None:
            _install(PACKAGES.get(name, name))
    return shutil.which(name)


def _install(package: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "--yes", "--no-install-recommends", package]
    for command in (["apt-get", "update"], install):
        subprocess.run(
            command,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=INSTALL_SECONDS,
        )

"""The other processes of a measurement: each gets an order as JSON, and answers with JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from bandstand.errors import BandstandError
from benchmarks.radio_speed.process import environment_at

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def child(part: str, order: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """Return what another process of ours answers."""
    done = subprocess.run(  # noqa: S603  (our own interpreter and module)
        [sys.executable, "-m", f"benchmarks.scale.{part}"],
        env=environment_at(home),
        input=json.dumps(order),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        msg = f"the process of the {part} must end with code 0, got {done.returncode}"
        raise BandstandError(msg)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer

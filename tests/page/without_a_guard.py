"""A server with a guard taken out, for twins: `python without_a_guard.py GUARDS python -m …`.

GUARDS are some of "origin" (only our own page may change something), "json" (only JSON is read),
"frames" (nobody may frame a page, or embed what it is made of), joined by commas.
"""

from __future__ import annotations

import sys
from typing import Any

from bandstand.cli import main
from bandstand.web import gate, strict_json


def take_out(guard: str) -> None:
    """Take out one guard, for the rest of this process."""
    if guard == "origin":
        gate._Passage._is_from_our_page = lambda *_: True  # type: ignore[method-assign]
    elif guard == "json":
        strict_json._check_type = lambda *_: None
    elif guard == "frames":
        kept = gate.SECURITY_HEADERS
        policy = kept.pop("Content-Security-Policy")
        for name in ("X-Frame-Options", "Cross-Origin-Resource-Policy"):
            kept.pop(name)
        kept["Content-Security-Policy"] = policy.replace("frame-ancestors 'none'", "")
    else:
        msg = f"a guard must be origin, json or frames, got {guard}"
        raise ValueError(msg)


def run(guards: str, *command: str) -> Any:
    """Run the command that follows, without the guards."""
    for guard in guards.split(","):
        take_out(guard)
    return main(list(command[command.index("bandstand") + 1 :]))


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))

"""Benchmarks as processes of their own: orders and answers are JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from bandstand.errors import BandstandError, InvalidInputError

OnRun: TypeAlias = Callable[[str], None]

_CHECKOUT: Final = Path(__file__).parents[1]


def child(
    module: str, order: Mapping[str, Any], *, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the answer of `python -m benchmarks.MODULE`: JSON in, JSON out."""
    done = subprocess.run(  # noqa: S603  (our own interpreter and module)
        [sys.executable, "-m", f"benchmarks.{module}"],
        env={**(environment or os.environ), "PYTHONPATH": str(_CHECKOUT)},
        input=json.dumps(order),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        msg = f"the process {module} must end with code 0, got {done.returncode}"
        raise BandstandError(msg)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def answer_order(answer: Callable[[dict[str, Any]], Any]) -> None:
    """Read an order from standard input and write its answer: the other side of `child`."""
    json.dump(answer(json.load(sys.stdin)), sys.stdout)


def run_as_program(main: Callable[[dict[str, Any]], None]) -> None:
    """Call `main` with the order (JSON) on the command line; an error is one sentence."""
    try:
        main(json.loads(sys.argv[1]))
    except InvalidInputError as refusal:
        sys.stderr.write(f"Error: {refusal}\n")
        sys.exit(2)
    except (BandstandError, OSError) as problem:
        sys.stderr.write(f"Error: {problem}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def require_at_least(values: Mapping[str, float], least: Mapping[str, float]) -> None:
    """Refuse settings that cannot be measured.

    >>> require_at_least({"songs": 10}, {"songs": 50})
    Traceback (most recent call last):
        ...
    bandstand.errors.InvalidInputError: songs must be at least 50, got 10
    """
    for name, lowest in least.items():
        if values[name] < lowest:
            msg = f"{name} must be at least {lowest}, got {values[name]}"
            raise InvalidInputError(msg)


def tupled(order: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an order, in which JSON has made lists of tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in order.items()
    }

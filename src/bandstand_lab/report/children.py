"""One job in a fresh process with one thread for linear algebra.

For what measures time, and for what may end its process. The child ends with its parent: it
notices when the pipe that its order came through is closed.

    python -m bandstand_lab.report.children < order
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from bandstand_lab.speed.timing import pinned_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand_lab.report.study import Json

_LONGEST = 400  # characters of what a child said last


def run_apart(call: tuple[str, Mapping[str, Json]]) -> dict[str, Json]:
    """Return what `jobs.execute` answers in a process of its own, or how that one ended."""
    # It finds modules where this process does.
    paths = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        [sys.executable, "-m", "bandstand_lab.report.children"],
        env=pinned_environment({**os.environ, "PYTHONPATH": paths}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            return _answer(process, json.dumps(call).encode())
        except BaseException:
            process.kill()
            raise


def _answer(process: subprocess.Popen[bytes], order: bytes) -> dict[str, Json]:
    """Return the child's answer; its pipe stays open as long as this process lives."""
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if stdin is None or stdout is None or stderr is None:  # never: they were asked for
        raise AssertionError
    said: list[bytes] = []
    listener = threading.Thread(target=lambda: said.append(stderr.read()), daemon=True)
    listener.start()
    try:
        stdin.write(order + b"\n")
        stdin.flush()
    except BrokenPipeError:  # it has ended already; below is said how
        pass
    answer = stdout.read()
    code = process.wait()
    listener.join()
    if code == 0 and answer:
        parsed: dict[str, Json] = json.loads(answer)
        return parsed
    last = b"".join(said).decode(errors="replace")
    return {"reason": f"its process ended with code {code}", "trace": last[-_LONGEST:]}


def main() -> None:
    """Take one order from standard input, and print the answer."""
    # Imported here: `jobs` knows this module.
    from bandstand_lab.report.jobs import execute  # noqa: PLC0415

    name, arguments = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.stdout.write(json.dumps(execute((name, arguments))))


def _end_with_parent() -> None:
    # Without Python's own file, whose lock would be held when this process wants to end.
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main()

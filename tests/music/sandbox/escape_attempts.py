"""Attempts that must fail in a child; each is real, and harmless where it succeeds."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

Data = dict[str, Any]


def attempt(request: Data) -> Data:
    """Return the error that an attempt met, None if it succeeded."""
    try:
        ATTEMPTS[request["what"]](request)
    except OSError as problem:
        return {"error": errno.errorcode.get(problem.errno or 0, str(problem))}
    return {"error": None}


def _connect(request: Data) -> None:
    with socket.create_connection(("127.0.0.1", request["port"]), timeout=5):
        pass


def _pair(_: Data) -> None:
    for end in socket.socketpair():
        end.close()


def _datagram(_: Data) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))


def _open(flags: int) -> Callable[[Data], None]:
    def opened(request: Data) -> None:
        os.close(os.open(Path(request["folder"], "existing"), flags))

    return opened


def _create(request: Data) -> None:
    os.close(os.open(Path(request["folder"], "new"), os.O_RDONLY | os.O_CREAT))


def _fork(_: Data) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _replace(_: Data) -> None:
    # Allowed, this fails for another reason: there is no such program.
    try:
        os.execv("/no/such/program", ["program"])  # noqa: S606
    except FileNotFoundError:
        return


def _own(request: Data) -> None:
    with Path(request["folder"], "existing").open("rb") as file:
        os.fchown(file.fileno(), os.getuid(), os.getgid())


def _lock(request: Data) -> None:
    with Path(request["folder"], "existing").open("rb") as file:
        fcntl.lockf(file, fcntl.LOCK_SH)


def _lock_all(request: Data) -> None:
    with Path(request["folder"], "existing").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def _direct_signals(_: Data) -> None:
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, fcntl.F_SETOWN, os.getppid())
    finally:
        os.close(reader)
        os.close(writer)


def _trace(_: Data) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    # Allowed, this fails for another reason: there is no such process.
    library.ptrace(16, -1, None, None)
    if ctypes.get_errno() != errno.ESRCH:
        raise OSError(ctypes.get_errno(), "ptrace")


def _outlive(_: Data) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(1, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


ATTEMPTS: Final[dict[str, Callable[[Data], object]]] = {
    "connect": _connect,
    "pair of sockets": _pair,
    "datagram": _datagram,
    "open for writing": _open(os.O_WRONLY),
    "open for both": _open(os.O_RDWR),
    "open to empty": _open(os.O_RDONLY | os.O_TRUNC),
    "create": _create,
    "memory file": lambda _: os.close(os.memfd_create("file")),
    "cut": lambda request: os.truncate(Path(request["folder"], "existing"), 0),
    "remove": lambda request: Path(request["folder"], "existing").unlink(),
    "rename": lambda request: Path(request["folder"], "existing").rename(
        Path(request["folder"], "renamed")
    ),
    "make folder": lambda request: Path(request["folder"], "new").mkdir(),
    "link": lambda request: os.link(
        Path(request["folder"], "existing"), Path(request["folder"], "new")
    ),
    "symbolic link": lambda request: Path(request["folder"], "new").symlink_to("/"),
    "pipe with a name": lambda request: os.mkfifo(Path(request["folder"], "new")),
    "mode": lambda request: Path(request["folder"], "existing").chmod(0o600),
    "owner": _own,
    "times": lambda request: os.utime(Path(request["folder"], "existing"), (1, 1)),
    "lock": _lock,
    "lock all": _lock_all,
    "fork": _fork,
    "start a program": lambda _: subprocess.run(["/bin/true"], check=True),
    "become a program": _replace,
    "signal the parent": lambda _: os.kill(os.getppid(), 0),
    "have the parent signalled": _direct_signals,
    "limit the parent": lambda _: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE),
    "trace": _trace,
    "outlive the parent": _outlive,
    "priority": lambda _: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0)),
    "affinity": lambda _: os.sched_setaffinity(0, os.sched_getaffinity(0)),
}

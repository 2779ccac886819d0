"""Tasks for the children of these tests: answers, and everything that must do no harm."""

from __future__ import annotations

import ctypes
import json
import math
import mmap
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
import time
from typing import Any, Final

from bandstand.errors import UnreadableAudioError

Data = dict[str, Any]

LIMITS: Final = {
    "memory": resource.RLIMIT_AS,
    "written": resource.RLIMIT_FSIZE,
    "files": resource.RLIMIT_NOFILE,
    "core": resource.RLIMIT_CORE,
}
ERRORS: Final[dict[str, type[BaseException]]] = {
    "exception": ValueError,
    "refusal": UnreadableAudioError,
    "system exit": SystemExit,
}


def echo(request: Data) -> Data:
    return request


def who(_: Data) -> Data:
    return {"process": os.getpid()}


def look_around(_: Data) -> Data:
    """Return what a child can see of its own situation."""
    return {
        "variables": dict(os.environ),
        "arguments": sys.argv[2:],
        "isolated": sys.flags.isolated,
        "leads_a_session": os.getsid(0) == os.getpid(),
        "standard_input": sys.stdin.read(),
        "has_folder": _has_folder(),
        "status": _status(),
        "limits": {name: resource.getrlimit(which) for name, which in LIMITS.items()},
        "dumpable": ctypes.CDLL(None).prctl(3, 0, 0, 0, 0),
    }


def _has_folder() -> bool:
    try:
        os.listdir(".")  # noqa: PTH208
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return False
    return True


def _status() -> dict[str, str]:
    with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


def sleep(request: Data) -> Data:
    time.sleep(request["seconds"])
    return request


def compute(request: Data) -> Data:
    """Use processor time."""
    until = time.process_time() + request["seconds"]
    while time.process_time() < until:
        pass
    return {"process": os.getpid()}


def allocate(request: Data) -> Data:
    """Ask for memory, without touching it, in one of three ways."""
    size = request["bytes"]
    match request["how"]:
        case "python":
            return {"got": len(bytes(size))}
        case "system":
            with mmap.mmap(-1, size) as memory:
                return {"got": len(memory)}
        case _:
            raise UnreadableAudioError("it is no sound") from MemoryError()  # noqa: EM101, TRY003


def misbehave(request: Data) -> Data:
    """Do what a broken or a hostile decoder might do."""
    match request["how"]:
        case "segfault":
            ctypes.string_at(0)
        case "abort":
            os.write(2, request.get("complaint", "").encode())
            os.abort()
        case "leave":
            os._exit(3)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "complain":
            text = request.get("complaint", "x" * 10_000).encode()
            for _ in range(100):
                ctypes.CDLL(None).write(2, text, len(text))
        case how if how in ERRORS:
            raise ERRORS[how](request.get("text", "it is no sound"))
    return request


def answer_badly(request: Data) -> Data:
    """Answer what cannot be passed on."""
    match request["how"]:
        case "nan":
            return {"value": math.nan}
        case "bytes":
            return {"value": b"raw"}
        case "deep":
            value: Data = {}
            for _ in range(100_000):
                value = {"value": value}
            return value
        case "large":
            return {"value": "x" * request["bytes"]}
        case _:
            return request["value"]  # type: ignore[no-any-return]


def write_raw(request: Data) -> Data:
    """Write something else than a reply, straight into the pipe."""
    pipe = json.loads(sys.argv[1])["replies"]
    text = (request["text"] * request.get("times", 1)).encode("latin-1")
    length = struct.pack(">I", request.get("length", len(text)))
    os.write(pipe, length + text if request.get("framed", True) else text)
    if request.get("close"):
        os.close(pipe)
        time.sleep(600)
    return request


def start_threads(request: Data) -> Data:
    """Start threads, which decoders do, and return how many came back."""
    done: list[int] = []
    threads = [threading.Thread(target=done.append, args=(0,)) for _ in range(request["count"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"count": len(done)}


def start(request: Data) -> Data:
    """Start a program and return what it printed and how it ended."""
    done = subprocess.run(request["command"], capture_output=True, text=True, check=False)
    return {"printed": done.stdout, "status": done.returncode}


def start_and_forget(request: Data) -> Data:
    """Start programs without waiting for them, then end as asked."""
    for _ in range(request["count"]):
        subprocess.Popen(["/bin/sleep", "600"])
    return misbehave(request)


def multiply(request: Data) -> Data:
    """Become many processes that never end; as many as two to the given power."""
    for _ in range(request["power"]):
        os.fork()
    time.sleep(600)
    return request


def read(request: Data) -> Data:
    with open(request["path"], encoding="utf-8") as file:  # noqa: PTH123
        return {"content": file.read()}

"""The folder of one reproduction: it has one size and one seed, and one process at a time.

    OUT/index.html           the report
    OUT/findings.json        every claim with its verdict
    OUT/run.json             machine, versions, dates and durations
    OUT/data/STUDY/          a chapter: STUDY.json (the results of its jobs), findings.json (its
                             claims), NAME.csv (each table, with all digits), NAME.png
    OUT/work/plan.json       what was asked for
    OUT/work/STUDY/KEY.json  the result of one job

Another size or seed is refused, so that hours of work are not lost to a quick look. Other data
are taken: each job knows by their digests whether its result is of the same data (see `jobs`), so
only what depends on them is computed again. A file is whole or not there, whenever the process
ends.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bandstand.errors import BandstandError, ConflictError, InvalidInputError
from bandstand_lab.report.study import Json, Plan

_FIXED: Final = ("size", "seed")  # what all results of a folder have in common
# An unfinished file begins with a dot and ends so; the next writer replaces it.
_UNFINISHED: Final = ".part"


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` in place of what a file held, at once, in a folder that is made if needed.

    There must be one writer: the process that holds the folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}{_UNFINISHED}")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def as_bytes(value: Json, *, indent: int | None = None) -> bytes:
    r"""Return JSON that every reader takes: without NaN, and the same for equal values.

    >>> as_bytes({"ä": 1.5})
    b'{"\xc3\xa4": 1.5}'
    """
    return json.dumps(value, allow_nan=False, ensure_ascii=False, indent=indent).encode()


def remove_others(folder: Path, kept: set[str]) -> None:
    """Remove the files of a folder of ours that an earlier report had and this one has not."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_file() and path.name not in kept:
            path.unlink()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFolder:
    """Where everything of one reproduction is."""

    path: Path
    digests: Mapping[str, str]  # of the plan's data, by path

    def result(self, study: str, key: str) -> Path:
        """Return where the result of a job is kept."""
        return self.path / "work" / study / f"{key}.json"

    def data(self, study: str) -> Path:
        """Return where the raw files of a study are."""
        return self.path / "data" / study


@contextmanager
def claimed(path: Path, plan: Plan) -> Iterator[ReportFolder]:
    """Hold the folder of a plan, new or begun earlier; no other process may write to it."""
    digests = {str(file): _digest(file) for file in (*plan.histories, *(plan.content or ()))}
    asked = _asked(plan, digests)
    plan_file = path / "work" / "plan.json"
    _check_ours(path, plan_file)
    try:
        plan_file.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(plan_file.parent / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        msg = f"{path} must be a folder that can be written to, got: {problem.strerror}"
        raise InvalidInputError(msg) from problem
    try:
        _take(lock, path)
        earlier = _read(plan_file) if plan_file.exists() else None
        if earlier is not None:
            _check_same(path, earlier, asked)
        if earlier != asked:
            write_whole(plan_file, as_bytes(asked, indent=2))
        yield ReportFolder(path=path, digests=digests)
    finally:
        os.close(lock)


def options(plan: Plan) -> str:
    """Return the options that ask for the same plan; files without the folders they are in."""
    words = ["--quick"] if plan.size == "quick" else []
    words += [f"--seed {plan.seed}", *(f"--history {file.name}" for file in plan.histories)]
    named = zip(("--items", "--ratings"), plan.content or (), strict=False)
    return " ".join([*words, *(f"{option} {file.name}" for option, file in named)])


def _asked(plan: Plan, digests: Mapping[str, str]) -> dict[str, Json]:
    """Return what is asked for; data are known by what they hold, not by their names."""
    return {
        "size": plan.size,
        "seed": plan.seed,
        "histories": [digests[str(file)] for file in plan.histories],
        "items and ratings": [digests[str(file)] for file in plan.content or ()],
    }


def _digest(path: Path) -> str:
    """Return the SHA-256 of what a file holds, in hexadecimal digits."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        msg = f"{path}: expected a file that can be read, got: {problem.strerror}"
        raise InvalidInputError(msg) from problem


def _check_ours(path: Path, plan_file: Path) -> None:
    """Refuse a folder with other things, which the report could overwrite."""
    # A process that ended before it wrote its plan leaves the folder with nothing else in it.
    if path.is_dir() and not plan_file.exists() and {e.name for e in path.iterdir()} - {"work"}:
        msg = (
            f"expected a new or empty folder, or one of an earlier `bandstand reproduce`, "
            f"got {path}, which holds something else"
        )
        raise InvalidInputError(msg)


def _take(lock: int, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        msg = f"{path} must not be in use, but another `bandstand reproduce` works in it"
        raise ConflictError(msg) from None


def _read(plan_file: Path) -> Json:
    try:
        earlier = json.loads(plan_file.read_bytes())
    except (OSError, ValueError) as problem:
        msg = f"{plan_file}: expected the plan of an earlier run, got: {problem}"
        raise InvalidInputError(msg) from problem
    if not isinstance(earlier, dict):
        msg = f"{plan_file}: expected the plan of an earlier run, got {type(earlier).__name__}"
        raise InvalidInputError(msg)
    return earlier


def _check_same(path: Path, earlier: Json, asked: Mapping[str, Json]) -> None:
    differing = [name for name in _FIXED if earlier.get(name) != asked[name]]
    if differing:
        said = ", ".join(f"{name} {earlier.get(name)}, got {asked[name]}" for name in differing)
        msg = f"{path} belongs to another plan: {said}; take another folder, or the same options"
        raise ConflictError(msg)


def problem_line(problem: Exception) -> str:
    """Return what went wrong in one line."""
    words = " ".join(str(problem).split())
    return words if isinstance(problem, BandstandError) else f"{type(problem).__name__}: {words}"

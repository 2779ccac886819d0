"""The folder of one reproduction: it has one size and one seed, and one process at a time.

    OUT/index.html           the report
    OUT/findings.json        every claim with its verdict
    OUT/run.json             machine, versions, dates and durations
    OUT/data/STUDY/          what the figures and tables show, as PNG, CSV and JSON
    OUT/work/plan.json       what was asked for
    OUT/work/STUDY/KEY.json  the result of one job

Another size or seed is refused, so that hours of work are not lost to a quick look. Other data
are taken: each job knows by their digests whether its result is of the same data (see `jobs`), so
only what depends on them is computed anew.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand.errors import ConflictError, InvalidInputError
from bandstand_lab.report.files import as_bytes, digest_of_file, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bandstand_lab.report.study import Json, Plan

_FIXED: Final = ("size", "seed")  # what all results of a folder have in common


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """Where everything of one reproduction is."""

    path: Path
    digests: Mapping[str, str]  # of the plan's data, by path

    def result(self, study: str, key: str) -> Path:
        """Return where the result of a job is kept."""
        return self.path / "work" / study / f"{key}.json"

    def data(self, study: str) -> Path:
        """Return where the raw files of a study are."""
        return self.path / "data" / study

    @property
    def page(self) -> Path:
        """The report."""
        return self.path / "index.html"


@contextmanager
def claimed(path: Path, plan: Plan) -> Iterator[Folder]:
    """Give the folder of a plan, new or begun earlier; nobody else may write to it meanwhile."""
    digests = {str(file): digest_of_file(file) for file in data_files(plan)}
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
        yield Folder(path=path, digests=digests)
    finally:
        os.close(lock)


def data_files(plan: Plan) -> tuple[Path, ...]:
    """Return the files that the user gave."""
    single = (plan.taste, *(plan.content or ()), plan.features)
    return (*plan.histories, *(file for file in single if file is not None))


def options(plan: Plan) -> str:
    """Return the options that ask for the same plan; files without the folders they are in."""
    named = [("--history", file) for file in plan.histories]
    items, ratings = plan.content or (None, None)
    named += [
        (option, file)
        for option, file in (
            ("--taste", plan.taste),
            ("--items", items),
            ("--ratings", ratings),
            ("--features", plan.features),
        )
        if file is not None
    ]
    words = ["--quick"] if plan.size == "quick" else []
    words += [f"--seed {plan.seed}", *(f"{option} {file.name}" for option, file in named)]
    return " ".join(words)


def _asked(plan: Plan, digests: Mapping[str, str]) -> dict[str, Json]:
    """Return what is asked for; data are known by what they hold, not by their names."""

    def of(*files: Path | None) -> list[str]:
        return [digests[str(file)] for file in files if file is not None]

    return {
        "size": plan.size,
        "seed": plan.seed,
        "histories": of(*plan.histories),
        "taste": of(plan.taste),
        "items and ratings": of(*(plan.content or ())),
        "features": of(plan.features),
    }


def _check_ours(path: Path, plan_file: Path) -> None:
    """Refuse a folder with things of somebody else, which the report could overwrite."""
    if path.is_dir() and not plan_file.exists() and _has_more_than_work(path):
        msg = (
            f"expected a new or empty folder, or one of an earlier `bandstand reproduce`, "
            f"got {path}, which holds something else"
        )
        raise InvalidInputError(msg)


def _has_more_than_work(path: Path) -> bool:
    # A process that ended before it wrote its plan leaves the folder with nothing else in it.
    return any(entry.name != "work" for entry in path.iterdir())


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

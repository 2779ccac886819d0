"""`bandstand scan`: analyse folders of music, and report every file that failed and why."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from bandstand._util.words import counted
from bandstand.cli._options import opened_store, store_exists, store_option

if TYPE_CHECKING:
    from bandstand.music.catalogue.matrix import FeatureMatrix
    from bandstand.music.library.analysers import Analyser
    from bandstand.store.database.connection import Store
    from bandstand.store.songs.scans import ScanCounts

_NEWS: Final = ("added", "changed", "moved", "missing")


@click.command()
@click.argument("folders", nargs=-1, metavar="DIR…")
@click.option("--demo", is_flag=True, help="The synthesised demo library, made on first use.")
@store_option
@click.option("--retry", is_flag=True, help="Also read again the files that failed before.")
@click.option("--refit", is_flag=True, help="Fit the projection again, on all songs.")
@click.option(
    "--workers", type=click.IntRange(1, 1024), help="Processes; as many as cores unless given."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def scan(
    *,
    folders: tuple[str, ...],
    demo: bool,
    store: str | None,
    retry: bool,
    refit: bool,
    workers: int | None,
    as_json: bool,
) -> None:
    """Analyse the music below folders into the store.

    Only new and changed files are read; an interrupted scan continues where it stopped. Nothing
    is ever written to the folders. Ends with a report of every file that failed and why.
    """
    from bandstand._util.clock import system_clock
    from bandstand.music.catalogue.refresh import check_projection, refreshed
    from bandstand.music.library.analysers import LocalAnalyser
    from bandstand.music.library.walk import library_roots

    roots = library_roots([*folders, *([_demo_folder()] if demo else [])])
    totals = _music_below(roots)
    empty = [root for root in roots if not totals[root]]
    if empty and not store_exists(store):
        raise _no_music(empty[0])
    with LocalAnalyser(workers=workers) as analyser, opened_store(store) as opened:
        if not refit:
            check_projection(opened)
        for root in empty:
            _check_known(opened, root)
        began = time.monotonic()
        counts = _scanned(opened, roots, analyser, retry=retry, total=sum(totals.values()))
        catalogue = refreshed(opened, now=system_clock(), refit=refit)
        report = _report(opened, roots, counts, catalogue, time.monotonic() - began)
        report["isolation"] = analyser.isolation()
    click.echo(json.dumps(report, indent=2) if as_json else _in_words(report))


def _demo_folder() -> str:
    from bandstand.cli._progress import counting
    from bandstand.store.database.location import user_data_folder
    from bandstand_demo import demo_library

    folder = user_data_folder() / "demo-library"
    with counting("Composing") as progress:
        demo_library(folder, progress=progress)
    return str(folder)


def _music_below(roots: tuple[bytes, ...]) -> dict[bytes, int]:
    """Return the number of music files below each folder."""
    from bandstand.cli._progress import counting
    from bandstand.music.library.walk import walk

    totals = dict.fromkeys(roots, 0)
    with counting("Counting", lasting=False) as progress:
        for folder in walk(roots):
            totals[folder.root] += len(folder.files) + len(folder.refused)
            progress(sum(totals.values()), None)
    return totals


def _check_known(store: Store, root: bytes) -> None:
    """Refuse a folder without music, unless songs were found there before.

    Those are kept and marked as missing: a disk that is not mounted is an empty folder.
    """
    from bandstand.music.library.walk import shown
    from bandstand.store.songs import files

    with store.reading() as connection:
        known = sum(1 for _ in files.under(connection, root))
    if not known:
        raise _no_music(root)
    click.echo(
        f"Warning: {shown(root)} holds no music now; its {counted(known, 'file')} are kept as "
        "missing. Is the disk mounted?",
        err=True,
    )


def _no_music(root: bytes) -> click.UsageError:
    from bandstand.music.library.walk import shown

    msg = f"the folder {shown(root)} must hold music, found no file named like music in it"
    return click.UsageError(msg)


def _scanned(
    store: Store, roots: tuple[bytes, ...], analyser: Analyser, *, retry: bool, total: int
) -> ScanCounts:
    from bandstand._util.clock import system_clock
    from bandstand.cli._progress import counting
    from bandstand.music.library.scan import scan as scan_library

    with counting("Scanning") as progress:
        return scan_library(
            store,
            roots,
            analyser,
            now=system_clock,
            retry=retry,
            progress=lambda counts: progress(counts.found, max(total, counts.found)),
        )


def _report(
    store: Store,
    roots: tuple[bytes, ...],
    counts: ScanCounts,
    catalogue: FeatureMatrix | None,
    seconds: float,
) -> dict[str, Any]:
    from bandstand.music.library.walk import shown
    from bandstand.store.songs import files, projections

    with store.reading() as connection:
        failed = [
            {"path": shown(path), "reason": reason}
            for root in roots
            for path, reason in files.problems(connection, root)
        ]
        projection = projections.latest(connection)
    return {
        **asdict(counts),
        "seconds": round(seconds, 3),
        "songs": 0 if catalogue is None else len(catalogue.ids),
        "features": 0 if catalogue is None else catalogue.features.shape[1],
        "projection": None if projection is None else projection.version,
        "fitted_on": 0 if projection is None else projection.songs,
        "failures": failed,
    }


def _in_words(report: dict[str, Any]) -> str:
    news = [f"{report[name]:,} {name}" for name in _NEWS if report[name]]
    rest = [f"{report[name]:,} {name}" for name in ("unchanged", "failed")]
    files, songs = counted(report["found"], "file"), counted(report["songs"], "song")
    speed = report["found"] / max(report["seconds"], 1e-3)
    what = ", ".join([*(news or ["nothing new"]), *rest])
    lines = [
        f"{files} in {report['seconds']:,.1f} s ({speed:,.0f}/s): {what}.",
        f"The catalogue has {songs} with {counted(report['features'], 'feature')} each.",
    ]
    if report["songs"] > 2 * report["fitted_on"] > 0:
        lines.append(
            f"The projection was fitted on {counted(report['fitted_on'], 'song')}; "
            "`bandstand scan --refit` fits it to all of them."
        )
    if "not on this system" in (report["isolation"] or ""):
        lines.append(f"Decoders were confined less than they should be: {report['isolation']}.")
    if report["failures"]:
        lines += ["", "Failed:"]
        lines += [f"  {failure['path']}\n    {failure['reason']}" for failure in report["failures"]]
    return "\n".join(lines)

"""`bandstand features`: the 159 raw descriptors of audio files, as a table or as CSV."""

from __future__ import annotations

import csv
import os
import stat
from contextlib import nullcontext
from io import StringIO
from typing import TYPE_CHECKING, Final

import click

from bandstand.errors import InvalidInputError, UnreadableAudioError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from bandstand.cli._progress import Progress
    from bandstand.types import Analysis

# Fewer files are done before a bar is drawn.
_MIN_FILES_FOR_BAR: Final = 5


@click.command(short_help="Write the 159 raw descriptors of audio files.")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path())
@click.option(
    "--csv",
    "out",
    metavar="OUT",
    type=click.Path(),
    help="Write all 159 numbers of each file there; - is standard output.",
)
def features(*, files: tuple[str, ...], out: str | None) -> None:
    """Describe the sound of audio files by the 159 raw descriptors.

    Without --csv a table sums them up. If a file cannot be decoded, the reason is printed,
    the others are done, and the exit code is 1. If a file does not exist, or OUT cannot be
    written, nothing is done and the exit code is 2. OUT is replaced only when
    everything is done.
    """
    from bandstand.cli._output_files import check_place, replace_file

    for name in files:
        _check_file(name)
    if out is not None:
        check_place(out, option="--csv")
        _refuse_music(out)
    found = _analysed(files)
    good = [(name, one) for name, one in found if not isinstance(one, str)]
    bad = [(name, one) for name, one in found if isinstance(one, str)]
    if good and out is not None:
        replace_file(out, _as_csv(good))
    elif good:
        _show(good)
    _report_failures(bad, len(found))


def _check_file(name: str) -> None:
    """Refuse what is not there, before anything is read."""
    try:
        mode = os.stat(name).st_mode
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        msg = f"{_shown(name)}: expected a file that can be read, got none: {reason}"
        raise InvalidInputError(msg) from None
    if stat.S_ISDIR(mode):
        msg = f"{_shown(name)}: expected a file, got a folder; `bandstand scan` reads folders"
        raise InvalidInputError(msg)
    if not stat.S_ISREG(mode):
        msg = f"{_shown(name)}: expected a file, got something else"
        raise InvalidInputError(msg)


def _refuse_music(out: str) -> None:
    """Refuse to write over music: `--csv *.flac` is easily typed, and the first file would go."""
    from bandstand.music.library.walk import MUSIC, shown

    place = os.fsencode(out)
    if os.path.splitext(place)[1].lower() in MUSIC and os.path.exists(place):
        msg = f"--csv must name a file for the numbers, got {shown(place)}, which looks like music"
        raise InvalidInputError(msg)


def _analysed(files: tuple[str, ...]) -> list[tuple[str, Analysis | str]]:
    """Return each file, in order, with what was found or the reason why nothing was."""
    from bandstand._util.parallel import usable_cores
    from bandstand.music.library.analyse import request
    from bandstand.music.library.analysers import LocalAnalyser

    paths = {name: os.path.abspath(os.fsencode(name)) for name in files}
    wanted = list(dict.fromkeys(paths.values()))
    found: dict[bytes, Analysis | str] = {}
    with (
        _progress(len(wanted)) as progress,
        LocalAnalyser(workers=min(usable_cores(), len(wanted))) as analyser,
    ):
        for path, one in analyser.run((path, request(path)) for path in wanted):
            found[path] = one
            progress(len(found), len(wanted))
    return [(name, found[paths[name]]) for name in files]


def _progress(total: int) -> AbstractContextManager[Progress]:
    if total < _MIN_FILES_FOR_BAR:
        return nullcontext(lambda _done, _total: None)
    from bandstand.cli._progress import counting

    return counting("Describing")


def _report_failures(bad: list[tuple[str, str]], total: int) -> None:
    """Report what failed, and fail if something did."""
    if len(bad) == total == 1:
        msg = f"{_shown(bad[0][0])}: {bad[0][1]}"
        raise UnreadableAudioError(msg)
    for name, reason in bad:
        click.echo(f"{_shown(name)}: {reason}", err=True)
    if bad:
        msg = f"{len(bad):,} of {total:,} files could not be described"
        raise UnreadableAudioError(msg)


def _shown(name: str) -> str:
    from bandstand.music.library.walk import shown

    return shown(os.fsencode(name))


_HEADER: Final = (
    "file",
    "strongest",
    "length",
    "tempo",
    "centroid",
    "roll-off",
    "MFCC1",
    "MFCC2",
    "MFCC3",
)
_MEANING: Final = """
Harmony: the strongest pitch classes. Tempo: beats per minute. Brightness:
spectral centroid and 90 % roll-off, in hertz. Timbre: means of MFCC.
--csv OUT writes all 159 numbers."""
_TOP: Final = 257 * 31.25  # hertz, at which centroid and roll-off are 1
_PITCH: Final = "mean_Chroma_"


def _as_csv(rows: Sequence[tuple[str, Analysis]]) -> bytes:
    """Return all descriptors with a header, digits enough to read each number back exactly.

    A name that is not UTF-8 keeps its bytes.
    """
    from bandstand.music.audio.descriptors.definition import NAMES

    text = StringIO(newline="")
    table = csv.writer(text)
    table.writerow(["file", *NAMES])
    for name, analysis in rows:
        table.writerow([name, *map(repr, analysis.descriptors.tolist())])
    return text.getvalue().encode("utf-8", "surrogateescape")


def _show(rows: Sequence[tuple[str, Analysis]]) -> None:
    """Print a line for each file: timbre, harmony, brightness and tempo."""
    from bandstand.cli._tables import print_table

    print_table(_HEADER, [_cells(name, analysis) for name, analysis in rows], framed=False)
    click.echo(_MEANING)


def _cells(name: str, analysis: Analysis) -> tuple[str, ...]:
    from bandstand.music.audio.descriptors.definition import NAMES

    value = dict(zip(NAMES, analysis.descriptors.tolist(), strict=True))
    pitches = sorted(
        (column for column in NAMES if column.startswith(_PITCH) and "Ratio" not in column),
        key=lambda column: -value[column],
    )
    minutes, seconds = divmod(round(analysis.duration), 60)
    return (
        _shown(name),
        " ".join(column.removeprefix(_PITCH) for column in pitches[:3]),
        f"{minutes}:{seconds:02}",
        f"{value['tempo_bpm']:.0f}" if value["tempo_bpm"] else "none",
        f"{value['mean_Centroid'] * _TOP:,.0f}",
        f"{value['mean_Rolloff'] * _TOP:,.0f}",
        *(f"{value[f'mean_MFCC{number}']:.2f}" for number in (1, 2, 3)),
    )

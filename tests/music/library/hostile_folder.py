"""The hostile folder: every file, name and trick that a music folder may hold, in one place.

It is built in a few seconds and takes a few megabytes: what is huge in it is a hole.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.music.library.hostile_case import Case, bad, either, good, ignored
from tests.music.library.hostile_sounds import sound_cases
from tests.music.library.hostile_tags import playlist_cases, tag_cases
from tests.music.library.short_sounds import encoded, piece

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTHING = 0o000
_HARD_TO_PRINT = (
    (b"a [", b"red] b.mp3"),
    (b"a\ttab\nand line", b"\x1b[2J\x1b]0;title\x07.mp3"),
    (b"\xff\xfe", b"\xed\xa0\x80\xc3.mp3"),
    ("\u202eleft to right".encode(), "\u2028\u2066🎵.mp3".encode()),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """A hostile folder, with the paths of what a scan must make of it."""

    library: Path
    outside: Path  # a good song that is not in the library, though much in it leads there
    good: tuple[bytes, ...]  # must be indexed
    bad: tuple[bytes, ...]  # must be listed with a reason
    either: tuple[bytes, ...]  # must be exactly one of the two
    ignored: tuple[bytes, ...]  # must not be indexed

    def unlock(self) -> None:
        """Let everything in the folder be read, so that it can be removed."""
        for name in ("locked.mp3", "locked"):
            (self.library / name).chmod(stat.S_IRWXU)


def build(folder: Path, *, port: int = 9) -> Hostile:
    """Return a hostile folder, made inside the empty `folder`; some of it leads to `port`."""
    library, outside = folder / "library", folder / "outside" / "secret.wav"
    library.mkdir()
    outside.parent.mkdir()
    outside.write_bytes(encoded("wav", piece(1000)))
    paths: dict[str, list[bytes]] = {"good": [], "bad": [], "either": [], "ignored": []}
    for part, cases in _parts(outside, port):
        (library / part).mkdir()
        for case in cases:
            paths[case.verdict].append(case.write(library / part))
    paths["bad"] += _no_files(library)
    paths["bad"] += _printed_badly(library)
    paths["bad"] += _links_that_lead_nowhere_good(library, outside)
    paths["ignored"] += _links_inside(library)
    paths["good"].append(_folder_named_as_a_file(library))
    readable, unreadable = _locked(library)
    paths["good"] += readable
    paths["bad"] += unreadable
    return Hostile(
        library=library,
        outside=outside,
        good=tuple(paths["good"]),
        bad=tuple(paths["bad"]),
        either=tuple(paths["either"]),
        ignored=tuple(paths["ignored"]),
    )


def _parts(outside: Path, port: int) -> Iterator[tuple[str, Iterator[Case]]]:
    yield "sounds", sound_cases()
    yield "tags", tag_cases()
    yield "playlists", playlist_cases(outside, port)
    yield "names", name_cases()


def name_cases() -> Iterator[Case]:
    """Yield good files with strange names; every byte but / and nul may be in one."""
    for number, name in enumerate(_names()):
        yield good(name, encoded("mp3", piece(300 + number)))
    yield either(".hidden.mp3", encoded("mp3", piece(398)))
    yield ignored("no extension", encoded("mp3", piece(399)))


def _names() -> Iterator[bytes]:
    yield b"\xff\xfe not unicode \x80.mp3"
    yield b"\xed\xa0\x80 half a letter.mp3"
    yield b"\xe9tude in latin-1.mp3"
    yield b"two\nlines.mp3"
    yield b"\r\x1b[2J\x1b]0;title\x07 for a terminal\x08\x7f.mp3"
    yield b"-rf.mp3"
    yield b"--help.mp3"
    yield b"..mp3"
    yield b"...mp3"
    yield b"..\\..\\windows.mp3"
    yield b" .mp3"
    yield b"%s{}{0}%n.mp3"
    yield b"'\"`$(id);|&<>*?[a].mp3"
    yield b"'; DROP TABLE songs; --.mp3"
    yield b"C:\\nul.mp3"
    yield b"http:\\\\127.0.0.1.mp3"
    yield b"file:concat:a|b.mp3"
    yield b"image%03d.mp3"
    yield b"long " + b"x" * 246 + b".mp3"
    yield ("ل" * 125 + ".mp3").encode()
    yield from (name.encode() for name in _letters())


def _letters() -> Iterator[str]:
    yield "\u202eright to left\u202c שלום.mp3"
    yield "🎵👩‍👩‍👧‍👦.mp3"
    yield "\u00e9tude.mp3"  # the twins: one letter, or a letter and its accent
    yield "e\u0301tude.mp3"
    yield "\ufeff\u200b.mp3"
    yield "CASE.mp3"
    yield "case.mp3"
    yield "[red]markup[bold].mp3"


def _no_files(library: Path) -> Iterator[bytes]:
    """Yield the paths of a pipe and a socket, which must never be opened."""
    os.mkfifo(library / "pipe.mp3")
    yield bytes(library / "pipe.mp3")
    # A socket's path may have a hundred bytes at most, a folder's may have more.
    folder = os.open(library, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(f"/proc/self/fd/{folder}/socket.mp3")
    finally:
        os.close(folder)
    yield bytes(library / "socket.mp3")


def _links_that_lead_nowhere_good(library: Path, outside: Path) -> Iterator[bytes]:
    links = {
        "to zeros.mp3": Path("/dev/zero"),
        "to randomness.mp3": Path("/dev/urandom"),
        "to a terminal.mp3": Path("/dev/tty"),
        "to a process.mp3": Path("/proc/self/mem"),
        "outside.wav": outside,
        "outside by steps.wav": Path("../outside/secret.wav"),
        "to a link outside.wav": Path("outside.wav"),
        "to itself.mp3": Path("to itself.mp3"),
        "to nothing.mp3": Path("nothing.mp3"),
    }
    for name, target in links.items():
        (library / name).symlink_to(target)
        yield bytes(library / name)


def _links_inside(library: Path) -> Iterator[bytes]:
    """Yield links to folders, which are no files, and a link to a song that is there anyway."""
    links = {
        "round.mp3": Path(),
        "round by steps": Path("../library"),
        "all": Path("/"),
        "outside": Path("../outside"),
        "again.wav": Path("sounds/good wav.wav"),
    }
    for name, target in links.items():
        (library / name).symlink_to(target)
        yield bytes(library / name)
    yield bytes(library / "outside" / "secret.wav")


def _folder_named_as_a_file(library: Path) -> bytes:
    (library / "a folder.mp3").mkdir()
    return good("song.mp3", encoded("mp3", piece(400))).write(library / "a folder.mp3")


def _printed_badly(library: Path) -> Iterator[bytes]:
    """Yield files that will be reported, with names that are hard to print.

    The first path has what Rich takes for the end of a colour that never began.
    """
    for folder, name in _HARD_TO_PRINT:
        os.makedirs(bytes(library) + b"/" + folder)  # noqa: PTH103 - not every name is a Path
        yield bad(folder + b"/" + name).write(library)


def _locked(library: Path) -> tuple[list[bytes], list[bytes]]:
    """Return the paths behind locks that this user can read, and those that it cannot."""
    good("locked.mp3", encoded("mp3", piece(401))).write(library)
    (library / "locked").mkdir()
    inside = good("song.mp3", encoded("mp3", piece(402))).write(library / "locked")
    for name in ("locked.mp3", "locked"):
        (library / name).chmod(NOTHING)
    if os.access(library / "locked.mp3", os.R_OK):  # root reads what it wants
        return [bytes(library / "locked.mp3"), inside], []
    return [], [bytes(library / "locked.mp3"), bytes(library / "locked")]


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir()
    build(Path(sys.argv[1]))

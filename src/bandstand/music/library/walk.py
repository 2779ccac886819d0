"""Finds the music files below a folder, folder by folder, in the order of their names.

Nothing is opened here and no link is followed. Names are bytes: a file system knows no
encoding, and a name that is not UTF-8 must come back as it was.
"""

import os
import posixpath
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.music.library.content import modified_ns
from bandstand.store.database.schema import MAX_PATH_BYTES

_SOUND: Final = (
    b"aac ac3 adts aif aifc aiff alac amr ape au caf dsf dts eac3 flac m4a m4b m4p mka mp2 mp3 mpc "
    b"oga ogg opus snd spx tta w64 wav wave weba wma wv"
)
_VIDEO: Final = b"3gp asf avi flv m4v mkv mov mp4 mpeg mpg mts ogv ts vob webm wmv"
_MODULES: Final = b"669 it med mod mptm mtm s3m stm xm"
MUSIC: Final = frozenset(b"." + name for name in b" ".join((_SOUND, _VIDEO, _MODULES)).split())

# What other programs leave in a music folder: bins, thumbnails, version control.
_NOT_THE_LIBRARY: Final = frozenset(
    (b"@eaDir", b"#recycle", b"$RECYCLE.BIN", b".Trash", b".Trashes", b".git", b"lost+found")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A regular file that may be music, as the folder lists it."""

    path: bytes
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Something named like music, or a folder, that is not entered; the reason says why."""

    path: bytes
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """The music in one folder, without the folders inside it."""

    root: bytes  # the folder that the walk began with
    path: bytes
    files: tuple[FoundFile, ...]
    refused: tuple[Refused, ...]


def library_roots(folders: Sequence[str | bytes | os.PathLike[str]]) -> tuple[bytes, ...]:
    """Return the real paths of folders that can be listed, without those inside another."""
    if not folders:
        msg = "at least one folder of music must be given, got none"
        raise InvalidInputError(msg)
    real = sorted({_checked_root(folder) for folder in folders})
    return tuple(path for path in real if not any(_inside(path, other) for other in real))


def walk(roots: Sequence[bytes], *, rng: np.random.Generator | None = None) -> Iterator[Folder]:
    """Yield every folder below the roots that holds music or something refused.

    A link to something inside the roots is left out, since it is met by its own name;
    a link out of them, or to nothing, is refused. With `rng` the folders come in random order,
    so that a walk that is cut short has seen a part of everything.
    """
    waiting = [(root, root) for root in reversed(roots)]
    while waiting:  # a list rather than recursion: folders may be nested very deeply
        if rng is not None:
            drawn = int(rng.integers(len(waiting)))
            waiting[drawn], waiting[-1] = waiting[-1], waiting[drawn]
        root, path = waiting.pop()
        folder, inner = _listed(root, path, roots)
        waiting.extend((root, below) for below in reversed(inner))
        if folder.files or folder.refused:
            yield folder


def shown(path: bytes) -> str:
    r"""Return a path as one line of text; what is not UTF-8 is written as an escape.

    >>> shown(b"a\xff\nb.mp3")
    'a\\xff\\nb.mp3'
    """
    text = path.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _checked_root(folder: str | bytes | os.PathLike[str]) -> bytes:
    try:
        name = os.fsencode(folder)
        real = os.path.realpath(name)
    except ValueError as problem:  # a NUL, or half a letter
        msg = f"a folder must have a name that a disk can hold, got {folder!r}"
        raise InvalidInputError(msg) from problem
    if not name:  # would be the current folder; usually a variable that was not set
        msg = "a folder of music must be named, got an empty name"
        raise InvalidInputError(msg)
    if len(real) > MAX_PATH_BYTES:
        msg = f"a folder's path must have at most {MAX_PATH_BYTES:,} bytes, got {len(real):,}"
        raise InvalidInputError(msg)
    _check_listable(name, real)
    return real


def _check_listable(name: bytes, real: bytes) -> None:
    try:
        with os.scandir(real):
            return
    except FileNotFoundError:
        msg = f"the folder {shown(name)} must exist, found nothing there"
    except NotADirectoryError:
        msg = f"{shown(name)} must be a folder, got a file"
    except PermissionError:
        msg = f"the folder {shown(name)} must be readable, permission was denied"
    except OSError as problem:
        msg = f"the folder {shown(name)} must be readable, got: {_message(problem)}"
    raise InvalidInputError(msg)


def _inside(path: bytes, folder: bytes) -> bool:
    return path != folder and path.startswith(folder.rstrip(b"/") + b"/")


def _listed(root: bytes, path: bytes, roots: Sequence[bytes]) -> tuple[Folder, list[bytes]]:
    """Return one folder's music and the paths of the folders inside it."""
    files: list[FoundFile] = []
    refused: list[Refused] = []
    inner: list[bytes] = []
    try:
        with os.scandir(path) as entries:
            listing = sorted(entries, key=lambda entry: entry.name)
    except OSError as problem:
        listing = []
        refused.append(
            Refused(path=path, reason=f"the folder cannot be listed: {_message(problem)}")
        )
    for entry in listing:
        found = _classified(entry, roots)
        match found:
            case FoundFile():
                files.append(found)
            case Refused() if found not in refused:
                refused.append(found)
            case bytes():
                inner.append(found)
    return Folder(root=root, path=path, files=tuple(files), refused=tuple(refused)), inner


def _classified(
    entry: os.DirEntry[bytes], roots: Sequence[bytes]
) -> FoundFile | Refused | bytes | None:
    """Return a file, a refusal, the path of a folder to enter, or None for what is no music."""
    try:
        if entry.is_symlink():
            return _classified_link(entry, roots)
        if entry.is_dir(follow_symlinks=False):
            return None if _is_left_out(entry.name) else _too_long(entry.path) or entry.path
        if not _named_like_music(entry.name):
            return None
        return _classified_file(entry)
    except OSError as problem:
        if not _named_like_music(entry.name):
            return None
        return _refused(entry.path, f"it cannot be examined: {_message(problem)}")


def _classified_file(entry: os.DirEntry[bytes]) -> FoundFile | Refused:
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        return _refused(entry.path, f"a file was expected, found {_kind(status.st_mode)}")
    return _too_long(entry.path) or FoundFile(
        path=entry.path, size=status.st_size, modified_ns=modified_ns(status)
    )


def _classified_link(entry: os.DirEntry[bytes], roots: Sequence[bytes]) -> Refused | None:
    target = os.path.realpath(entry.path)
    is_folder = posixpath.isdir(target)
    if not (_named_like_music(entry.name) or is_folder):
        return None
    # What follows the link does not find a loop.
    if not posixpath.exists(entry.path):
        return _refused(entry.path, "it is a link that leads nowhere")
    home = next((root for root in roots if target == root or _inside(target, root)), None)
    if home is None:
        return _refused(
            entry.path, "it is a link out of the library; give the folder it leads to as well"
        )
    steps = target[len(home) :].split(b"/")
    name = b"" if is_folder else steps.pop()
    if any(_is_left_out(step) for step in steps) or not (is_folder or _named_like_music(name)):
        return _refused(entry.path, "it is a link to something that is left out of the library")
    return None


def _refused(path: bytes, reason: str) -> Refused:
    return _too_long(path) or Refused(path=path, reason=reason)


def _too_long(path: bytes) -> Refused | None:
    """Return the refusal of a folder in which a path is longer than can be kept."""
    if len(path) <= MAX_PATH_BYTES:
        return None
    reason = f"what is in it has paths of more than {MAX_PATH_BYTES:,} bytes"
    folder = posixpath.dirname(path)
    return Refused(path=folder, reason=reason)


def _is_left_out(name: bytes) -> bool:
    return name in _NOT_THE_LIBRARY or name.startswith(b".Trash-")


def _named_like_music(name: bytes) -> bool:
    # "._song.mp3" is what some systems keep beside "song.mp3", and holds no sound.
    if name.startswith(b"._"):
        return False
    ending = posixpath.splitext(b"x" + name)[1]
    return ending.lower() in MUSIC


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((kind for test, kind in kinds if test(mode)), "something else")


def _message(problem: OSError) -> str:
    return (problem.strerror or str(problem)).lower()

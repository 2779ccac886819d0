"""Analysis of one file: opened, fingerprinted, decoded, described.

`analyse` runs in a limited child process (see `sandbox`): it takes and gives what JSON can
carry. `checked` turns its answer into an `Analysis` again, and checks all of it, since a decoder
that was taken over by a hostile file could answer anything.
"""

import os
import posixpath
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, BinaryIO, Final

import numpy as np

from bandstand.errors import InvalidInputError, UnreadableAudioError
from bandstand.music.audio.decode import read
from bandstand.music.audio.descriptors.definition import NAMES, VERSION
from bandstand.music.audio.descriptors.summary import describe
from bandstand.music.audio.tracker_support import NeedsProgramError
from bandstand.music.library.content import (
    CHANGING,
    fingerprint,
    modified_ns,
    open_beneath,
    open_file,
)
from bandstand.types import Analysis, Tags, frozen

TASK: Final = "bandstand.music.library.analyse:analyse"
# In seconds; a century.
_MAX_DURATION: Final = 3.2e9
_TEXT: Final = re.compile(r".{1,500}", re.DOTALL)
_UUID: Final = re.compile("-".join(f"[0-9a-f]{{{length}}}" for length in (8, 4, 4, 4, 12)))
_SHAPES: Final = {
    "recording_mbid": _UUID,
    "release_mbid": _UUID,
    "artist_mbid": _UUID,
    "cover": re.compile(r"image/[a-z0-9.+-]{1,40}"),
}


def request(path: bytes, *, root: bytes | None = None) -> dict[str, Any]:
    """Return what to ask for one file; below a root no link is followed."""
    # Latin-1 maps every byte to one character and back, whatever the name's encoding.
    return {
        "path": path.decode("latin-1"),
        "root": None if root is None else root.decode("latin-1"),
    }


def analyse(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the analysis of a file as JSON, or that it needs another program."""
    path, root = wanted["path"].encode("latin-1"), wanted["root"]
    opened = open_file(path) if root is None else open_beneath(root.encode("latin-1"), path)
    with opened as file:
        before = os.fstat(file.fileno())
        try:
            found = _analysis(file, wanted)
        except NeedsProgramError:
            return {"needs": "program"}
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise UnreadableAudioError(CHANGING)
    return found | {"size": before.st_size, "modified_ns": modified_ns(before)}


def _analysis(file: BinaryIO, wanted: Mapping[str, Any]) -> dict[str, Any]:
    mark = fingerprint(file)
    recording = read(
        file,
        extension=posixpath.splitext(wanted["path"])[1].lower(),
        allow_programs=wanted.get("programs", False),
    )
    return {
        "tags": asdict(recording.tags),
        "duration": recording.duration,
        "descriptors": describe(recording.samples).tolist(),
        "version": VERSION,
        "fingerprint": mark,
    }


def checked(answer: Mapping[str, Any]) -> Analysis:
    """Return the answer of a child as an analysis; refuse whatever an analysis cannot be."""
    try:
        return Analysis(
            tags=_tags(answer["tags"]),
            duration=_number(answer["duration"], 0.0, _MAX_DURATION),
            descriptors=frozen(np.array(_descriptors(answer["descriptors"]))),
            version=_whole(answer["version"], VERSION, VERSION),
            fingerprint=_fingerprint(answer["fingerprint"]),
            size=_whole(answer["size"], 0, 2**63 - 1),
            modified_ns=_whole(answer["modified_ns"], -(2**63), 2**63 - 1),
        )
    except (KeyError, TypeError, ValueError) as problem:
        msg = f"an analysis of version {VERSION} was expected, got something else: {problem}"
        raise InvalidInputError(msg) from problem


def _tags(answer: object) -> Tags:
    known = {field.name: str(field.type) for field in fields(Tags)}
    if not isinstance(answer, dict) or set(answer) != set(known):
        msg = "its tags have other names"
        raise ValueError(msg)
    return Tags(**{name: _tag(name, value, known[name]) for name, value in answer.items()})


def _tag(name: str, value: object, kind: str) -> Any:
    if value is None:
        return None
    if kind.startswith("int"):
        return _whole(value, 0, 2**31)
    if kind.startswith("float"):
        return _number(value, -1e3, 1e3)
    if isinstance(value, str) and _SHAPES.get(name, _TEXT).fullmatch(value) and _clean(value):
        return value
    msg = f"its {name} is no clean text"
    raise ValueError(msg)


def _clean(text: str) -> bool:
    return not any(unicodedata.category(letter) in {"Cc", "Cs"} for letter in text)


def _descriptors(values: object) -> list[float]:
    if not isinstance(values, list) or len(values) != len(NAMES):
        msg = f"there must be {len(NAMES)} descriptors"
        raise ValueError(msg)
    return [_number(value, -1e300, 1e300) for value in values]


def _fingerprint(value: object) -> str:
    if isinstance(value, str) and len(value) == 32 and set(value) <= set("0123456789abcdef"):
        return value
    msg = "the fingerprint is none"
    raise ValueError(msg)


def _number(value: object, minimum: float, maximum: float) -> float:
    # Compared before it is converted: an integer may be too large for any float. NaN is nowhere.
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and minimum <= value <= maximum
    ):
        return float(value)
    msg = f"a number between {minimum:g} and {maximum:g} was expected"
    raise ValueError(msg)


def _whole(value: object, minimum: int, maximum: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= maximum:
        return value
    msg = f"a whole number between {minimum} and {maximum} was expected"
    raise ValueError(msg)

"""Good files made worse: bytes flipped, cut, spliced, repeated, and headers edited."""

from __future__ import annotations

from functools import cache

import numpy as np

from tests.music.library.handmade_tags import id3, jpeg, picture, text
from tests.music.library.short_sounds import FORMATS, encoded, piece

HEADER = 256  # bytes; where lengths, rates and counts are in most formats
EXTREMES = tuple(
    value.to_bytes(4, order)
    for value in (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
    for order in ("big", "little")
)


@cache
def seeds() -> tuple[tuple[str, bytes], ...]:
    """Return some twenty good files with their extensions, two of each format."""
    plain = [
        (_extension(kind), encoded(kind, piece(10 * number, seconds=seconds)))
        for number, kind in enumerate(FORMATS)
        for seconds in (0.5, 1.5)
    ]
    tag = id3(text(b"TIT2", "A title"), text(b"TPE1", "Somebody"), picture(jpeg(9, 9)))
    return (*plain, ("mp3", tag + encoded("mp3", piece(1))))


def mutated(number: int, *, seed: int = 1) -> tuple[str, bytes]:
    """Return file `number` of an endless row of broken ones, with its extension."""
    rng = np.random.default_rng([seed, number])
    extension, content = seeds()[rng.integers(len(seeds()))]
    for _ in range(rng.integers(1, 4)):
        change = _CHANGES[rng.integers(len(_CHANGES))]
        content = change(content, rng)
    return extension, content


def _flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the content with some bits flipped, few or many, anywhere."""
    changed = np.frombuffer(content, dtype=np.uint8).copy()
    if changed.size:
        count = int(10 ** rng.uniform(0, 3))
        places = rng.integers(changed.size, size=count)
        changed[places] ^= (1 << rng.integers(8, size=count)).astype(np.uint8)
    return changed.tobytes()


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.uniform() * len(content))]


def _headless(content: bytes, rng: np.random.Generator) -> bytes:
    return content[int(rng.uniform() ** 4 * len(content)) :]


def _spliced(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the start of one file and the end of another, perhaps of another format."""
    other = seeds()[rng.integers(len(seeds()))][1]
    return _cut(content, rng) + other[int(rng.uniform() * len(other)) :]


def _repeated(content: bytes, rng: np.random.Generator) -> bytes:
    start, length = _stretch(content, rng)
    return content[: start + length] + content[start:]


def _zeroed(content: bytes, rng: np.random.Generator) -> bytes:
    start, length = _stretch(content, rng)
    return content[:start] + bytes(length) + content[start + length :]


def _edited(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the content with a number near its start made extreme."""
    place = int(rng.integers(min(HEADER, len(content)) + 1))
    extreme = EXTREMES[rng.integers(len(EXTREMES))][: rng.integers(1, 5)]
    return content[:place] + extreme + content[place + len(extreme) :]


def _stretch(content: bytes, rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.uniform() * len(content)), int(10 ** rng.uniform(0, 4))


def _extension(kind: str) -> str:
    return "m4a" if kind == "alac" else kind


# Headers are where decoders are weak, so they are edited more often.
_CHANGES = (_flipped, _cut, _headless, _spliced, _repeated, _zeroed, _edited, _edited, _edited)

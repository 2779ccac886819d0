"""Range headers of all kinds, and what RFC 9110 says about each, worked out byte by byte."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Parser = Callable[[str | None, int], tuple[int, int] | None]

NOWHERE: Final = (-1, -1)
_ODD: Final = (
    "", "bytes", "bytes=", "bytes=-", "bytes=--1", "bytes=1--2", "bytes=a-b", "bytes=0x1-2",
    "bytes=1.0-2", "bytes=+1-2", "bytes = 0-1", "octets=0-1", "items=0-5", "bytes=0-1;2-3",
    "bytes=٣-٤", "bytes=1 -2", "bytes=0-0,-1", "bytes=0-1,2-3", "bytes=5-4", "bytes=0-\x00",
    "seconds=1-2", "bytes=0-1bytes=2-3", "bytes:0-1", "bytes=,", "bytes=,,,,",
    "bytes=0-" + 300 * "9",
    "bytes=" + "0-1," * 1_300, "=0-1", "bytes=1-2-3",
)  # fmt: skip


def seeded(seed: int | None = None) -> random.Random:
    """Return what draws the headers; without a seed they are others each time."""
    return random.Random(seed)  # noqa: S311 - no secret is made of it


def headers(rng: random.Random, size: int, count: int) -> Iterator[str]:
    """Yield so many headers: sound, beyond the end, reversed, several at once, nonsense."""
    for _ in range(count):
        yield rng.choice(_KINDS)(rng, size)


def expected(header: str, size: int) -> tuple[int, int] | None:
    """Return the bytes that are to be sent, found by asking every byte whether it is wanted."""
    unit, separator, listed = header.partition("=")
    elements = [part.strip(" \t") for part in listed.split(",")]
    wanted = [part for part in elements if part]
    if unit.lower() != "bytes" or not separator or len(wanted) != 1 or len(header) > 200:
        return None
    first, dash, last = wanted[0].partition("-")
    if not dash or not all(re.fullmatch("[0-9]*", part, re.ASCII) for part in (first, last)):
        return None
    if not first and not last:
        return None
    if first and last and int(last) < int(first):
        return None
    if not first:
        places = [place for place in range(size) if place >= size - int(last)]
        if not places and int(last):
            return None  # all of an empty file
    else:
        end = int(last) if last else size
        places = [place for place in range(size) if int(first) <= place <= end]
    return (places[0], places[-1]) if places else NOWHERE


def wrong_answers(parse: Parser, rng: random.Random, *, tries: int) -> list[str]:
    """Return the headers that a parser gets wrong, over files of no, one and some bytes."""
    return [
        header
        for size in (0, 1, 2, 10, 257)
        for header in headers(rng, size, tries)
        if parse(header, size) != expected(header, size)
    ]


def _sound(rng: random.Random, size: int) -> str:
    first, last = sorted(rng.randrange(size + 1) for _ in range(2))
    return f"bytes={first}-{last}"


def _open(rng: random.Random, size: int) -> str:
    return f"Bytes={rng.randrange(2 * size + 2)}-"


def _suffix(rng: random.Random, size: int) -> str:
    return f"bytes=-{rng.choice([0, 1, size, size + 1, rng.randrange(2 * size + 2)])}"


def _beyond(rng: random.Random, size: int) -> str:
    return f"bytes={size + rng.choice([-1, 0, 1]) if size else 0}-{rng.choice([10**6, 10**40])}"


def _several(rng: random.Random, size: int) -> str:
    return "bytes=" + ",".join(_sound(rng, size)[6:] for _ in range(rng.randrange(2, 20)))


def _spaced(rng: random.Random, size: int) -> str:
    return (
        f"bytes={rng.choice(['', ' ', ',', ', ,'])}{_sound(rng, size)[6:]}{rng.choice([' ', ','])}"
    )


def _odd(rng: random.Random, _: int) -> str:
    return rng.choice(_ODD)


_KINDS: Final = (_sound, _sound, _open, _suffix, _beyond, _several, _spaced, _odd)

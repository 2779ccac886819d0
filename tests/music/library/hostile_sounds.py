"""Files whose sound is hostile: cut short, random, impossible, endless, or no sound at all."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from tests.music.library.handmade_tags import zeros_packed
from tests.music.library.hostile_case import Case, Hole, bad, either, good
from tests.music.library.short_sounds import FORMATS, RATE, encoded, film, piece, wav, wav_header

if TYPE_CHECKING:
    from collections.abc import Iterator

GIGABYTE = 1 << 30
HUNDRED_HOURS = 100 * 3600
MILLION = 1_000_000
CUT_KINDS = ("wav", "flac", "mp3", "ogg", "m4a")
EXTENSIONS = (*FORMATS, "aac", "aif", "mp4", "mkv", "oga", "mod", "xm", "it", "s3m", "ape", "wv")


def sound_cases() -> Iterator[Case]:
    """Yield every file whose sound is hostile, and one good file of each format."""
    yield from _good_ones()
    yield from _cut_short()
    yield from _random_bytes()
    yield from _wrong_extensions()
    yield from _endless()
    yield from _impossible()
    yield from _lying()
    yield from _not_numbers()


def _good_ones() -> Iterator[Case]:
    for number, kind in enumerate(FORMATS):
        extension = "m4a" if kind == "alac" else kind
        yield good(f"good {kind}.{extension}", encoded(kind, piece(number)))


def _cut_short() -> Iterator[Case]:
    """Yield files cut at each tenth: half of a stream is a song, an index at the end is lost."""
    yield from (bad(f"empty.{extension}") for extension in EXTENSIONS)
    for number, kind in enumerate(CUT_KINDS):
        whole = encoded(kind, piece(100 + number))
        for tenth in range(1, 10):
            verdict = either if tenth < 5 else good
            verdict = bad if kind == "m4a" else verdict
            yield verdict(f"cut {tenth}0 percent.{kind}", whole[: len(whole) * tenth // 10])
    early = encoded("m4a", piece(110), index_first=True)
    yield either("cut, index first.m4a", early[: len(early) // 2])
    # The middle thirty seconds of what the header claims are beyond the end.
    long = encoded("wav", piece(111, seconds=60))
    yield good("cut before its middle.wav", long[: len(long) // 10])


def _random_bytes() -> Iterator[Case]:
    rng = np.random.default_rng(1)
    for extension in EXTENSIONS:
        yield bad(f"random.{extension}", rng.bytes(20_000))
    head = {kind: encoded(kind, piece(120))[:64] for kind in CUT_KINDS}
    for kind, start in head.items():
        yield either(f"random after its header.{kind}", start + rng.bytes(20_000))


def _wrong_extensions() -> Iterator[Case]:
    wrong = {"flac": "mp3", "mp3": "flac", "ogg": "wav", "wav": "ogg", "m4a": "wma", "opus": "m4a"}
    for number, (kind, extension) in enumerate(wrong.items()):
        yield good(f"{kind} named.{extension}", encoded(kind, piece(130 + number)))
    yield good("SHOUTING.WAV", encoded("wav", piece(139)))
    yield good("a film.mkv", film(piece(138)))
    yield bad("a silent film.mkv", film(None))
    yield bad("a page.mp3", b"<!DOCTYPE html><html><title>404 not found</title></html>" * 20)
    yield bad("a script.ogg", b"#!/bin/sh\nrm -rf /\n" * 20)


def _endless() -> Iterator[Case]:
    """Yield files of a gigabyte and more that cost no place on the disk."""
    yield bad("a gigabyte of nothing.mp3", Hole(GIGABYTE))
    yield bad("a gigabyte of nothing.wav", Hole(GIGABYTE))
    yield good("a gigabyte of silence.wav", wav_header(GIGABYTE), Hole(GIGABYTE))
    silence = HUNDRED_HOURS * 4000 * 2
    yield good("a hundred hours.wav", wav_header(silence, rate=4000), Hole(silence))
    sound = encoded("mp3", piece(140))
    yield either("a gigabyte before its sound.mp3", Hole(GIGABYTE), sound)
    yield good("a gigabyte after its sound.mp3", sound, Hole(GIGABYTE))


def _impossible() -> Iterator[Case]:
    sound = piece(150).tobytes()
    yield bad("one sample.wav", wav(sound[:2]))
    yield bad("no sample.wav", wav(b""))
    yield bad("0 hertz.wav", wav(sound, rate=0))
    yield either("1 hertz.wav", wav(sound, rate=1))
    yield either("10 megahertz.wav", wav(sound, rate=10 * MILLION))
    yield either("4 gigahertz.wav", wav(sound, rate=0xFFFFFFFF))
    yield bad("0 channels.wav", wav(sound, channels=0))
    yield either("255 channels.wav", wav(sound, channels=255))
    yield either("65535 channels.wav", wav(sound, channels=65_535))
    yield bad("0 bits.wav", wav(sound, bits=0))
    yield bad("no such codec.wav", wav(sound, kind=0x7777))
    yield bad("header alone.wav", wav_header(MILLION))
    yield bad("riff alone.wav", wav_header(MILLION)[:12])
    for name, rate in _STRANGE_RATES.items():
        yield either(f"{name} hertz.aiff", _aiff(rate, sound))
    packed = zeros_packed(1_500 * MILLION)
    yield bad("a packed index.m4a", _mp4_with_packed_index(packed, 1_500 * MILLION))


def _lying() -> Iterator[Case]:
    """Yield files whose header claims far more than the file holds."""
    kilobyte = piece(160)[:500].tobytes()
    yield either("claims 4 GB.wav", wav(kilobyte, size=0xFFFFFFF0))
    yield either("claims 4 GB.aiff", _aiff(_80_BIT_16_KHZ, kilobyte, claimed=0xFFFFFFF0))
    yield bad(
        "claims 4 GB.m4a",
        struct.pack(">I4s4sI", 16, b"ftyp", b"M4A ", 0),
        struct.pack(">I4s", 0xFFFFFFF0, b"moov"),
        kilobyte,
    )
    yield good("claims 4 GB, has a second.wav", wav(piece(161)[:RATE].tobytes(), size=0xFFFFFFF0))
    flac = bytearray(encoded("flac", piece(162)))
    flac[21] |= 0x0F
    flac[22:26] = b"\xff" * 4  # the 36 bits that count the samples
    yield good("claims 1193 hours.flac", bytes(flac))
    flac[4:8] = b"\x84\xff\xff\xff"  # the first block: a comment of 16 MB, the last one
    yield bad("claims a comment of 16 MB.flac", bytes(flac[:1000]))
    yield either("ends in a billion years.ogg", _ending_late(encoded("ogg", piece(163))))


def _not_numbers() -> Iterator[Case]:
    sound = (piece(170) / 32_768).astype(np.float32)
    for name, value in {"nan": np.nan, "inf": np.inf, "minus inf": -np.inf, "1e38": 1e38}.items():
        verdict = either if name == "1e38" else bad
        full = np.full(sound.size, value, dtype=np.float32)
        yield verdict(f"all {name}.wav", wav(full.tobytes(), bits=32, kind=3))
        one = sound.copy()
        one[20_000] = value
        yield either(f"one {name}.wav", wav(one.tobytes(), bits=32, kind=3))


# Floats of 80 bits, as AIFF writes its rate.
_80_BIT_16_KHZ = b"\x40\x0c\xfa" + bytes(7)
_STRANGE_RATES = {
    "infinite": b"\x7f\xff\x80" + bytes(7),
    "huge": b"\x7f\xfe\xff" + bytes(7),
    "negative": b"\xc0\x0c\xfa" + bytes(7),
}


def _aiff(rate: bytes, sound: bytes, *, claimed: int | None = None) -> bytes:
    """Return an AIFF file whose rate is this 80-bit float."""
    common = struct.pack(">HIH", 1, len(sound) // 2, 16) + rate
    length = len(sound) + 8 if claimed is None else claimed
    chunks = b"COMM" + struct.pack(">I", 18) + common + b"SSND" + struct.pack(">III", length, 0, 0)
    return (
        b"FORM"
        + struct.pack(">I", min(4 + len(chunks) + length, 0xFFFFFFFF))
        + b"AIFF"
        + chunks
        + sound
    )


def _ending_late(ogg: bytes) -> bytes:
    """Return an Ogg file whose last page says that it ends at sample 2⁶², checksum and all."""
    last = ogg.rindex(b"OggS")
    page = bytearray(ogg[last:])
    page[6:14] = struct.pack("<q", 1 << 62)
    page[22:26] = bytes(4)
    checksum = 0
    for byte in page:
        checksum ^= byte << 24
        for _ in range(8):
            checksum = (checksum << 1 ^ (0x04C11DB7 if checksum >> 31 else 0)) & 0xFFFFFFFF
    page[22:26] = struct.pack("<I", checksum)
    return ogg[:last] + bytes(page)


def _mp4_with_packed_index(packed: bytes, claimed: int) -> bytes:
    inside = _atom(b"dcom", b"zlib") + _atom(b"cmvd", struct.pack(">I", claimed) + packed)
    return _atom(b"ftyp", b"M4A \x00\x00\x00\x00") + _atom(b"moov", _atom(b"cmov", inside))


def _atom(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content) + 8) + name + content

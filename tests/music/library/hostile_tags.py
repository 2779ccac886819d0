"""Good sound with hostile tags, and texts that make a decoder open something else."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from tests.music.library.handmade_tags import (
    frame,
    id3,
    jpeg,
    packed_frame,
    picture,
    png,
    text,
    zeros_packed,
    zip_bomb,
)
from tests.music.library.hostile_case import Case, Hole, bad, either, good, ignored
from tests.music.library.short_sounds import encoded, piece

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MEGABYTE = 1 << 20
SIDE = 20_000  # pixels
BOMB = 160 * 10_000_000  # bytes, what a picture of SIDE by SIDE unpacks to


def tag_cases() -> Iterator[Case]:
    """Yield good sound with heavy, broken and strange tags."""
    for number, (name, parts) in enumerate((_heavy() | _strange()).items()):
        yield good(f"{name}.mp3", *parts, encoded("mp3", piece(200 + number)))
    claims = packed_frame(b"TIT2", zeros_packed(200_000_000), claimed=200_000_000)
    yield either("a packed title.mp3", id3(claims, version=4), encoded("mp3", piece(230)))
    yield good("a comment in latin-1.flac", _flac_comment(b"TITLE=\xc9tude \xff\xfe"))
    yield good("a comment with a surrogate.flac", _flac_comment(b"TITLE=\xed\xa0\x80 alone"))
    yield good("a comment without a value.flac", _flac_comment(b"TITLE"))
    yield good("a comment of a megabyte.flac", _flac_comment(b"TITLE=" + b"x" * MEGABYTE))


def _heavy() -> dict[str, tuple[bytes | Hole, ...]]:
    huge = 50 * MEGABYTE
    cover = {
        "a png of 20000 by 20000": png(SIDE, SIDE, zlib.compress(b"")),
        "a png bomb": png(SIDE, SIDE, zeros_packed(BOMB)),
        "a jpeg of 20000 by 20000": jpeg(SIDE, SIDE),
        "a zip bomb": zip_bomb(),
        "a cover of text": b"#EXTM3U\nfile:///etc/passwd\n",
        "a cover of nothing": b"",
    }
    return {
        "a tag of 50 MB": (id3(padding=huge), Hole(huge)),
        "a cover of 50 MB": (id3(picture(jpeg(9, 9), more=huge), padding=huge), Hole(huge)),
        "a hundred covers": (id3(*[picture(jpeg(9, 9))] * 100),),
        "ten thousand comments": (id3(*[text(b"TXXX", f"{n}\0{n}") for n in range(10_000)]),),
    } | {name: (id3(picture(content)),) for name, content in cover.items()}


def _strange() -> dict[str, tuple[bytes | Hole, ...]]:
    titles = {
        "a title with nul": text(b"TIT2", "one\0two\0"),
        "a title of a megabyte": text(b"TIT2", "long " * (MEGABYTE // 5), encoding="latin-1"),
        "a title with lone surrogates": text(b"TIT2", "\ud800 alone \udfff"),
        "a title with control characters": text(b"TIT2", "\x1b[31mred\x07\x08\x7f\x85\u2028\r\n"),
        "a title that turns round": text(b"TIT2", "\u202egnp.exe\u202c \u200b\ufeff\uffff"),
        "a title in latin-1": text(b"TIT2", "Étude \x9c\xff", encoding="latin-1"),
        "a title in broken utf-8": frame(b"TIT2", b"\x03\xff\xfe\xc3\x28\xed\xa0\x80"),
        "a title in half a letter": frame(b"TIT2", b"\x01\xff\xfeA"),
        "a title without an encoding": frame(b"TIT2", b""),
        "a title that is code": text(b"TIT2", "<script>alert(1)</script>'; DROP TABLE songs; --"),
        "a year of a thousand digits": text(b"TYER", "9" * 1000),
        "a track below zero": text(b"TRCK", "-99999999999999999999/0"),
        "a gain that is no number": text(b"TXXX", "REPLAYGAIN_TRACK_GAIN\0nan dB"),
        "a gain without end": text(b"TXXX", "REPLAYGAIN_TRACK_GAIN\0-1e999 dB"),
        "a frame longer than its tag": frame(b"TIT2", b"\x00x", claimed=100_000_000),
    }
    return {name: (id3(content),) for name, content in titles.items()}


def _flac_comment(comment: bytes) -> bytes:
    """Return a good FLAC file with one comment, its bytes as they are."""
    sound = encoded("flac", piece(zlib.crc32(comment)))
    block = struct.pack("<II", 0, 1) + struct.pack("<I", len(comment)) + comment
    start = bytes([sound[4] & 0x7F]) + sound[5:42]  # the stream's information, not the last block
    if sound[4] & 0x80:
        return sound[:4] + start + b"\x84" + struct.pack(">I", len(block))[1:] + block + sound[42:]
    return sound[:4] + start + b"\x04" + struct.pack(">I", len(block))[1:] + block + sound[42:]


def playlist_cases(outside: Path, port: int) -> Iterator[Case]:
    """Yield texts that make a careless decoder open `outside` or call `port` of this machine."""
    for name, content in playlists(outside, port).items():
        yield bad(f"{name}.mp3", content)
        yield bad(f"{name}.ogg", content)
    yield bad("itself.mp3", _segments("itself.mp3"))
    yield bad("the other.mp3", _segments("another.mp3"))
    yield bad("another.mp3", _segments("the other.mp3"))
    yield ignored("one.m3u", b"two.m3u\n")
    yield ignored("two.m3u", b"one.m3u\n")
    yield ignored("all.m3u8", _segments(str(outside)))
    yield ignored("cover.jpg", jpeg(SIDE, SIDE))
    yield ignored("notes.txt", b"notes")


def playlists(outside: Path, port: int) -> dict[str, bytes]:
    """Return playlists of every kind that lead to a file, or to a server."""
    address = f"http://127.0.0.1:{port}/song.mp3"
    return {
        "a list": f"#EXTM3U\n{outside}\n".encode(),
        "segments": _segments(str(outside)),
        "segments by address": _segments(f"file://{outside}"),
        "segments from a server": _segments(address),
        "segments joined": _segments(f"concat:{outside}|{outside}"),
        "a choice of lists": f"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{outside}\n".encode(),
        "a key from a server": _segments(str(outside), key=address),
        "a script": f"ffconcat version 1.0\nfile '{outside}'\n".encode(),
        "a neighbour by script": b"ffconcat version 1.0\nfile 'good wav.wav'\n",
        "a session": _session(port),
        "a manifest": _manifest(address),
        "a reference": f"<asx version='3.0'><entry><ref href='{address}'/></entry></asx>".encode(),
        "tones by script": b"SBG\n-SE\nall: 300+10/90\nNOW all\n+00:01:00 off\n",
    }


def _segments(address: str, *, key: str | None = None) -> bytes:
    lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:3", "#EXT-X-MEDIA-SEQUENCE:0"]
    if key is not None:
        lines.append(f'#EXT-X-KEY:METHOD=AES-128,URI="{key}"')
    return "\n".join([*lines, "#EXTINF:3.0,", address, "#EXT-X-ENDLIST", ""]).encode()


def _session(port: int) -> bytes:
    lines = ["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=x", "c=IN IP4 127.0.0.1", "t=0 0"]
    return "\r\n".join([*lines, f"m=audio {port} RTP/AVP 0", ""]).encode()


def _manifest(address: str) -> bytes:
    return (
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"'
        ' mediaPresentationDuration="PT3S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011">'
        '<Period><AdaptationSet mimeType="audio/mp4"><Representation id="1" bandwidth="1">'
        f"<BaseURL>{address}</BaseURL></Representation></AdaptationSet></Period></MPD>"
    ).encode()

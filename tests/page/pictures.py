"""Covers that are no pictures, or more than pictures; and whether they may be shown.

Each of them calls `ran` if a browser takes it for a page, a script or a drawing with scripts.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import dataclass
from typing import Final

from tests.music.audio.audio_files import apic, chunk, huge_png, id3, picture
from tests.music.library.handmade_tags import jpeg

SCRIPT: Final = b"ran(1)"
HTML: Final = b"<!doctype html><html><body onload=ran(1)><script>parent.ran(1);ran(1)</script>"
SVG: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" onload="ran(1)"><script>ran(1)</script></svg>'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """A picture, what its file calls it, and whether it is one that browsers can only show."""

    image: bytes
    called: bytes = b"image/jpeg"
    is_picture: bool | None = False  # None where it may be taken for one or not


def png_with(*chunks: tuple[bytes, bytes]) -> bytes:
    """Return a small PNG with more chunks in it, right after its header."""
    small, header = picture("png"), 8 + 25
    more = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return small[:header] + more + small[header:]


def webp_with(*chunks: tuple[bytes, bytes]) -> bytes:
    """Return a small WebP with more chunks after its picture."""
    body = picture("libwebp")[8:] + b"".join(chunk(*one) for one in chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def jpeg_with_comment(comment: bytes) -> bytes:
    """Return a small JPEG that begins with a comment."""
    small = picture("mjpeg")
    return small[:2] + b"\xff\xfe" + struct.pack(">H", 2 + len(comment)) + comment + small[2:]


_JPEG, _PNG, _WEBP = (picture(codec, width=32, height=32) for codec in ("mjpeg", "png", "libwebp"))
_FAKES: Final = {
    "svg": Hostile(image=SVG, called=b"image/svg+xml"),
    "svg called jpeg": Hostile(image=SVG),
    "svg behind white space": Hostile(image=b" \n\t" + SVG, called=b"image/png"),
    "svg behind a mark": Hostile(image=b"\xef\xbb\xbf" + SVG),
    "svg squeezed": Hostile(image=gzip.compress(SVG), called=b"image/svg+xml"),
    "xml": Hostile(image=b'<?xml version="1.0"?>' + SVG, called=b"text/xml"),
    "html": Hostile(image=HTML, called=b"text/html"),
    "html called png": Hostile(image=HTML, called=b"image/png"),
    "html in a comment": Hostile(image=b"<!-- GIF89a -->" + HTML, called=b"image/gif"),
    "html in UTF-16": Hostile(image=HTML.decode().encode("utf-16"), called=b"image/webp"),
    "script": Hostile(image=SCRIPT, called=b"text/javascript"),
    "style": Hostile(image=b"*{background:url(//elsewhere.example/x)}", called=b"text/css"),
    "gif that is a script": Hostile(image=b"GIF89a/*" + bytes(20) + b"*/=1;ran(1)"),
    "bmp that is a script": Hostile(image=b"BM=1;ran(1)//" + bytes(40), called=b"image/bmp"),
    "icon": Hostile(image=b"\0\0\1\0\1\0\x10\x10" + bytes(40) + HTML, called=b"image/x-icon"),
    "avif": Hostile(image=b"\0\0\0\x1cftypavif" + bytes(40) + HTML, called=b"image/avif"),
    "pdf": Hostile(image=b"%PDF-1.7\n/OpenAction /JavaScript ran(1)", called=b"application/pdf"),
    "mail": Hostile(image=b"MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n" + HTML),
    "jpeg that goes on as html": Hostile(image=b"\xff\xd8\xff" + HTML),
    "png that goes on as html": Hostile(image=b"\x89PNG\r\n\x1a\n" + HTML),
    "webp that goes on as html": Hostile(image=b"RIFF\x40\0\0\0WEBP" + HTML),
    "jpeg that is a script": Hostile(image=b"\xff\xd8\xff\xe0/*" + bytes(30) + b"*/=1;ran(1)//"),
    "address": Hostile(image=b"http://elsewhere.example/cover.jpg", called=b"-->"),
    "data address": Hostile(image=b"data:text/html,<script>ran(1)</script>", called=b"-->"),
    "path": Hostile(image=b"../../../../etc/passwd", called=b"-->"),
    "nothing": Hostile(image=b""),
    "one byte": Hostile(image=b"\xff"),
    "no pixels": Hostile(image=jpeg(0, 0)),
    "10,000 by 10,000": Hostile(image=huge_png(10_000), called=b"image/png"),
    "60,000 by 60,000": Hostile(image=jpeg(60_000, 60_000)),
    # What is cut off begins like a whole picture, and is harmless as it is.
    "cut png": Hostile(image=_PNG[:40], called=b"image/png", is_picture=None),
    "cut webp": Hostile(image=_WEBP[:25], called=b"image/webp", is_picture=None),
    "cut jpeg": Hostile(image=_JPEG[:40], is_picture=None),
}
# Where a file lies about a picture, some readers of tags do not see it, and that is all right.
_LIES: Final = {
    "jpeg called html": b"text/html",
    "jpeg called svg": b"image/svg+xml",
    "jpeg with a header in its kind": b"image/jpeg\r\nX-Pwn: 1\r\n\r\n<script>ran(1)</script>",
}
_PICTURES: Final = {
    "jpeg": Hostile(image=_JPEG),
    "jpeg with html behind": Hostile(image=_JPEG + HTML),
    "jpeg with html inside": Hostile(image=jpeg_with_comment(HTML)),
    "jpeg with a script inside": Hostile(image=jpeg_with_comment(b"*/=1;ran(1);/*")),
    "jpeg with an archive behind": Hostile(image=_JPEG + b"PK\3\4" + bytes(60) + HTML),
    "png with text": Hostile(image=png_with((b"tEXt", b"Comment\0" + HTML)), called=b"image/png"),
    "png with html behind": Hostile(image=_PNG + HTML, called=b"image/png"),
    "png with private chunks": Hostile(
        image=png_with((b"pwNd", HTML), (b"iTXt", b"XML:com\0" + SVG))
    ),
    "webp with odd chunks": Hostile(
        image=webp_with((b"XMP ", SVG), (b"pwnd", HTML), (b"EXIF", SCRIPT))
    ),
    "webp with html behind": Hostile(image=_WEBP + HTML, called=b"image/webp"),
}
HOSTILE: Final = {
    **_FAKES,
    **{
        name: Hostile(image=_JPEG, called=called, is_picture=None) for name, called in _LIES.items()
    },
    **{
        name: Hostile(image=one.image, called=one.called, is_picture=True)
        for name, one in _PICTURES.items()
    },
}


def tagged(sound: bytes, title: str, one: Hostile) -> bytes:
    """Return an mp3 with a title and the picture inside, under the name that it claims."""
    return id3((b"TIT2", b"\0" + title.encode("latin-1")), apic(one.image, one.called)) + sound

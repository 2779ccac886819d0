"""Tags and pictures written by hand: what a hostile file may carry beside its sound."""

from __future__ import annotations

import struct
import zipfile
import zlib
from io import BytesIO

BLOCK = 10_000_000


def id3(*frames: bytes, padding: int = 0, version: int = 3) -> bytes:
    """Return an ID3 tag that claims `padding` bytes after its frames; the caller adds them."""
    body = b"".join(frames)
    return b"ID3" + bytes([version, 0, 0]) + synchsafe(len(body) + padding) + body


def frame(name: bytes, content: bytes, *, claimed: int | None = None) -> bytes:
    """Return one frame of an ID3 tag of version 2.3; `claimed` is the length it says it has."""
    length = len(content) if claimed is None else claimed
    return name + struct.pack(">IH", length, 0) + content


def packed_frame(name: bytes, content: bytes, *, claimed: int) -> bytes:
    """Return a compressed frame of an ID3 tag of version 2.4 that claims to unpack to much.

    The length is a plain number, as decoders read it, rather than what the standard says.
    """
    inside = struct.pack(">I", claimed) + content
    return name + synchsafe(len(inside)) + struct.pack(">H", 0x0009) + inside


def text(name: bytes, content: str, *, encoding: str = "utf-16") -> bytes:
    """Return a text frame, in UTF-16 with a byte order mark or in Latin-1."""
    mark = {"utf-16": b"\x01", "latin-1": b"\x00"}[encoding]
    return frame(name, mark + content.encode(encoding, "surrogatepass"))


def picture(content: bytes, media_type: bytes = b"image/png", *, more: int = 0) -> bytes:
    """Return a picture frame; `more` is how many bytes it claims that the caller adds."""
    inside = b"\x00" + media_type + b"\x00\x03cover\x00" + content
    return frame(b"APIC", inside, claimed=len(inside) + more)


def synchsafe(number: int) -> bytes:
    """Return a number as ID3 writes it: four times seven bits."""
    return bytes(number >> shift & 0x7F for shift in (21, 14, 7, 0))


def zeros_packed(length: int) -> bytes:
    """Return a zlib stream of `length` zeros, a multiple of ten million, in no time.

    A block that ends with a full flush does not look back, so it may be repeated.
    """
    packer = zlib.compressobj(9)
    first = packer.compress(b"")
    block = first + packer.compress(bytes(BLOCK)) + packer.flush(zlib.Z_FULL_FLUSH)
    head, repeated = block[:2], block[2:]
    checksum = struct.pack(">I", (length % 65_521) << 16 | 1)
    return head + repeated * (length // BLOCK) + b"\x03\x00" + checksum


def png(width: int, height: int, packed: bytes) -> bytes:
    """Return a PNG, red, green, blue and alpha, whose pixels are the zlib stream `packed`."""
    size = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = [(b"IHDR", size), (b"IDAT", packed), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + checksum


def jpeg(width: int, height: int) -> bytes:
    """Return the header of a JPEG of this size, and no picture."""
    size = struct.pack(">BHHB", 8, height, width, 3) + b"\x01\x22\x00\x02\x11\x01\x03\x11\x01"
    start = b"\x03\x01\x00\x02\x11\x03\x11\x00\x3f\x00"
    return b"\xff\xd8\xff\xc0" + _segment(size) + b"\xff\xda" + _segment(start) + b"\x00\xff\xd9"


def _segment(content: bytes) -> bytes:
    return struct.pack(">H", len(content) + 2) + content


def zip_bomb() -> bytes:
    """Return a zip file of a hundred million zeros, in ten files, itself zipped again."""
    inner = BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(10):
            archive.writestr(f"{number}.bin", bytes(BLOCK // 10))
    outer = BytesIO()
    with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(10):
            archive.writestr(f"{number}.zip", inner.getvalue())
    return outer.getvalue()

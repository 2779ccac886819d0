"""The sound and the picture of a song, ready to be sent; converted or made small if needed.

A file is opened by its path once, beneath the library's folder and without following any link;
everything afterwards uses the opened file. Work that takes time is done by other threads: then a
future comes back instead of an answer, and the caller asks again when it is done.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from bandstand.errors import UnreadableAudioError
from bandstand.media.conversion import OPUS, Conversions, Target, request_for
from bandstand.media.covers import SHOWN, Covers, Picture
from bandstand.media.file_cache import FileCache
from bandstand.media.probe_pool import ProbePool
from bandstand.music.audio.source import Source, behind_tag, certain_format, tag_size
from bandstand.music.library.content import open_beneath
from bandstand.store.songs.songs import SongRecord

_MEGABYTE: Final = 1_000_000
_MAX_CODECS: Final = 50_000


class MissingFileError(UnreadableAudioError):
    """A song's file is not where it was, or may not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """The sound of a song, as an open file that the caller closes."""

    file: BinaryIO
    size: int
    media_type: str
    tag: str  # another for other bytes
    modified_ns: int  # when the song's own file was changed last
    is_converted: bool


class Media:
    """The sounds and pictures of a library; it may be shared by threads until `close`.

    `roots` are the library's folders, as real paths. A file that is in none of them is reached
    from the root of the file system, and still no link is followed.
    """

    def __init__(
        self,
        data_folder: Path,
        *,
        roots: Sequence[bytes] = (),
        conversion_cache_mb: int = 2_048,
        cover_cache_mb: int = 256,
    ) -> None:
        self._roots = tuple(roots)
        self._converted = FileCache(
            data_folder / "converted", limit=conversion_cache_mb * _MEGABYTE
        )
        pictures = FileCache(data_folder / "covers", limit=cover_cache_mb * _MEGABYTE)
        for cache in (self._converted, pictures):
            cache.clear_unfinished()
        self._probes = ProbePool()
        self._conversions = Conversions(self._converted)
        self._covers = Covers(pictures, self._probes)
        self._codecs: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        """End what is under way."""
        self._conversions.close()
        self._probes.close()

    def audio(self, song: SongRecord) -> Audio | Future[None]:
        """Return a song's sound, or what to wait for before asking again.

        MissingFileError where the file is gone, UnreadableAudioError where nothing in it can be
        played.
        """
        root = self.root_of(song.path)
        file = _opened(root, song.path)
        try:
            status = os.fstat(file.fileno())
            name = _name(song, status)
            verdict = self._codecs.get(name) or judged(file)
            if verdict == ASK:
                file.close()
                return self._ask_codec(name, song.path, root)
            if verdict == CONVERT:
                file.close()
                return self._from_cache(name, song.path, root, status, OPUS)
        except BaseException:
            file.close()
            raise
        return _audio(file, verdict, name, status, is_converted=False)

    def original(self, song: SongRecord, media_type: str) -> Audio:
        """Return a song's file as it is, whatever can play it."""
        file = _opened(self.root_of(song.path), song.path)
        try:
            status = os.fstat(file.fileno())
            return _audio(file, media_type, _name(song, status), status, is_converted=False)
        except BaseException:
            file.close()
            raise

    def converted(self, song: SongRecord, target: Target) -> Audio | Future[None]:
        """Return a song's sound in another form, or what to wait for before asking again."""
        root = self.root_of(song.path)
        with _opened(root, song.path) as file:
            status = os.fstat(file.fileno())
        return self._from_cache(_name(song, status), song.path, root, status, target)

    def cover(self, song: SongRecord, side: int | None) -> Picture | Future[None] | None:
        """Return a song's cover, None if it has none, or what to wait for before asking again.

        `side` is one of `covers.SIDES`, or None for the picture as it is.
        """
        root = self.root_of(song.path)
        with _opened(root, song.path) as file:
            name = _name(song, os.fstat(file.fileno()))
        return self._covers.picture(name, song.path, root, side)

    def has_cover(self, song: SongRecord) -> bool:
        """Return whether there seems to be a cover, inside the song's file or beside it."""
        if song.tags.cover in SHOWN:
            return True
        return self._covers.is_beside(song.path, self.root_of(song.path))

    def root_of(self, path: bytes) -> bytes:
        """Return the folder beneath which a file of the library is opened."""
        inside = (root for root in self._roots if path.startswith(root.rstrip(b"/") + b"/"))
        return next(inside, b"/")

    def _ask_codec(self, name: str, path: bytes, root: bytes) -> Future[None]:
        done: Future[None] = Future()
        looked = self._probes.ask(request_for(path, root) | {"do": "codec"})
        looked.add_done_callback(lambda answer: self._keep_codec(name, answer, done))
        return done

    def _keep_codec(self, name: str, answer: Future[dict[str, Any]], done: Future[None]) -> None:
        problem = answer.exception()
        if problem is not None and not isinstance(problem, UnreadableAudioError):
            done.set_exception(problem)
            return
        # What cannot even be looked into is for a conversion to refuse, which remembers it.
        found = {} if problem is not None else answer.result()
        verdict = judged_codec(str(found.get("container")), str(found.get("codec")))
        with self._lock:
            self._codecs[name] = verdict
            while len(self._codecs) > _MAX_CODECS:
                self._codecs.popitem(last=False)
        done.set_result(None)

    def _from_cache(
        self, name: str, path: bytes, root: bytes, status: os.stat_result, target: Target
    ) -> Audio | Future[None]:
        kept = name if target == OPUS else f"{name}-{target.form}-{target.kilobits or 0}"
        file = self._converted.open(kept)
        if file is None:
            return self._conversions.wanted(kept, path, root, target)
        tag, kind = f"{kept}-{target.form}", CONVERTED_TYPES[target.form]
        return _audio(file, kind, tag, status, is_converted=True)


def _opened(root: bytes, path: bytes) -> BinaryIO:
    try:
        return open_beneath(root, path)
    except UnreadableAudioError as problem:
        raise MissingFileError(str(problem)) from problem


def _name(song: SongRecord, status: os.stat_result) -> str:
    """Return a name for the content of a song's file as it is now.

    The fingerprint alone is not enough: the file may have been changed since the last scan.
    """
    return f"{song.fingerprint}-{status.st_size:x}-{status.st_mtime_ns % 2**64:x}"


def _audio(
    file: BinaryIO, media_type: str, tag: str, status: os.stat_result, *, is_converted: bool
) -> Audio:
    return Audio(
        file=file,
        size=os.fstat(file.fileno()).st_size,
        media_type=media_type,
        tag=tag,
        modified_ns=status.st_mtime_ns,
        is_converted=is_converted,
    )


# ── Formats that browsers play, by the first bytes of a file ───────────────────────────

#     MP3, FLAC, WAV with plain samples, Ogg with Vorbis, Opus or FLAC, AAC    play
#     MP4 and Matroska or WebM                                                 depends on the codec
#     all others: ALAC, AIFF, WMA, Monkey's Audio, tracker modules …           do not
#
# The name of a file counts for nothing. Only a limited child looks deeper.


# The codec decides, and only a child can tell it.
ASK: Final = "ask"
CONVERT: Final = "convert"
CONVERTED_TYPES: Final = {"opus": "audio/ogg", "mp3": "audio/mpeg"}

_OGG_CODECS: Final = (b"\x01vorbis", b"OpusHead", b"\x7fFLAC")
_PLAIN_SAMPLES: Final = frozenset({1, 3})  # whole numbers, floats
_EXTENSIBLE: Final = 0xFFFE
# By ffmpeg's names, the first of a container's names.
_BY_CODEC: Final[Mapping[str, Mapping[str, str]]] = {
    "mov": {"aac": "audio/mp4", "mp3": "audio/mp4", "mp3float": "audio/mp4", "opus": "audio/mp4"},
    "matroska": {"opus": "audio/webm", "vorbis": "audio/webm"},
}

# A media type, ASK or CONVERT.
Verdict = str


def judged(file: BinaryIO) -> Verdict:
    """Return the media type of a file that browsers play, or ASK, or CONVERT."""
    source = Source(file)
    head = source.head(64)
    match certain_format(source):
        case "flac" if head.startswith(b"fLaC"):
            return "audio/flac"
        case "ogg" if _ogg_content(head).startswith(_OGG_CODECS):
            return "audio/ogg"
        case "wav" if _has_plain_samples(head):
            return "audio/wav"
        case "mov" | "matroska":
            return ASK
        case "mp3" | "aac" | None:
            return _mpeg(behind_tag(source, 4) if tag_size(head) else head)
        case _:
            return CONVERT


def judged_codec(container: str, codec: str) -> Verdict:
    """Return the media type of a container with such a codec, or CONVERT.

    >>> judged_codec("mov,mp4", "aac"), judged_codec("mov,mp4", "alac")
    ('audio/mp4', 'convert')
    """
    return _BY_CODEC.get(container.partition(",")[0], {}).get(codec, CONVERT)


def _ogg_content(head: bytes) -> bytes:
    """Return the beginning of what is in the first page."""
    return head[27 + head[26] :] if len(head) > 26 else b""


def _has_plain_samples(head: bytes) -> bool:
    if head[12:16] != b"fmt ":
        return False
    kind = int.from_bytes(head[20:22], "little")
    if kind == _EXTENSIBLE:
        kind = int.from_bytes(head[44:46], "little")
    return kind in _PLAIN_SAMPLES


def _mpeg(start: bytes) -> Verdict:
    """Return what frames that begin like this are: MP3, AAC, or something to be converted."""
    if len(start) < 2 or start[0] != 0xFF or start[1] & 0xE0 != 0xE0:
        return CONVERT
    if start[1] & 0xF6 == 0xF0:
        return "audio/aac"
    is_layer_three = start[1] & 0x06 == 0x02
    return "audio/mpeg" if is_layer_three else CONVERT

"""Covers: the picture inside a song's file, then one beside it, found by `media_task` in a child.

Nothing of a picture is decoded here. What comes back from the child is believed to be a picture
only if it begins like one that browsers merely show.
"""

import os
import posixpath
import threading
import time
from base64 import b64decode
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from bandstand.errors import BandstandError, UnreadableAudioError
from bandstand.media.conversion import BusyError, request_for
from bandstand.media.file_cache import FileCache
from bandstand.media.probe_pool import ProbePool
from bandstand.music.audio.source import checked_picture, media_type
from bandstand.music.library.content import open_beneath

SIDES: Final = (64, 256, 512)  # pixels
MAX_BYTES: Final = 5_000_000  # bytes of a picture that is sent as it is
SHOWN: Final = frozenset({"image/jpeg", "image/png", "image/webp"})
# Pictures that people and programs put beside the songs of an album.
_STEMS: Final = ("cover", "folder", "front", "album")
_ENDINGS: Final = (".jpg", ".jpeg", ".png", ".webp")
NAMES_BESIDE: Final = frozenset(stem + ending for stem in _STEMS for ending in _ENDINGS)
_BEGINNING: Final = 500_000  # bytes in which a picture says how large it is
_REMEMBERED_SECONDS: Final = 300.0
_MAX_REMEMBERED: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture that a browser can only show."""

    media_type: str
    content: bytes
    tag: str  # another for another picture


class Covers:
    """Covers by song, made once and kept in a cache; shared by threads."""

    def __init__(self, cache: FileCache, probes: ProbePool) -> None:
        self._cache = cache
        self._probes = probes
        self._lock = threading.Lock()
        self._without = _Memory()
        self._folders = _Memory()
        self._under_way: dict[str, Future[None]] = {}

    def picture(
        self, name: str, path: bytes, root: bytes, side: int | None
    ) -> Picture | Future[None] | None:
        """Return a song's cover, None if it has none, or what to wait for before asking again.

        `name` says which content is at `path`; `side` is one of SIDES, None for as it is.
        """
        key = f"{name}-{side or 'original'}"
        file = self._cache.open(key)
        if file is not None:
            with file:
                return _checked(file.read(MAX_BYTES + 1), key)
        with self._lock:
            if self._without.get(key) is not None:
                return None
            if key in self._under_way:
                return self._under_way[key]
            done = self._under_way[key] = Future()
        self._look(key, path, root, side, done)
        return done

    def is_beside(self, path: bytes, root: bytes) -> bool:
        """Return whether a picture that can be shown lies in the folder of a song."""
        folder = posixpath.dirname(path)
        with self._lock:
            known: bool | None = self._folders.get(folder)
        if known is None:
            places = (posixpath.join(folder, name) for name in _pictures_in(folder))
            known = any(_seems_shown(root, place) for place in places)
            with self._lock:
                self._folders.put(folder, known)
        return known

    def _look(
        self, key: str, path: bytes, root: bytes, side: int | None, done: Future[None]
    ) -> None:
        names = [name.decode("latin-1") for name in _pictures_in(posixpath.dirname(path))]
        wanted = {"do": "cover", "names": names, "side": side, "most": MAX_BYTES}
        try:
            looked = self._probes.ask(request_for(path, root) | wanted)
        except BusyError as problem:
            self._finish(key, done, problem)
        else:
            looked.add_done_callback(lambda answer: self._keep(key, answer, done))

    def _keep(self, key: str, answer: Future[dict[str, Any]], done: Future[None]) -> None:
        """Write the picture down, or remember that there is none."""
        try:
            picture = _checked(_image(answer.result()), key)
            if picture is not None:
                with self._cache.writing(key) as file:
                    file.write(picture.content)
        except UnreadableAudioError:
            picture = None
        except Exception as problem:  # noqa: BLE001 - it is for the caller
            self._finish(key, done, problem)
            return
        if picture is None:
            with self._lock:
                self._without.put(key, "no cover")
        self._finish(key, done, None)

    def _finish(self, key: str, done: Future[None], problem: BaseException | None) -> None:
        with self._lock:
            self._under_way.pop(key, None)
        if problem is None:
            done.set_result(None)
        else:
            done.set_exception(problem)


def _pictures_in(folder: bytes) -> list[bytes]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    fitting = [name for name in names if name.decode("latin-1").lower() in NAMES_BESIDE]
    return sorted(fitting, key=lambda name: (_STEMS.index(_stem(name)), name))


def _seems_shown(root: bytes, path: bytes) -> bool:
    """Return whether a file begins like a picture that is shown, whatever it is called."""
    try:
        with open_beneath(root, path) as file:
            checked_picture(file.read(_BEGINNING))
    except BandstandError:
        return False
    return True


def _stem(name: bytes) -> str:
    return name.decode("latin-1").lower().partition(".")[0]


def _image(answer: dict[str, Any]) -> bytes:
    image = answer.get("image")
    try:
        return b64decode(image, validate=True) if isinstance(image, str) else b""
    except ValueError:
        return b""


def _checked(content: bytes, key: str) -> Picture | None:
    kind = media_type(content)
    if kind is None or len(content) > MAX_BYTES:
        return None
    return Picture(media_type=kind, content=content, tag=key)


class _Memory:
    """The latest few thousand findings, for a while."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, tuple[float, Any]] = OrderedDict()

    def get(self, key: Any) -> Any:
        until, value = self._found.get(key, (0.0, None))
        return value if time.monotonic() < until else None

    def put(self, key: Any, value: Any) -> None:
        self._found[key] = time.monotonic() + _REMEMBERED_SECONDS, value
        self._found.move_to_end(key)
        while len(self._found) > _MAX_REMEMBERED:
            self._found.popitem(last=False)

"""A radio in which everything that can have a name has a hostile one.

    with hostile_radio(tmp_path) as world:
        world.server.address, world.songs[17]     # the song whose title is PAYLOADS[17]

Ann, an administrator, has heard and rated every song, and has a playlist by every name. Ben has
banned every name there is, as an artist, an album, a genre, so he hears only songs that have none.
The songs are real files; what their tags would say is written straight into the store, since
reading them takes a while. Some are left to the scanner, for the whole way from a tag to the page.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.errors import BandstandError
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.audio.tags import clean
from bandstand.music.catalogue.refresh import refreshed
from bandstand.store import accounts, playlists, sessions
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from bandstand.store.songs.save_analysis import record_analyses, record_problem
from bandstand.types import Analysis, Tags, frozen
from benchmarks.fixtures.songs import FOR_EVER, NOW
from tests.music.audio.audio_files import make
from tests.page.payloads import PAYLOADS, UNCLEAN
from tests.web.serving import HASH, prepared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx
    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store
    from tests.web.serving import Server

# Songs by the scanner: of every kind of trouble some, and all that tags should never hold.
SCANNED: Final = (*PAYLOADS[::29], *UNCLEAN)
FAILING: Final = PAYLOADS[::41]
_NOWHERE: Final = b"/nowhere/"  # files that failed once, in a folder that is not there now
_LONGEST_FILE_NAME: Final = 240  # bytes
_PATIENCE: Final = 120.0  # seconds
_DAY: Final = 86_400_000  # milliseconds


def file_name(payload: str) -> str:
    """Return a payload as the name of a file: with everything in it that a disk allows."""
    allowed = payload.replace("/", "\N{DIVISION SLASH}").replace("\0", "")
    return allowed.encode()[:_LONGEST_FILE_NAME].decode(errors="ignore")


FILE_NAMES: Final = tuple(dict.fromkeys(map(file_name, (*PAYLOADS, *UNCLEAN))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """The radio, and what is called how."""

    server: Server
    songs: tuple[str, ...]  # ids, by the payload that is the title
    named_by_file: tuple[str, ...]  # ids of songs without any tag
    playlist: str  # the id of one with all songs in it
    playlists: tuple[str, ...]  # names
    people: tuple[str, ...]


def artist_of(number: int) -> str:
    """Return the artist of a song, whose title is another payload."""
    return PAYLOADS[(number + 50) % len(PAYLOADS)]


def album_of(number: int) -> str:
    """Return the album of a song."""
    return PAYLOADS[(number + 100) % len(PAYLOADS)]


def genre_of(number: int) -> str:
    """Return the genre of a song."""
    return PAYLOADS[(number + 150) % len(PAYLOADS)]


def scanned(client: httpx.Client) -> None:
    """Wait until the library has been read."""
    until = time.monotonic() + _PATIENCE
    while True:
        progress = client.get("/api/admin/scan").json()
        if progress["state"] == "idle" and progress["finished_at"] is not None:
            return
        assert time.monotonic() < until, progress
        time.sleep(0.05)


@contextmanager
def hostile_radio(home: Path, *, read_all: bool = False) -> Iterator[Hostile]:
    """Give the radio while it runs; with `read_all` every tag is read by the scanner."""
    library, place = home / "library", home / "store"
    library.mkdir()
    place.mkdir()
    server = prepared(place, folders=[library])
    try:
        with open_store(server.store) as store:
            songs, others = _add_songs(store, library, read_all=read_all)
            _add_failures(store, library)
            people = _add_people(store)
            named, whole = _add_playlists(store, server.ids["ann"], songs)
            _add_log(store, server.ids["ann"], server.ids["ben"], songs)
        server.start()
        scanned(server.client("ann"))
        yield Hostile(
            server=server,
            songs=songs,
            named_by_file=others,
            playlist=whole,
            playlists=named,
            people=people,
        )
    finally:
        server.close()


def _add_songs(
    store: Store, library: Path, *, read_all: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of the songs with titles and of those without."""
    sound = make(library / "quiet.flac", samples=np.zeros(40 * 16_000), rate=16_000).read_bytes()
    _leave_some_to_the_scanner(library)
    known, unnamed = [], []
    for number in range(len(PAYLOADS)):
        path = library / f"{number:03}.flac"
        if read_all:
            _make_tagged(path, number)
        else:
            path.write_bytes(sound)
        known.append((os.fsencode(path), _known(path, number, read_all=read_all)))
    for number, name in enumerate(FILE_NAMES):
        path = library / f"{name}.flac"
        path.write_bytes(sound)
        unnamed.append((os.fsencode(path), analysis_of(path, Tags(), 1_000 + number)))
    with store.writing() as connection:
        found = [
            tuple(one.song_id for one in record_analyses(connection, some, scan=0, now=NOW))
            for some in (known, unnamed)
        ]
    refreshed(store, now=NOW)
    return found[0], found[1]


def _leave_some_to_the_scanner(library: Path) -> None:
    every = ("title", "artist", "album", "genre", "comment", "lyrics", "composer")
    for number, payload in enumerate(SCANNED):
        tags = dict.fromkeys(every, payload.replace("\0", ""))
        make(library / f"scanned {number}.flac", seconds=1 + number / 10, tags=tags)


def _make_tagged(path: Path, number: int) -> None:
    """Write a file with its hostile tags inside."""
    tags = _tags(number)
    names = ("title", "artist", "album", "album_artist", "genre")
    inside = {name: str(getattr(tags, name)) for name in names}
    make(path, seconds=1 + number / 100, tags={**inside, "comment": str(tags.title)})


def _known(path: Path, number: int, *, read_all: bool) -> Analysis:
    """Return what the store is told of a file; where it is to be read, it is an older one."""
    if not read_all:
        return analysis_of(path, _tags(number), number)
    found = analysis_of(path, Tags(title="not read yet"), number)
    return replace(found, modified_ns=found.modified_ns - 1)


def _tags(number: int) -> Tags:
    return Tags(
        title=PAYLOADS[number],
        artist=artist_of(number),
        album=album_of(number),
        album_artist=artist_of(number),
        genre=genre_of(number),
        year=1970,
    )


def analysis_of(path: Path, tags: Tags, seed: int) -> Analysis:
    """Return what might have been found in a file that is there."""
    status = path.stat()
    return Analysis(
        tags=tags,
        duration=40.0,
        descriptors=frozen(np.random.default_rng([5, seed]).normal(size=159)),
        version=VERSION,
        fingerprint=f"{seed:032x}",
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
    )


def _add_failures(store: Store, library: Path) -> None:
    """Let files of every name have failed, and some be there for the scanner to fail with."""
    for payload in FAILING:
        (library / f"failing {file_name(payload)}.mp3").write_bytes(b"<script>ran(1)</script>" * 99)
    with store.writing() as connection:
        for payload in PAYLOADS:
            record_problem(
                connection,
                _NOWHERE + payload.encode().rstrip(b"/"),
                size=1,
                modified_ns=1,
                reason=f"expected sound, got {payload}",
                version=VERSION,
                scan=0,
            )


def _add_people(store: Store) -> tuple[str, ...]:
    names: list[str] = []
    with store.writing() as connection:
        for payload in PAYLOADS:
            name = payload[: accounts.MAX_NAME_CHARS].strip()
            if _can_be(accounts.checked_name, name) and _is_new(connection, name):
                role: accounts.Role = "admin" if len(names) % 3 == 0 else "listener"
                accounts.create(connection, name=name, role=role, password_hash=HASH, now=NOW)
                names.append(name)
    return tuple(names)


def _add_playlists(
    store: Store, account: str, songs: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    names: list[str] = []
    with store.writing() as connection:
        for payload in PAYLOADS:
            name = payload[: playlists.MAX_NAME_CHARS].strip()
            if _can_be(playlists.checked_name, name):
                playlists.create(
                    connection, account=account, name=name, songs=songs[:1], now=NOW + len(names)
                )
                names.append(name)
        whole = playlists.create(
            connection, account=account, name=PAYLOADS[0], songs=songs, now=NOW + len(names)
        )
    return tuple(names), whole.id


def _add_log(store: Store, ann: str, ben: str, songs: tuple[str, ...]) -> None:
    """Let Ann have rated all songs, Ben have banned all names; both have devices of any name."""
    scopes: tuple[events.Scope, ...] = ("artist", "album", "genre")
    with store.writing() as connection:
        for number, (song, payload) in enumerate(zip(songs, PAYLOADS, strict=True)):
            at = NOW + number * _DAY
            said = {"kind": "rating", "song": song, "stars": 1 + number % 5}
            _append(connection, ann, f"r{number}", at, **said)
            rule = {"kind": "ban", "scope": scopes[number % 3], "target": payload}
            _append(connection, ben, f"b{number}", at, **rule)
            sessions.create(
                connection, account=ann, now=NOW, expires_at=FOR_EVER, client=payload[:200]
            )


def _append(connection: Connection, account: str, key: str, at: int, **said: Any) -> None:
    events.append(connection, events.NewEvent(account=account, key=key, **said), now=at)


def _can_be(checked: Any, name: str) -> bool:
    try:
        return bool(checked(name) == name)
    except BandstandError:
        return False


def _is_new(connection: Connection, name: str) -> bool:
    return accounts.by_name(connection, name) is None


def as_tag(payload: str) -> str:
    """Return what is left of a payload that went through a tag."""
    return clean(payload) or ""

"""What the tests of the page have in common: a browser, a server with a little music."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from string import ascii_lowercase

import pytest
from playwright.sync_api import Browser

from bandstand._util.clock import system_clock
from bandstand.music.catalogue.refresh import refreshed
from bandstand.music.library.analysers import LocalAnalyser
from bandstand.music.library.scan import scan
from bandstand.music.library.walk import library_roots
from bandstand.store.accounts import Role
from bandstand.store.database.connection import open_store
from tests.fixtures.browser.page_states import lived_in
from tests.fixtures.browser.visit import Watched, visit
from tests.fixtures.music.audio_files import make, picture
from tests.fixtures.web.servers import Server, serving

SONGS = 12
GENRES = ("Brass", "Waltz", "Tango")
QUIET_SONGS = 320
OTHERS = ("cat", "eve", "nell", "tess")


@pytest.fixture(scope="session")
def music(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dozen short songs, of which half have covers."""
    folder = tmp_path_factory.mktemp("music")
    for number in range(SONGS):
        tags = {
            "title": f"Song {number}",
            "artist": f"Band {number % 4}",
            "album": f"Album {number % 3}",
            "genre": GENRES[number % 3],
            "date": str(1990 + number),
        }
        cover = picture("png", width=64, height=64) if number % 2 else None
        make(folder / f"{number}.flac", seconds=6 + number / 10, tags=tags, cover=cover)
    return folder


@pytest.fixture(scope="session")
def home_with(music: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that returns a new home for a server, in which that folder was read before."""
    first = tmp_path_factory.mktemp("read")
    with open_store(str(first / "radio.db")) as store:
        with LocalAnalyser() as analyser:
            scan(store, library_roots([music]), analyser, now=system_clock)
        refreshed(store, now=system_clock())

    def home(name: str) -> Path:
        return Path(shutil.copytree(first, tmp_path_factory.mktemp(name), dirs_exist_ok=True))

    return home


@pytest.fixture(scope="session")
def server(music: Path, home_with: Callable[[str], Path]) -> Iterator[Server]:
    """The radio on the air with that folder, all of it read; a start takes seconds.

    Ann is its admin, ben listens, and so do many others, each of whom is in one test only.
    """
    names: dict[str, Role] = dict.fromkeys(["ben", *OTHERS, *ascii_lowercase], "listener")
    with serving(home_with("home"), folders=[music], names={"ann": "admin", **names}) as found:
        found.wait_for_songs(SONGS)
        yield found


@pytest.fixture(scope="session")
def quiet_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The radio with many songs that have no sound: quick, for everything but playing.

    Ten to an album, twenty to an artist; they are more than are fetched at once.
    """
    names: dict[str, Role] = {"ann": "admin", "ben": "listener", "cat": "listener"}
    with serving(tmp_path_factory.mktemp("home"), invented=QUIET_SONGS, names=names) as found:
        yield found


@pytest.fixture(scope="session")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A radio that ann has lived with for a while."""
    with lived_in(tmp_path_factory.mktemp("lived")) as found:
        yield found


@pytest.fixture(scope="session")
def new(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A radio that has no account yet."""
    with serving(tmp_path_factory.mktemp("new"), invented=1, names={}) as found:
        yield found


@pytest.fixture
def ben(chromium: Browser, server: Server) -> Iterator[Watched]:
    """A tab in which ben is logged in; at the end the page must not have complained."""
    with visit(chromium, server, "ben") as watched:
        yield watched
    assert watched.complaints == []


@pytest.fixture
def ann(chromium: Browser, server: Server) -> Iterator[Watched]:
    """The same for ann, the admin."""
    with visit(chromium, server, "ann") as watched:
        yield watched
    assert watched.complaints == []

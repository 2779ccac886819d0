"""No byte from outside the library is ever sent (PROMISES D7, E5)."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from bandstand.media import media as media_module
from bandstand.web import app as app_module
from tests.fixtures.music.audio_files import make
from tests.fixtures.music.link_swapper import swapping
from tests.fixtures.web import naive_client as naive
from tests.fixtures.web.libraries import library_world
from tests.fixtures.web.requests import Client
from tests.fixtures.web.traversal import traversals
from tests.fixtures.web.worlds import World

Traversed = tuple[World, Client, list[str]]

STEP = 25  # of so many hostile names one is tried
SECRET = b"ID3\x03\0\0\0\0\0\0\xff\xfb a secret from outside the library"


def make_places(folder: Path) -> tuple[Path, Path]:
    """Return a library with one song, and a folder outside with its like: a secret."""
    library, outside = folder / "library", folder / "outside"
    for place in (library, outside):
        (place / "album").mkdir(parents=True)
    make(library / "album" / "song.mp3", seconds=0.5)
    (outside / "album" / "song.mp3").write_bytes(SECRET)
    return library, outside


def leaks(world: World, listener: Client, *, tries: int) -> int:
    """Return how many of so many answers have something of the secret in them."""
    song = world.songs[0]
    found = 0
    for _ in range(tries):
        answer = listener.ask("GET", f"/api/songs/{song}/audio")
        assert answer.status in {200, 404}
        found += SECRET in answer.body
    return found


@pytest.mark.parametrize("tries", [200, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("swapped", ["album", "album/song.mp3"])
def test_nothing_outside_is_sent_while_names_are_swapped(
    tmp_path: Path, swapped: str, tries: int
) -> None:
    library, outside = make_places(tmp_path)
    with (
        library_world(tmp_path, library) as world,
        swapping(library / swapped, outside / swapped),
    ):
        assert leaks(world, world.listener(), tries=tries) == 0


def test_a_server_that_looks_before_it_opens_would_be_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, outside = make_places(tmp_path)

    def opened(root: bytes, path: bytes) -> BinaryIO:
        assert os.path.realpath(path).startswith(root + b"/")
        # Just now somebody swaps the file for a link.
        (library / "album" / "song.mp3").unlink()
        (library / "album" / "song.mp3").symlink_to(outside / "album" / "song.mp3")
        return open(path, "rb")

    with library_world(tmp_path, library) as world:
        monkeypatch.setattr(media_module, "open_beneath", opened)
        assert leaks(world, world.listener(), tries=1) == 1


def test_without_known_folders_no_link_is_followed_either(tmp_path: Path) -> None:
    library, outside = make_places(tmp_path)
    with library_world(tmp_path, library) as world:
        world.context.media._roots = ()  # type: ignore[union-attr]
        listener = world.listener()
        assert listener.ask("GET", f"/api/songs/{world.songs[0]}/audio").status == 200
        (library / "album").rename(library / "aside")
        (library / "album").symlink_to(outside / "album")
        assert leaks(world, listener, tries=1) == 0


# ── Paths in requests ────────────────────────────────────────────────────────────────────

TEMPLATES = (
    "/api/songs/{}",
    "/api/songs/{}/audio",
    "/api/songs/{}/cover",
    "/api/songs/SONG/cover?size={}",
    "/api/songs?q={}",
    "/api/songs?artist={}",
    "/api/songs?album={}",
    "/api/songs?genre={}",
    "/api/songs?after={}",
    "/api/playlist?count=1&song={}",
    "/api/playlist?count=1&artist={}",
    "/api/playlist?count=1&genre={}",
    "/api/playlist?count=1&format={}",
    "/api/playlist?count=1&after={}",
    "/api/playlist?count=1&paths={}",
    "/api/playlists/{}",
    "/api/playlists/PLAYLIST?format={}",
    "/static/{}",
    "/static/0/{}",
    "/{}",
)


@pytest.mark.parametrize("step", [STEP, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("template", TEMPLATES)
def test_no_path_in_a_request_leads_out_of_the_library(
    traversed: Traversed, template: str, step: int
) -> None:
    world, listener, names = traversed
    target = template.replace("SONG", world.songs[0])
    if "PLAYLIST" in target:
        saved = listener.ask("POST", "/api/playlists", json={"name": "mine", "songs": []})
        target = target.replace("PLAYLIST", saved.json()["id"])
    # Another part of the names for each parameter.
    for name in names[len(template) % step :: step]:
        answer = listener.ask("GET", target.format(name))
        assert answer.status < 500, (target, name)
        assert SECRET not in answer.body, (target, name)
        assert b"root:" not in answer.body, (target, name)


def test_no_path_in_a_body_leads_out_of_the_library(traversed: Traversed) -> None:
    _, listener, names = traversed
    for name in names[::STEP]:
        answer = listener.ask("POST", "/api/playlists", json={"name": "x", "songs": [name]})
        assert answer.status in {404, 422}
        assert SECRET not in answer.body


def test_there_are_five_hundred_such_names(tmp_path: Path) -> None:
    assert len(traversals(tmp_path / "secret")) >= 500


def test_a_server_that_takes_names_for_paths_would_be_caught(
    traversed: Traversed,
) -> None:
    world, _, names = traversed
    client = Client(app_module.create_app(world.context, [naive.router]), world.runner)
    assert any(SECRET in client.ask("GET", f"/static/{name}").body for name in names)


@pytest.fixture(scope="module")
def traversed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traversed]:
    folder = tmp_path_factory.mktemp("traversed")
    library, outside = make_places(folder)
    with library_world(folder, library) as world:
        listener = world.listener()
        yield world, listener, traversals(outside / "album" / "song.mp3")

"""Covers over HTTP: small or as they are, inert, and never decoded in the server (E13)."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bandstand.media import covers, probe_pool
from bandstand.music.audio.source import claimed_size
from tests.fixtures.music.audio_files import make, picture
from tests.fixtures.web.libraries import library_world, song_at
from tests.fixtures.web.requests import Answer, Client
from tests.fixtures.web.worlds import World

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    seconds = iter(0.3 + n / 100 for n in range(100))
    for name, codec in (("jpeg.mp3", "mjpeg"), ("png.flac", "png"), ("webp.m4a", "libwebp")):
        inside = picture(codec, width=600, height=300)
        make(folder / name, seconds=next(seconds), cover=inside)
    make(folder / "svg.mp3", seconds=next(seconds), cover=SVG)
    make(folder / "cut.mp3", seconds=next(seconds), cover=picture("png")[:40])
    make(folder / "none.mp3", seconds=next(seconds))
    beside = folder / "album"
    beside.mkdir()
    make(beside / "song.mp3", seconds=next(seconds))
    (beside / "Folder.JPG").write_bytes(picture("mjpeg", width=80, height=80))
    (beside / "cover.png").write_bytes(SVG)
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Iterator[World]:
    with library_world(tmp_path_factory.mktemp("world"), library) as made:
        yield made


@pytest.fixture(scope="module")
def listener(world: World) -> Client:
    return world.listener()


def cover(world: World, listener: Client, path: Path, size: object = None) -> Answer:
    query = "" if size is None else f"?size={size}"
    return listener.ask("GET", f"/api/songs/{song_at(world, path)}/cover{query}")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("jpeg.mp3", "image/jpeg"), ("png.flac", "image/png"), ("webp.m4a", "image/webp")],
)
def test_a_cover_is_sent_as_it_is_or_small(
    world: World, listener: Client, library: Path, name: str, kind: str
) -> None:
    original = cover(world, listener, library / name)
    assert (original.status, original.header("content-type")) == (200, kind)
    assert claimed_size(original.body) == (600, 300)
    for side in covers.SIDES:
        for _ in range(2):  # made, and then kept
            small = cover(world, listener, library / name, side)
            assert (small.status, small.header("content-type")) == (200, "image/jpeg")
            assert claimed_size(small.body) == (side, side // 2)


def test_a_cover_is_inert(world: World, listener: Client, library: Path) -> None:
    answer = cover(world, listener, library / "jpeg.mp3")
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("content-security-policy") == "default-src 'none'; sandbox"
    assert str(answer.header("cache-control")).startswith("private")


@pytest.mark.parametrize(("name", "size"), [("cut", 64), ("svg", None), ("svg", 64)])
def test_what_is_damaged_or_no_picture_is_no_cover(
    world: World, listener: Client, library: Path, name: str, size: int | None
) -> None:
    """All that a cover may pretend to be: `tests/browser/test_hostile_covers.py`."""
    assert cover(world, listener, library / f"{name}.mp3", size).status == 404


def test_a_picture_beside_the_song_is_its_cover(
    world: World, listener: Client, library: Path
) -> None:
    path = library / "album" / "song.mp3"
    assert cover(world, listener, path).body == (library / "album" / "Folder.JPG").read_bytes()
    shown = listener.ask("GET", f"/api/songs/{song_at(world, path)}").json()["song"]
    assert shown["has_cover"] is True
    assert shown["cover"] == f"/api/songs/{shown['id']}/cover"


def test_a_link_beside_the_song_is_no_cover(tmp_path: Path) -> None:
    library, outside = tmp_path / "library", tmp_path / "outside.jpg"
    library.mkdir()
    make(library / "song.mp3", seconds=0.5)
    outside.write_bytes(picture("mjpeg"))
    (library / "cover.jpg").symlink_to(outside)
    with library_world(tmp_path, library) as world:
        assert cover(world, world.listener(), library / "song.mp3").status == 404


def test_a_song_without_a_picture_has_no_cover(
    world: World, listener: Client, library: Path
) -> None:
    assert cover(world, listener, library / "none.mp3").status == 404
    song = song_at(world, library / "none.mp3")
    shown = listener.ask("GET", f"/api/songs/{song}").json()["song"]
    assert (shown["has_cover"], shown["cover"]) == (False, None)


@pytest.mark.parametrize("size", ["0", "65", "-64", "64.0", "1e2", "9" * 30, "", "64%00", "x"])
def test_only_the_offered_sizes_are_made(
    world: World, listener: Client, library: Path, size: str
) -> None:
    assert cover(world, listener, library / "jpeg.mp3", size).status == 422


def test_who_has_the_cover_already_is_told_so(
    world: World, listener: Client, library: Path
) -> None:
    tag = cover(world, listener, library / "jpeg.mp3").header("etag")
    address = f"/api/songs/{song_at(world, library / 'jpeg.mp3')}/cover"
    answer = listener.ask("GET", address, headers={"if-none-match": str(tag)})
    assert (answer.status, answer.body) == (304, b"")
    head = listener.ask("HEAD", address)
    assert (head.status, head.body) == (200, b"")
    assert int(str(head.header("content-length"))) > 0


@pytest.mark.parametrize(("task", "size"), [("answer_with_a_page", None), ("fall_over", 64)])
def test_no_picture_is_decoded_in_the_server_and_no_child_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: Path, task: str, size: int | None
) -> None:
    """A decoder that was taken over may answer with a page instead of a picture."""
    own = tmp_path / "library"
    own.mkdir()
    shutil.copy2(library / "jpeg.mp3", own)
    monkeypatch.setattr(probe_pool, "TASK", f"tests.fixtures.web.bad_tasks:{task}")
    with library_world(tmp_path, own) as world:
        assert cover(world, world.listener(), own / "jpeg.mp3", size).status == 404

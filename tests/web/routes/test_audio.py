"""The sound of songs over HTTP: whole, in parts, converted, refused."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import pytest

from tests.fixtures.music.audio_files import make
from tests.fixtures.web.libraries import library_world, song_at
from tests.fixtures.web.range_cases import NOWHERE, expected, headers, seeded
from tests.fixtures.web.requests import HOST, Answer, Client
from tests.fixtures.web.worlds import World

DIRECT = {
    "a.mp3": "audio/mpeg",
    "a.flac": "audio/flac",
    "a.ogg": "audio/ogg",
    "a.opus": "audio/ogg",
    "a.wav": "audio/wav",
    "a.m4a": "audio/mp4",
    "a.webm": "audio/webm",
    "a.aac": "audio/aac",
}
CONVERTED = ("alac.m4a", "a.aiff", "a.wv")
CODECS = {"alac.m4a": "alac"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    for number, name in enumerate((*DIRECT, *CONVERTED)):
        tags = {"title": f"Song {number}", "artist": "Band"}
        make(folder / name, seconds=1 + number / 10, codec=CODECS.get(name), tags=tags)
    (folder / "liar.mp3").write_bytes((folder / "alac.m4a").read_bytes() + b"\0")
    make(folder / "broken.aiff", seconds=2.7)
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Iterator[World]:
    with library_world(tmp_path_factory.mktemp("world"), library) as made:
        yield made


@pytest.fixture(scope="module")
def listener(world: World) -> Client:
    return world.listener()


def audio(listener: Client, song: str, method: str = "GET", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return listener.ask(method, f"/api/songs/{song}/audio", headers=named)


@pytest.mark.parametrize("name", DIRECT)
def test_what_browsers_play_is_sent_as_it_is(
    world: World, listener: Client, library: Path, name: str
) -> None:
    answer = audio(listener, song_at(world, library / name))
    assert (answer.status, answer.header("content-type")) == (200, DIRECT[name])
    assert answer.body == (library / name).read_bytes()
    assert answer.header("content-length") == str(len(answer.body))
    assert answer.header("accept-ranges") == "bytes"


@pytest.mark.parametrize("name", [*CONVERTED, "liar.mp3"])
def test_what_browsers_cannot_play_is_sent_as_opus(
    world: World, listener: Client, library: Path, name: str
) -> None:
    answer = audio(listener, song_at(world, library / name))
    assert (answer.status, answer.header("content-type")) == (200, "audio/ogg")
    with av.open(BytesIO(answer.body), "r") as container:
        assert container.streams.audio[0].codec_context.name == "opus"
        seconds = sum(frame.samples for frame in container.decode(audio=0)) / 48_000
    with av.open(str(library / name)) as container:
        assert seconds == pytest.approx(float(container.duration or 0) / 1e6, abs=0.1)


def test_a_converted_song_has_parts_that_fit_together(
    world: World, listener: Client, library: Path
) -> None:
    song = song_at(world, library / "a.aiff")
    whole = audio(listener, song)
    size = len(whole.body)
    parts = [audio(listener, song, range=f"bytes={at}-{at + 999}") for at in range(0, size, 1_000)]
    assert {part.status for part in parts} == {206}
    assert {part.header("etag") for part in parts} == {whole.header("etag")}
    assert b"".join(part.body for part in parts) == whole.body


@pytest.mark.parametrize(
    ("seed", "tries"), [(1, 300), pytest.param(None, 10_000, marks=pytest.mark.long)]
)
def test_ranges_are_answered_with_the_right_bytes(
    world: World, listener: Client, library: Path, seed: int | None, tries: int
) -> None:
    path = library / "a.opus"
    content, song = path.read_bytes(), song_at(world, path)
    for header in headers(seeded(seed), len(content), tries):
        if not header.isascii() or not header.isprintable() or len(header) > 4_000:
            continue
        answer = audio(listener, song, range=header)
        wanted = expected(header, len(content)) if header else None
        if wanted is None:
            assert (answer.status, answer.body) == (200, content), header
        elif wanted == NOWHERE:
            assert (answer.status, answer.body) == (416, b""), header
            assert answer.header("content-range") == f"bytes */{len(content)}"
        else:
            first, last = wanted
            assert (answer.status, answer.body) == (206, content[first : last + 1]), header
            place = f"bytes {first}-{last}/{len(content)}"
            assert answer.header("content-range") == place


def test_a_head_says_how_much_there_is_and_sends_nothing(
    world: World, listener: Client, library: Path
) -> None:
    answer = audio(listener, song_at(world, library / "a.mp3"), "HEAD", range="bytes=0-9")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.header("content-length") == str((library / "a.mp3").stat().st_size)


def test_who_has_the_song_already_is_told_so(world: World, listener: Client, library: Path) -> None:
    song = song_at(world, library / "a.mp3")
    tag = audio(listener, song).header("etag")
    assert tag is not None
    answer = audio(listener, song, if_none_match=tag)
    assert (answer.status, answer.body, answer.header("content-length")) == (304, b"", None)
    assert audio(listener, song, if_range=tag, range="bytes=0-0").status == 206
    assert audio(listener, song, if_range='"x"', range="bytes=0-0").status == 200


def test_a_song_is_inert_and_private(world: World, listener: Client, library: Path) -> None:
    answer = audio(listener, song_at(world, library / "a.mp3"))
    assert answer.header("x-content-type-options") == "nosniff"
    assert "sandbox" in str(answer.header("content-security-policy"))
    assert str(answer.header("cache-control")).startswith("private")
    assert answer.header("content-disposition") == 'inline; filename="Band - Song 0.mp3"'


@pytest.mark.parametrize("song", ["0" * 16, "x", "..", "%00", "%ff", "%ed%a0%80", "a" * 3_000])
def test_a_song_that_is_none_is_not_found(listener: Client, song: str) -> None:
    assert audio(listener, song).status in {404, 422}


@contextmanager
def alone(folder: Path, song: Path) -> Iterator[tuple[Client, str, Path]]:
    """Give a listener, a song and its file, which is the only one of a library."""
    own = folder / "library" / song.name
    own.parent.mkdir()
    shutil.copy2(song, own)
    with library_world(folder, own.parent) as world:
        yield world.listener(), world.songs[0], own


def test_a_file_that_went_away_is_not_found_and_comes_back(tmp_path: Path, library: Path) -> None:
    with alone(tmp_path, library / "a.mp3") as (listener, song, own):
        own.rename(own.with_name("away"))
        answer = audio(listener, song)
        assert (answer.status, answer.code) == (404, "file_missing")
        assert "/" not in answer.json()["error"]["message"]
        own.with_name("away").rename(own)
        assert audio(listener, song).status == 200


def test_a_file_that_became_another_is_sent_as_it_is_now(tmp_path: Path, library: Path) -> None:
    with alone(tmp_path, library / "a.aiff") as (listener, song, own):
        before = audio(listener, song)
        make(own, seconds=4)
        after = audio(listener, song)
        assert len(after.body) > len(before.body)
        assert after.header("etag") != before.header("etag")


def test_what_cannot_be_converted_is_refused_with_the_reason(
    world: World, listener: Client, library: Path
) -> None:
    song = song_at(world, library / "broken.aiff")
    (library / "broken.aiff").write_bytes(b"FORM\0\0\0\x10AIFFnothing at all")
    for _ in range(2):  # the second time it is remembered
        answer = audio(listener, song)
        assert (answer.status, answer.code) == (415, "unplayable")
        assert "expected audio" in answer.json()["error"]["message"]


def test_an_empty_file_is_refused(tmp_path: Path, library: Path) -> None:
    with alone(tmp_path, library / "a.wav") as (listener, song, own):
        own.write_bytes(b"")
        assert audio(listener, song).status == 415


def test_who_hangs_up_leaves_no_file_open(world: World, listener: Client, library: Path) -> None:
    song = song_at(world, library / "a.wav")
    reads: list[int] = []

    async def hang_up() -> None:
        scope = listener._scope("GET", f"/api/songs/{song}/audio", _signed(listener))

        async def receive() -> Any:
            return {"type": "http.disconnect"} if reads else {"type": "http.request"}

        async def send(message: Any) -> None:
            reads.append(len(message.get("body", b"")))
            await asyncio.sleep(0.01)

        await world.app(scope, receive, send)

    before = _open_files(library)
    world.runner.run(hang_up())
    assert sum(reads) < (library / "a.wav").stat().st_size or len(reads) <= 3
    assert _open_files(library) == before == []


def test_no_more_than_a_block_is_held_at_once(
    world: World, listener: Client, library: Path
) -> None:
    song = song_at(world, library / "a.wav")
    blocks: list[int] = []

    async def read_all() -> None:
        scope = listener._scope("GET", f"/api/songs/{song}/audio", _signed(listener))

        async def receive() -> Any:
            await asyncio.sleep(60)

        async def send(message: Any) -> None:
            blocks.append(len(message.get("body", b"")))

        await world.app(scope, receive, send)

    world.runner.run(read_all())
    assert max(blocks) <= 1 << 17
    assert sum(blocks) == (library / "a.wav").stat().st_size


def _signed(client: Client) -> dict[str, str]:
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    return {"host": HOST, "cookie": cookie}


def _open_files(library: Path) -> list[str]:
    found = []
    for handle in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{handle}")
        except OSError:
            continue
        if target.startswith(str(library)):
            found.append(target)
    return found

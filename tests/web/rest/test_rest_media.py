"""Sound and covers for apps: as they are, or as the app wants them; a stream is no play."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import pytest

from bandstand.media.conversion import Target
from bandstand.music.audio.source import claimed_size
from bandstand.store.songs import songs
from bandstand.web.rest.media import target_for
from tests.fixtures.music.audio_files import make, picture
from tests.fixtures.web.libraries import library_world, song_at
from tests.fixtures.web.rest_apps import RestApp, rest_app
from tests.fixtures.web.worlds import World

KINDS = {"mp3": ("mp3", "mp3float"), "opus": ("ogg", "opus"), "flv": ("mp3", "mp3float")}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    make(folder / "a.flac", seconds=3.0, cover=picture("png", width=600, height=300))
    make(folder / "b.mp3", seconds=3.1)
    make(folder / "c.aiff", seconds=3.2)
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Iterator[World]:
    with library_world(tmp_path_factory.mktemp("world"), library) as made:
        yield made


@pytest.fixture(scope="module")
def app(world: World) -> RestApp:
    return rest_app(world)


@pytest.mark.parametrize(("name", "kind"), [("a.flac", "audio/flac"), ("c.aiff", "audio/aiff")])
@pytest.mark.parametrize("params", [{}, {"format": "raw", "maxBitRate": 32}, {"maxBitRate": 0}])
def test_a_song_is_sent_as_it_is(
    app: RestApp, world: World, library: Path, name: str, kind: str, params: dict[str, Any]
) -> None:
    song, content = f"tr-{song_at(world, library / name)}", (library / name).read_bytes()
    answer = app.send("stream", id=song, **params)
    assert (answer.status, answer.body) == (200, content)
    assert answer.header("content-type") == kind
    whole = app.send("download", id=song)
    assert whole.body == content
    assert str(whole.header("content-disposition")).startswith("attachment")
    target = f"/rest/stream?id={song}&apiKey={app.login['apiKey']}"
    part = app.client.ask("GET", target, headers={"Range": "bytes=4-9"})
    assert (part.status, part.body) == (206, content[4:10])
    assert world.log_length(app.account) == 0


@pytest.mark.parametrize("wanted", KINDS)
def test_a_song_is_converted_and_then_in_parts_too(
    app: RestApp, world: World, library: Path, wanted: str
) -> None:
    song = f"tr-{song_at(world, library / 'a.flac')}"
    answer = app.send("stream", id=song, format=wanted)
    container, codec = KINDS[wanted]
    with av.open(BytesIO(answer.body), "r") as sound:
        assert (sound.format.name, sound.streams.audio[0].codec_context.name) == (container, codec)
        assert sound.streams.audio[0].duration
        frames = list(sound.decode(audio=0))
        length = sum(frame.samples for frame in frames) / frames[0].sample_rate
    assert length == pytest.approx(3.0, abs=0.1)
    assert answer.header("content-length") == str(len(answer.body))
    small = app.send("stream", id=song, format=wanted, maxBitRate=48)
    assert len(small.body) < len(answer.body)


def test_what_is_small_enough_is_not_converted(world: World, library: Path) -> None:
    with world.store.reading() as connection:
        mp3 = songs.get(connection, song_at(world, library / "b.mp3"))
        flac = songs.get(connection, song_at(world, library / "a.flac"))
    assert mp3 is not None
    assert flac is not None
    assert target_for("mp3", 320, mp3) is None
    assert target_for(None, 320, mp3) is None
    assert target_for("mp3", 0, flac) == Target("mp3", 192)
    assert target_for(None, 48, flac) == Target("mp3", 48)
    assert target_for("ogg", 10, flac) == Target("opus", 32)
    assert target_for("opus", 200, mp3) == Target("opus", 128)


def test_a_cover_comes_by_any_id_in_any_size(app: RestApp, world: World, library: Path) -> None:
    song = app.call("getSong", id=f"tr-{song_at(world, library / 'a.flac')}")["song"]
    made = app.call("createPlaylist", name="x", songId=song["id"])["playlist"]
    for wanted in (song["id"], song["albumId"], song["artistId"], song["coverArt"], made["id"]):
        for size, side in ((1, 64), (200, 256), (512, 512), (2_000, 600), (None, 600)):
            answer = app.send("getCoverArt", id=wanted, **({} if size is None else {"size": size}))
            assert claimed_size(answer.body) == (side, side // 2)
            assert str(answer.header("content-type")).startswith("image/")
    assert app.code("getCoverArt", id=f"tr-{song_at(world, library / 'b.mp3')}") == 70
    assert app.code("getCoverArt", id="al-0000000000000000") == 70

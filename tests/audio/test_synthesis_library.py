from __future__ import annotations

import base64
import io
import json
import os
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np
import pytest

from bandstand.errors import InvalidInputError
from bandstand_demo import demo_library, library, pieces, render, writing
from bandstand_demo.covers import SIDE, cover
from bandstand_demo.library import MARKER, VERSION
from bandstand_demo.sound import RATE
from tests.children import started

if TYPE_CHECKING:
    from bandstand_demo import Piece
    from bandstand_demo.sound import Sound

FEW = 8
REAL = 4  # pieces that are really played; the others are a second of a sine
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a library of eight pieces, of one second each; workers know nothing of this."""
    monkeypatch.setattr(library, "pieces", lambda seed: pieces(seed)[:FEW])
    monkeypatch.setattr(writing, "render", short)
    monkeypatch.setattr(library, "usable_cores", lambda: 1)


def short(piece: Piece) -> Sound:
    time = np.arange(RATE) / RATE
    wave = 0.2 * np.sin(2 * np.pi * 10 * (20 + piece.number + piece.seed) * time)
    return np.stack([wave, wave]).astype(np.float32)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_file_says_what_it_is() -> None:
    piece = pieces(1)[0]
    sound = short(piece)
    data = writing.encoded(sound, piece)
    with av.open(io.BytesIO(data), "r") as container:
        stream = container.streams.audio[0]
        tags = {name.lower(): value for name, value in stream.metadata.items()}
        picture = next(iter(container.streams.video))
        frames = [frame.to_ndarray() for frame in container.decode(stream)]
    assert tags["title"] == piece.title
    assert tags["artist"] == piece.artist
    assert tags["album"] == piece.album
    assert tags["genre"] == piece.genre
    assert tags["date"] == str(piece.year)
    assert (tags.get("track") or tags["tracknumber"]) == str(piece.track)
    assert float(tags["replaygain_track_gain"].removesuffix(" dB")) == pytest.approx(-4.0, abs=1.5)
    assert float(tags["replaygain_track_peak"]) == pytest.approx(0.2, abs=0.001)
    assert (picture.codec_context.name, picture.width, picture.height) == ("png", SIDE, SIDE)
    decoded = np.concatenate(frames, axis=1).astype(np.float64)
    assert decoded.shape == sound.shape
    # The encoder keeps the sound: nine tenths of it at least.
    assert np.corrcoef(decoded[0, 2_000:-2_000], sound[0, 2_000:-2_000])[0, 1] > 0.9


def test_the_same_piece_is_the_same_bytes() -> None:
    piece = pieces(1)[3]
    assert writing.encoded(short(piece), piece) == writing.encoded(short(piece), piece)


def test_tracks_of_an_album_share_a_picture_and_albums_do_not() -> None:
    pictures = [
        base64.b64decode(writing.tags(piece, short(piece))["METADATA_BLOCK_PICTURE"])
        for piece in pieces(1)[:6]
    ]
    assert pictures[0] == pictures[1] == pictures[2] != pictures[3] == pictures[4] == pictures[5]


def test_a_cover_is_a_whole_png() -> None:
    data = cover(np.random.default_rng(4))
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(data) < 30_000
    place, kinds = 8, []
    while place < len(data):
        (length,) = struct.unpack_from(">I", data, place)
        body = data[place + 4 : place + 8 + length]
        assert struct.unpack_from(">I", data, place + 8 + length) == (zlib.crc32(body),)
        kinds.append(body[:4])
        place += 12 + length
    assert kinds == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]


@pytest.mark.usefixtures("few")
def test_a_library_is_made_once(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    paths = demo_library(tmp_path, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, FEW) for done in range(FEW + 1)]
    assert len(paths) == FEW
    for path, piece in zip(paths, pieces(1), strict=False):
        folder = tmp_path / piece.artist / piece.album
        assert path == folder / f"{piece.track:02} {piece.title}.opus"
        assert path.is_file()
    times = [path.stat().st_mtime_ns for path in paths]
    told.clear()
    assert demo_library(tmp_path, progress=lambda *now: told.append(now)) == paths
    assert told == [(FEW, FEW)]
    assert [path.stat().st_mtime_ns for path in paths] == times


@pytest.mark.usefixtures("few")
def test_what_is_missing_or_empty_is_made_again(tmp_path: Path) -> None:
    paths = demo_library(tmp_path)
    before = contents(tmp_path)
    paths[2].unlink()
    paths[5].write_bytes(b"")
    told: list[tuple[int, int]] = []
    demo_library(tmp_path, progress=lambda *now: told.append(now))
    assert told == [(6, FEW), (7, FEW), (8, FEW)]
    assert contents(tmp_path) == before


@pytest.mark.usefixtures("few")
def test_what_a_killed_run_left_is_cleared_away(tmp_path: Path) -> None:
    paths = demo_library(tmp_path)
    before = contents(tmp_path)
    left = paths[0].with_name(f".{paths[0].name}.123{writing.UNFINISHED}")
    left.write_bytes(b"half")
    paths[1].unlink()
    demo_library(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.usefixtures("few")
def test_another_seed_replaces_the_library_and_nothing_else(tmp_path: Path) -> None:
    mine = tmp_path / "Me" / "Mine" / "01 Song.opus"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"my own")
    first = demo_library(tmp_path, seed=1)
    second = demo_library(tmp_path, seed=2)
    assert mine.read_bytes() == b"my own"
    assert all(path.is_file() for path in second)
    assert not any(path.exists() for path in set(first) - set(second))
    assert set(tmp_path.rglob("*.opus")) == {mine, *second}


@pytest.mark.usefixtures("few")
def test_another_version_is_made_again(tmp_path: Path) -> None:
    paths = demo_library(tmp_path)
    before = contents(tmp_path)
    old = json.loads(before[MARKER]) | {"version": VERSION - 1}
    (tmp_path / MARKER).write_text(json.dumps(old), encoding="utf-8")
    paths[0].write_bytes(b"of an older version")
    demo_library(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "files",
    [
        ["../outside/album/01 Song.opus"],
        ["/outside/album/01 Song.opus", 7, None, "a/../../b.opus"],
        ["notes.txt", "Me/notes.txt", "01 Song.opus"],
        "Me/Mine/01 Song.opus",
        9,
    ],
)
@pytest.mark.usefixtures("few")
def test_a_marker_cannot_have_other_files_removed(tmp_path: Path, files: object) -> None:
    home = tmp_path / "library"
    others = [tmp_path / "outside/album/01 Song.opus", home / "notes.txt", home / "01 Song.opus"]
    others += [home / "Me/Mine/01 Song.opus", home / "Me/notes.txt"]
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine", encoding="utf-8")
    marker = {"version": 0, "seed": 1, "files": files}
    (home / MARKER).write_text(json.dumps(marker), encoding="utf-8")
    demo_library(home)
    assert all(path.read_text(encoding="utf-8") == "mine" for path in others)


@pytest.mark.parametrize("text", ["", "{", "[1]", "\x00", '{"version": "new"}'])
@pytest.mark.usefixtures("few")
def test_a_marker_that_says_nothing_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / MARKER).write_text(text, encoding="utf-8")
    assert len(demo_library(tmp_path)) == FEW
    assert json.loads((tmp_path / MARKER).read_text(encoding="utf-8"))["version"] == VERSION


@pytest.mark.usefixtures("few")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder", encoding="utf-8")
    for folder in (file, file / "below"):
        with pytest.raises(InvalidInputError, match="a folder that it can write to") as problem:
            demo_library(folder)
        assert str(folder) in str(problem.value)
    assert file.read_text(encoding="utf-8") == "no folder"


@pytest.mark.usefixtures("few")
def test_an_error_of_the_listener_to_progress_is_its_own(tmp_path: Path) -> None:
    def broken(done: int, total: int) -> None:
        raise BrokenPipeError(done, total)

    with pytest.raises(BrokenPipeError):
        demo_library(tmp_path, progress=broken)


def test_workers_make_what_one_process_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real pieces by two processes, killed in the middle and continued: the same bytes."""
    chosen = [piece for piece in pieces(1) if piece.variant == 0][:REAL]
    monkeypatch.setattr(library, "pieces", lambda _seed: chosen)
    monkeypatch.setattr(library, "_LEAST_SHARE", 1)
    monkeypatch.setattr(library, "usable_cores", lambda: 2)
    one, two = tmp_path / "one", tmp_path / "two"
    for piece in chosen:
        writing.write(piece, one)
    _interrupted(two)
    assert any(two.rglob("*.opus"))
    told: list[tuple[int, int]] = []
    demo_library(two, progress=lambda *now: told.append(now))
    assert told[-1] == (REAL, REAL)
    made = contents(two)
    made.pop(MARKER)
    assert made == contents(one)


def _interrupted(folder: Path) -> None:
    """Start a library in a process of its own, and kill that when the first piece is there."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from bandstand_demo import library, pieces\n"
        f"library.pieces = lambda seed: [p for p in pieces(1) if p.variant == 0][:{REAL}]\n"
        "library._cores, library._LEAST_SHARE = lambda: 2, 1\n"
        "library.demo_library(Path(sys.argv[1]), progress=lambda *now: print(*now, flush=True))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with started(
        [sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.split()[0] == b"1":
                break
        process.send_signal(signal.SIGKILL)


def test_a_worker_that_fails_leaves_its_share_to_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "pieces", lambda seed: pieces(seed)[:FEW])
    monkeypatch.setattr(writing, "render", short)
    monkeypatch.setattr(library, "usable_cores", lambda: 2)
    monkeypatch.setattr(library, "_WORKER", "bandstand.no_such_module")
    paths = demo_library(tmp_path)
    assert all(path.is_file() for path in paths)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no such program"))
    other = demo_library(tmp_path / "other")
    assert all(path.is_file() for path in other)


def test_a_rendered_piece_survives_the_encoder() -> None:
    """A real piece, decoded again, has the length and the loudness that it had."""
    piece = next(piece for piece in pieces(1) if piece.genre == "House")
    sound = render(piece)
    with av.open(io.BytesIO(writing.encoded(sound, piece)), "r") as container:
        decoded = np.concatenate([f.to_ndarray() for f in container.decode(audio=0)], axis=1)
    assert decoded.shape == sound.shape
    assert np.abs(decoded).max() <= 10 ** (-1 / 20)
    assert np.sqrt((decoded**2).mean()) == pytest.approx(np.sqrt((sound**2).mean()), rel=0.05)


# ── A few at a time ──────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("few")
def test_some_pieces_of_different_styles_can_be_had_first(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    first = demo_library(tmp_path, at_least=2, progress=lambda *now: told.append(now))
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert len(first) == 2
    assert len({path.parent.parent for path in first}) == 2  # artists
    assert demo_library(tmp_path, at_least=2) == first
    assert set(first) < set(demo_library(tmp_path))
    assert len(demo_library(tmp_path, at_least=2)) == FEW

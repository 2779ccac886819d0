import io
import signal
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest

from bandstand.errors import InvalidInputError
from bandstand_demo import PIECES, Piece, demo_library, library
from bandstand_demo.instruments import RATE, Sound
from bandstand_demo.library import MARKER, VERSION
from tests.fixtures.child_processes import started

FEW = 8


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a library of eight pieces, of one second each."""
    monkeypatch.setattr(library, "PIECES", PIECES[:FEW])
    monkeypatch.setattr(library, "render", short)


def short(piece: Piece) -> Sound:
    time = np.arange(RATE) / RATE
    wave = 0.2 * np.sin(2 * np.pi * 10 * (20 + piece.number) * time)
    return np.stack([wave, wave]).astype(np.float32)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_file_says_what_it_is() -> None:
    piece = PIECES[0]
    sound = short(piece)
    data = library.encoded(sound, piece)
    assert data == library.encoded(sound, piece)
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
    assert picture.codec_context.name == "png"
    assert (picture.width, picture.height) == (library.SIDE, library.SIDE)
    decoded = np.concatenate(frames, axis=1).astype(np.float64)
    assert decoded.shape == sound.shape
    # The encoder keeps the sound: nine tenths of it at least.
    assert np.corrcoef(decoded[0, 2_000:-2_000], sound[0, 2_000:-2_000])[0, 1] > 0.9


@pytest.mark.usefixtures("few")
def test_a_library_is_made_once(tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []
    paths = demo_library(tmp_path, progress=lambda done, total: reported.append((done, total)))
    assert reported == [(done, FEW) for done in range(FEW + 1)]
    for path, piece in zip(paths, PIECES[:FEW], strict=True):
        folder = tmp_path / piece.artist / piece.album
        assert path == folder / f"{piece.track:02} {piece.title}.opus"
        assert path.is_file()
    times = [path.stat().st_mtime_ns for path in paths]
    reported.clear()
    assert demo_library(tmp_path, progress=lambda *now: reported.append(now)) == paths
    assert reported == [(FEW, FEW)]
    assert [path.stat().st_mtime_ns for path in paths] == times


@pytest.mark.usefixtures("few")
def test_what_is_missing_empty_or_half_written_is_made_again(tmp_path: Path) -> None:
    paths = demo_library(tmp_path)
    before = contents(tmp_path)
    paths[2].unlink()
    paths[5].write_bytes(b"")
    paths[0].with_name(f".{paths[0].name}.123{library.UNFINISHED}").write_bytes(b"half")
    reported: list[tuple[int, int]] = []
    demo_library(tmp_path, progress=lambda *now: reported.append(now))
    assert reported == [(6, FEW), (7, FEW), (8, FEW)]
    assert contents(tmp_path) == before


@pytest.mark.parametrize("old", ["", "2", "\x00", '{"version": 2}'])
@pytest.mark.usefixtures("few")
def test_another_version_replaces_the_library_and_nothing_else(tmp_path: Path, old: str) -> None:
    mine = tmp_path / "Me" / "Mine" / "01 Song.opus"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"my own")
    paths = demo_library(tmp_path)
    before = contents(tmp_path)
    (tmp_path / MARKER).write_text(old, encoding="utf-8")
    paths[0].write_bytes(b"of an older version")
    demo_library(tmp_path)
    assert contents(tmp_path) == before
    assert (tmp_path / MARKER).read_text(encoding="utf-8") == VERSION


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
def test_some_pieces_of_different_styles_can_be_had_first(tmp_path: Path) -> None:
    first = demo_library(tmp_path, at_least=2)
    assert len({path.parent.parent for path in first}) == len(first) == 2  # artists
    assert demo_library(tmp_path, at_least=2) == first
    assert set(first) < set(demo_library(tmp_path))
    assert len(demo_library(tmp_path, at_least=2)) == FEW


def test_a_library_that_was_killed_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for number in (0, 6, 12):
        library.write(PIECES[number], one)
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from bandstand_demo import demo_library\n"
        "demo_library(Path(sys.argv[1]), at_least=3, progress=lambda *n: print(*n, flush=True))\n"
    )
    with started([sys.executable, "-c", program, str(two)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.split()[0] == b"1":
                break
        process.send_signal(signal.SIGKILL)
    assert any(two.rglob("*.opus"))
    demo_library(two, at_least=3)
    made = contents(two)
    made.pop(MARKER)
    assert made == contents(one)


@pytest.mark.usefixtures("few")
def test_what_progress_raises_ends_the_work(tmp_path: Path) -> None:
    def broken(done: int, total: int) -> None:
        if done:
            raise BrokenPipeError(done, total)

    with pytest.raises(BrokenPipeError):
        demo_library(tmp_path, progress=broken)
    assert 0 < len(list(tmp_path.rglob("*.opus"))) <= FEW
    assert not list(tmp_path.rglob(f"*{library.UNFINISHED}"))

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.music.library.walk import MUSIC, Folder, library_roots, shown, walk
from bandstand.store.database.schema import MAX_PATH_BYTES

DEPTH = 500


@pytest.fixture
def library(tmp_path: Path) -> Path:
    library = tmp_path / "library"
    library.mkdir()
    return library


def put(path: Path, content: bytes = b"sound") -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return bytes(path)


def walked(*folders: Path) -> list[Folder]:
    return list(walk(library_roots(folders)))


def found(*folders: Path) -> list[bytes]:
    return [file.path for folder in walked(*folders) for file in folder.files]


def refused(*folders: Path) -> dict[bytes, str]:
    return {it.path: it.reason for folder in walked(*folders) for it in folder.refused}


@pytest.mark.parametrize("ending", sorted(ending.decode() for ending in MUSIC))
def test_music_is_recognised_by_its_ending_in_either_case(library: Path, ending: str) -> None:
    songs = [put(library / f"b{ending}"), put(library / f"a{ending.upper()}")]
    assert found(library) == sorted(songs)


@pytest.mark.parametrize(
    "name", ["cover.jpg", "mp3", "song.mp3.part", "song.txt", "._song.mp3", "mp3.", "a.m3u"]
)
def test_what_is_not_named_like_music_is_passed_over_in_silence(library: Path, name: str) -> None:
    put(library / name)
    assert walked(library) == []


@pytest.mark.parametrize(
    "name", ["@eaDir", "#recycle", "$RECYCLE.BIN", ".Trash", ".Trash-1000", ".git", "lost+found"]
)
def test_what_other_programs_keep_in_the_folder_is_left_out(library: Path, name: str) -> None:
    put(library / "album" / name / "song.mp3")
    assert walked(library) == []
    song = put(library / name[1:] / "song.mp3")
    assert found(library) == [song]


_names = st.sampled_from(["a", "b", ".c", "@eaDir", "x.mp3", "y.OGG", "z.txt", "._x.mp3", "é.wav"])
_trees = st.lists(st.lists(_names, min_size=1, max_size=4), max_size=12)


@given(tree=_trees)
@settings(max_examples=60)
def test_the_walk_finds_what_a_naive_one_finds(tree: list[list[str]]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for steps in tree:
            place = root.joinpath(*steps[:-1])
            # A name may have been made a file by an earlier path.
            if not any(part.is_file() for part in (place, *place.parents)):
                place.mkdir(parents=True, exist_ok=True)
                if not (place / steps[-1]).is_dir():
                    (place / steps[-1]).touch()
        assert sorted(found(root)) == sorted(_naively(bytes(root)))
        assert refused(root) == {}


def _naively(root: bytes) -> Iterator[bytes]:
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != b"@eaDir"]
        for name in names:
            if not name.startswith(b"._") and Path(os.fsdecode(name)).suffix in (
                ".mp3",
                ".OGG",
                ".wav",
            ):
                yield place + b"/" + name


def test_folders_may_be_nested_very_deeply(library: Path) -> None:
    place = library
    for _ in range(DEPTH):
        place /= "d"
    song = put(place / "song.mp3")
    try:
        assert found(library) == [song]
    finally:
        # Python's own way to remove a tree nests calls.
        subprocess.run(["rm", "-rf", library / "d"], check=True, timeout=60)


def test_paths_that_are_too_long_to_keep_are_refused_once_for_their_folder(library: Path) -> None:
    place = library
    while len(bytes(place)) + 101 <= MAX_PATH_BYTES:
        place /= "x" * 100
    place.mkdir(parents=True)
    room = MAX_PATH_BYTES - len(bytes(place)) - 1
    song = put(place / ("y" * (room - 4) + ".mp3"))
    for name in ("z" * room + ".mp3", "z" * room + "a.mp3", "z" * room + ".txt"):
        put(place / name)
    (place / ("f" * (room + 1))).mkdir()
    (place / ("g" * room + ".mp3")).symlink_to("/dev/zero")
    assert found(library) == [song]
    ((path, reason),) = refused(library).items()
    assert path == bytes(place)
    assert f"more than {MAX_PATH_BYTES:,} bytes" in reason


@pytest.mark.parametrize(
    "target",
    [".", "..", "../library", "album", "album/a.mp3", "./album/../album/a.mp3", "again.mp3"],
)
def test_a_link_to_something_inside_is_left_out(library: Path, target: str) -> None:
    song = put(library / "album" / "a.mp3")
    (library / "again.mp3").symlink_to("album/a.mp3")
    link = library / "album" / "link.mp3" if target == ".." else library / "link.mp3"
    link.symlink_to(target)
    assert found(library) == [song]
    assert refused(library) == {}


@pytest.mark.parametrize("name", ["link.mp3", "link"])
@pytest.mark.parametrize("target", ["../outside", "../outside/a.mp3", "/", "way out"])
def test_a_link_out_of_the_library_is_refused(library: Path, name: str, target: str) -> None:
    put(library / "a.mp3")
    put(library.parent / "outside" / "a.mp3")
    (library / "way out").symlink_to("../outside")
    (library / name).symlink_to(target)
    reasons = refused(library)
    is_music = name.endswith(".mp3") or not target.endswith(".mp3")
    assert (bytes(library / name) in reasons) == is_music
    assert all("out of the library" in reason for reason in reasons.values())
    assert found(library) == [bytes(library / "a.mp3")]


@pytest.mark.parametrize("target", ["nothing.mp3", "loop.mp3", "there.mp3", "/nowhere/a.mp3"])
def test_a_link_that_leads_nowhere_is_refused(library: Path, target: str) -> None:
    (library / "there.mp3").symlink_to("back.mp3")
    (library / "back.mp3").symlink_to("there.mp3")
    (library / "loop.mp3").symlink_to(target)
    assert set(refused(library)) == {
        bytes(library / name) for name in ("there.mp3", "back.mp3", "loop.mp3")
    }
    assert all("leads nowhere" in reason for reason in refused(library).values())


@pytest.mark.parametrize("kept", [".git/annex/a.mp3", "blobs/0123", "@eaDir/a.mp3"])
def test_a_link_to_what_no_walk_would_meet_is_refused(library: Path, kept: str) -> None:
    put(library / kept)
    (library / "song.mp3").symlink_to(kept)
    ((path, reason),) = refused(library).items()
    assert path == bytes(library / "song.mp3")
    assert "left out" in reason


def test_pipes_sockets_and_devices_are_refused_by_what_they_are(library: Path) -> None:
    os.mkfifo(library / "pipe.mp3")
    folder = os.open(library, os.O_RDONLY)
    with closing(socket.socket(socket.AF_UNIX)) as opened:
        # A socket's path may have a hundred bytes at most, a folder's may have more.
        opened.bind(f"/proc/self/fd/{folder}/socket.mp3")
    os.close(folder)
    assert refused(library) == {
        bytes(library / "pipe.mp3"): "a file was expected, found a pipe",
        bytes(library / "socket.mp3"): "a file was expected, found a socket",
    }


def test_a_folder_that_cannot_be_listed_is_refused_and_the_rest_is_found(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(library / "a" / "1.mp3")
    song = put(library / "b" / "2.mp3")
    _lock(monkeypatch, library / "a")
    assert found(library) == [song]
    assert refused(library) == {
        bytes(library / "a"): "the folder cannot be listed: permission denied"
    }


def _lock(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Keep even root from listing a folder."""
    listed = os.scandir

    def scandir(path: Any) -> Any:
        if os.fsencode(path) == bytes(folder):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)


def test_roots_are_real_sorted_and_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b/inner", "a", "a2"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("b")
    monkeypatch.chdir(tmp_path)
    given_ones: list[str | bytes | Path] = ["link", b"b/inner", tmp_path / "a", "a2", "b/../a/"]
    assert library_roots(given_ones) == tuple(bytes(tmp_path / name) for name in ("a", "a2", "b"))


@pytest.mark.parametrize(
    ("folders", "words"),
    [
        ([], "at least one folder"),
        ([""], "empty name"),
        (["none"], "the folder none must exist"),
        ([b"\xff"], r"the folder \xff must exist"),
        (["file"], "file must be a folder, got a file"),
        (["loop"], "must be readable"),
        (["a\0b"], "a disk can hold"),
        (["\ud800"], "a disk can hold"),
        (["x" * 300], "must be readable"),
        (["d/" * 2_000 + "d"], "at most 2,500 bytes"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: list[str | bytes], words: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError) as refusal:
        library_roots(folders)
    assert words in str(refusal.value)


@given(path=st.binary())
def test_a_path_is_shown_as_one_printable_line(path: bytes) -> None:
    assert shown(path).isprintable()


def test_a_locked_folder_is_refused(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _lock(monkeypatch, library)
    with pytest.raises(InvalidInputError, match="permission was denied"):
        library_roots([library])

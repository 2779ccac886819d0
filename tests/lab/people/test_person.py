"""One real person: what is read, and what share of the songs that are played is liked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from bandstand.errors import InvalidInputError
from bandstand_lab.people import person
from bandstand_lab.people.battery import RANDOM
from bandstand_lab.people.rivals import OURS

if TYPE_CHECKING:
    from pathlib import Path

SONGS, LIKED_ARTISTS, STARTS = 60, 8, 3


@pytest.fixture
def songs(tmp_path: Path) -> Path:
    """Return the file of someone who likes half of the artists, whatever they sound like."""
    rng = np.random.default_rng(1)
    lines = ["song,artist,loudness,tempo,liked"]
    for song in range(SONGS):
        loudness, tempo = rng.standard_normal(2)
        artist = song % (2 * LIKED_ARTISTS)
        lines.append(f"{song},name {artist},{loudness},{tempo},{int(artist < LIKED_ARTISTS)}")
    path = tmp_path / "likes.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_file_is_songs_with_features_and_artists_and_what_is_liked(songs: Path) -> None:
    library, likes = person.read(songs)
    assert library.features.shape == (SONGS, 2)
    assert len(set(library.artist.tolist())) == 2 * LIKED_ARTISTS
    assert len(set(library.album.tolist())) == SONGS
    assert not any(library.tags)
    rng = np.random.default_rng(1)
    assert [likes.rating(row, 1, rng) for row in (0, LIKED_ARTISTS)] == [5.0, 1.0]


def test_liked_artists_are_found_and_chance_likes_half(songs: Path) -> None:
    ours, chance = (person.shares_liked(songs, name, STARTS) for name in (OURS, RANDOM))
    assert list(ours) == list(chance) == [20, 50]
    assert all(len(shares) == STARTS for shares in ours.values())
    assert chance[50].mean() == pytest.approx(0.5, abs=0.1)
    assert ours[20].mean() > chance[20].mean() + 0.1


def test_the_shares_are_printed(songs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    person.main(str(songs), "2")
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4
    assert printed[0].startswith("mixed-effects, first 20: 0.")
    assert " ± " in printed[0]


def test_a_file_without_what_is_needed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "likes.csv"
    path.write_text("song,liked\n1,1\n", encoding="utf-8")
    with pytest.raises(
        InvalidInputError, match=r"must have rows with artist and liked, got \['song"
    ):
        person.read(path)
    path.write_text("artist,tempo,liked\na,fast,1\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="must be numbers"):
        person.read(path)

from __future__ import annotations

from collections import Counter
from dataclasses import FrozenInstanceError
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.signal import resample_poly

from bandstand.errors import InvalidInputError
from bandstand.music.audio.descriptors.definition import CLIP_SAMPLES, NAMES
from bandstand.music.audio.descriptors.summary import describe
from bandstand.music.audio.projection import fit
from bandstand_demo import Piece, pieces, render
from bandstand_demo.loudness import loudness
from bandstand_demo.pieces import PER_STYLE
from bandstand_demo.sound import RATE
from bandstand_demo.styles import STYLES

if TYPE_CHECKING:
    from bandstand.types import Matrix, Vector
    from bandstand_demo.sound import Sound

GENRES = [style.name for style in STYLES]
# Styles that have a beat; ambient music drifts.
WITH_A_BEAT = [genre for genre in GENRES if genre != "Ambient"]


def first_of(genre: str, seed: int = 1) -> Piece:
    return next(piece for piece in pieces(seed) if piece.genre == genre)


@cache
def heard(genre: str) -> Sound:
    with np.errstate(all="raise"):
        return render(first_of(genre))


def described(sound: Sound) -> Vector:
    """Return the descriptors of the middle of a piece, at 16 kHz and in one channel."""
    clip = resample_poly(sound.mean(axis=0).astype(np.float64), 1, 3)
    first = max(0, (clip.size - CLIP_SAMPLES) // 2)
    return describe(clip[first : first + CLIP_SAMPLES])


def own_style_share(descriptors: Matrix, genres: list[str]) -> float:
    """Return the share of a piece's five nearest neighbours that are of its own style."""
    rows = fit(descriptors).apply(descriptors)
    distances = ((rows[:, None] - rows[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :5]
    labels = np.array(genres)
    return float((labels[nearest] == labels[:, None]).mean())


def test_there_are_sixty_pieces_six_of_each_style() -> None:
    library = pieces(1)
    assert Counter(piece.genre for piece in library) == dict.fromkeys(GENRES, PER_STYLE)
    assert len(library) == 60
    assert [piece.number for piece in library] == list(range(60))


@pytest.mark.parametrize("seed", [0, 1, 2, 77])
def test_every_piece_has_its_own_title_place_and_key(seed: int) -> None:
    library = pieces(seed)
    assert len({(piece.artist, piece.album, piece.track) for piece in library}) == 60
    assert len({piece.title for piece in library}) == 60
    for genre in GENRES:
        of_style = [piece for piece in library if piece.genre == genre]
        assert len({piece.key.tonic for piece in of_style}) == PER_STYLE
        assert len({piece.tempo for piece in of_style}) >= PER_STYLE - 2
        assert len({piece.artist for piece in of_style}) == 2


def test_tempos_lie_in_the_range_of_the_style() -> None:
    ranges = {style.name: style.tempos for style in STYLES}
    for piece in (*pieces(1), *pieces(2)):
        slowest, fastest = ranges[piece.genre]
        assert slowest <= piece.tempo <= fastest


def test_the_seed_decides_everything() -> None:
    assert pieces(3) == pieces(3)
    assert pieces(3) != pieces(4)
    piece = first_of("Lullaby")
    np.testing.assert_array_equal(render(piece), render(piece))
    other = render(first_of("Lullaby", seed=2))
    assert other.shape != render(piece).shape or (other != render(piece)).any()


def test_a_piece_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        pieces(1)[0].title = "Another"  # type: ignore[misc]


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="must not be negative, got -1"):
        pieces(-1)


@pytest.mark.parametrize("genre", GENRES)
def test_a_piece_is_of_a_pleasant_length_and_level(genre: str) -> None:
    sound = heard(genre)
    assert sound.dtype == np.float32
    assert sound.shape[0] == 2
    assert 29.0 < sound.shape[1] / RATE < 46.0
    assert np.abs(sound).max() <= 10 ** (-1 / 20)
    assert loudness(sound) == pytest.approx(-18.0, abs=0.3)
    assert 20 * np.log10(np.sqrt((sound**2).mean())) == pytest.approx(-20.0, abs=3.0)
    assert abs(sound.mean()) < 0.002


@pytest.mark.parametrize("genre", GENRES)
def test_a_piece_begins_at_once_and_ends_in_silence(genre: str) -> None:
    sound = heard(genre)
    loud = np.flatnonzero(np.abs(sound).max(axis=0) > 10 ** (-40 / 20))
    assert loud[0] / RATE < 1.0
    assert (sound.shape[1] - loud[-1]) / RATE < 1.0
    assert np.abs(sound[:, -50:]).max() < 1e-3


@pytest.mark.parametrize("genre", GENRES)
def test_left_and_right_differ_but_belong_together(genre: str) -> None:
    left, right = heard(genre)
    assert (left != right).any()
    balance = 10 * np.log10((left**2).sum() / (right**2).sum())
    assert abs(balance) < 3.0


@pytest.mark.parametrize("genre", WITH_A_BEAT)
def test_the_tempo_that_is_heard_is_the_one_that_was_meant(genre: str) -> None:
    found = described(heard(genre))[NAMES.index("tempo_bpm")]
    octave = np.log2(found / first_of(genre).tempo)
    assert abs(octave - round(octave)) < np.log2(1.04)
    assert abs(round(octave)) <= 1


def test_ambient_and_drum_and_bass_are_far_apart() -> None:
    calm, busy = (
        dict(zip(NAMES, described(heard(genre)), strict=True))
        for genre in ("Ambient", "Drum and bass")
    )
    for name in ("std_ZeroCrossings", "std_Centroid", "std_Rolloff"):  # strokes come and go
        assert busy[name] > 2 * calm[name]
    for name in ("mean_Flux", "mean_Rolloff", "mean_SFM10"):  # noise, and change
        assert busy[name] > 1.1 * calm[name]
    assert calm["mean_Chroma_PeakRatio_Average"] > 1.1 * busy["mean_Chroma_PeakRatio_Average"]


def test_most_neighbours_of_a_piece_are_of_its_style() -> None:
    library = pieces(1)
    descriptors = np.array([described(render(piece)) for piece in library])
    genres = [piece.genre for piece in library]
    share = own_style_share(descriptors, genres)
    assert share >= 0.8
    # Styles are not so far apart that the test could not fail: wrong labels do.
    shuffled = np.random.default_rng(1).permutation(genres).tolist()
    assert own_style_share(descriptors, shuffled) < 0.3
    assert share < 1.0


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_other_seeds_give_styles_that_are_as_clear(seed: int) -> None:
    library = pieces(seed)
    descriptors = np.array([described(render(piece)) for piece in library])
    assert own_style_share(descriptors, [piece.genre for piece in library]) >= 0.7

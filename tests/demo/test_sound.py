from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter, resample_poly

from bandstand.music.audio.descriptors.definition import CLIP_SAMPLES, NAMES
from bandstand.music.audio.descriptors.summary import describe
from bandstand.music.audio.projection import fit
from bandstand.types import Matrix, Vector
from bandstand_demo import PIECES, instruments, render
from bandstand_demo.composition import Part, Score, Style, drum
from bandstand_demo.instruments import RATE, Sound, noise, ring
from bandstand_demo.mixing import CEILING, loudness, mastered, mix
from bandstand_demo.notes import Clock, Note, hertz
from bandstand_demo.pieces import STYLES

GENRES = [style.name for style in STYLES]


@given(
    st.lists(
        st.tuples(st.floats(30, 8_000), st.floats(-1, 1), st.floats(0, 60)), min_size=1, max_size=5
    ),
    st.integers(1, 3_000),
)
def test_a_ring_sums_its_partials(partials: list[tuple[float, float, float]], count: int) -> None:
    hz, levels, decays = np.array(partials).T
    time = np.arange(count)[:, None] / RATE
    expected = (levels * np.exp(-decays * time) * np.sin(2 * np.pi * hz * time)).sum(axis=1)
    np.testing.assert_allclose(ring(hz, levels, decays, count), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["violin", "square", "reese", "warm_pad", "piano", "trumpet"])
def test_nothing_is_folded_back_from_above_the_hearing_range(name: str) -> None:
    """Where a tone has no harmonic there is nothing, so no alias either."""
    sound = instruments.note(name, 93, 1.0, 1.0)
    wave = sound if sound.ndim == 1 else sound[0]
    power = np.abs(np.fft.rfft(wave * np.hanning(wave.size))) ** 2
    hz = np.fft.rfftfreq(wave.size, 1 / RATE)
    below = (hz > 60) & (hz < 0.8 * hertz(93))
    assert power[below].max() < 1e-3 * power.max()
    assert power[hz > 20_000].max() < 1e-5 * power.max()


@pytest.mark.parametrize("name", instruments.NAMES)
@pytest.mark.parametrize("seconds", [0.04, 0.5])
def test_no_note_begins_or_ends_with_a_click(name: str, seconds: float) -> None:
    with np.errstate(all="raise"):
        sound = instruments.note(name, 64, seconds, 0.7)
    peak = np.abs(sound).max()
    assert sound.dtype == np.float32
    assert 0.01 < peak < 4.0
    assert np.abs(sound[..., [0, -1]]).max() < 0.02 * peak
    assert np.isfinite(sound).all()


@given(st.floats(30, 12_000))
def test_loudness_is_that_of_the_standard(hz: float) -> None:
    """The two filters of ITU-R BS.1770, sample by sample instead of by spectrum."""
    sine = np.sin(np.arange(4 * RATE) * (2 * np.pi * hz / RATE))
    shelf = lfilter(
        [1.53512485958697, -2.69169618940638, 1.19839281085285],
        [1.0, -1.69065929318241, 0.73248077421585],
        sine,
    )
    weighted = lfilter([1.0, -2.0, 1.0], [1.0, -1.99004745483398, 0.99007225036621], shelf)
    expected = -0.691 + 10 * np.log10(np.mean(weighted[RATE:] ** 2))
    sound = np.stack([sine, 0 * sine]).astype(np.float32)
    assert loudness(sound) == pytest.approx(expected, abs=0.2)


@pytest.mark.parametrize("gain", [0.001, 1.0, 50.0])
def test_mastering_makes_everything_equally_loud_and_never_clips(gain: float) -> None:
    sound = np.stack([noise(4 * RATE, 100, 5_000, s) for s in (1, 2)])
    sound[:, RATE : RATE + 40] *= 40.0
    done = mastered(np.float32(gain) * sound, 0.5)
    assert np.abs(done).max() <= CEILING
    assert loudness(done) == pytest.approx(-18.0, abs=0.6)
    assert np.abs(done[:, -10:]).max() < 1e-3


def test_a_pan_is_heard_on_its_side_and_a_note_at_its_time() -> None:
    left = Part("kick", (1.0, -1.0, 0.0), drum("...."))
    style = Style(name="", tempos=(60, 60), plan="", chords="", parts=(left,), looseness=0.0)
    score = Score(style, Clock(60, 4), [("kick", left, [Note(2, 0.5, 60, 0.9)])])
    sound = mix(score, np.random.default_rng(0))
    energy = (sound**2).sum(axis=1)
    assert energy[0] > 100 * energy[1]
    begin = np.flatnonzero(np.abs(sound[0]) > 0.1 * np.abs(sound).max())[0] / RATE
    assert begin == pytest.approx(2.02, abs=0.01)
    with np.errstate(all="raise"):
        silence = mix(Score(style, Clock(60, 4), []), np.random.default_rng(0))
    assert np.isfinite(silence).all()


@cache
def heard(number: int) -> Sound:
    with np.errstate(all="raise"):
        return render(PIECES[number])


@cache
def described(number: int) -> Vector:
    """Return the descriptors of the middle of a piece, at 16 kHz and in one channel."""
    clip = resample_poly(heard(number).mean(axis=0).astype(np.float64), 1, 3)
    first = max(0, (clip.size - CLIP_SAMPLES) // 2)
    return describe(clip[first : first + CLIP_SAMPLES])


def own_style_share(descriptors: Matrix, genres: list[str]) -> float:
    """Return the share of a piece's two nearest neighbours that are of its own style."""
    rows = fit(descriptors).apply(descriptors)
    distances = ((rows[:, None] - rows[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :2]
    labels = np.array(genres)
    return float((labels[nearest] == labels[:, None]).mean())


@pytest.mark.parametrize("genre", GENRES)
def test_a_piece_is_as_loud_as_the_others_and_does_not_clip(genre: str) -> None:
    sound = heard(6 * GENRES.index(genre))
    assert 28 < sound.shape[1] / RATE < 45
    assert np.abs(sound).max() < 10 ** (-1 / 20)
    assert loudness(sound) == pytest.approx(-18.0, abs=0.3)
    assert 20 * np.log10(np.sqrt((sound**2).mean())) == pytest.approx(-20.0, abs=3.0)
    assert abs(sound.mean()) < 0.002
    loud = np.flatnonzero(np.abs(sound).max(axis=0) > 10 ** (-40 / 20))
    assert loud[0] / RATE < 1.0
    assert (sound.shape[1] - loud[-1]) / RATE < 1.0
    assert np.abs(sound[:, -50:]).max() < 1e-3
    left, right = sound
    assert (left != right).any()
    assert abs(10 * np.log10((left**2).sum() / (right**2).sum())) < 3.0


@pytest.mark.parametrize("genre", GENRES[1:])  # ambient music drifts
def test_the_tempo_that_is_heard_is_the_one_that_was_meant(genre: str) -> None:
    number = 6 * GENRES.index(genre)
    octave = np.log2(described(number)[NAMES.index("tempo_bpm")] / PIECES[number].tempo)
    assert abs(octave - round(octave)) < np.log2(1.04)
    assert abs(round(octave)) <= 1


def test_most_neighbours_of_a_piece_are_of_its_style() -> None:
    pieces = PIECES[::2]  # three of each style
    descriptors = np.array([described(piece.number) for piece in pieces])
    genres = [piece.genre for piece in pieces]
    share = own_style_share(descriptors, genres)
    assert share >= 0.85
    # Styles are not so far apart that the test could not fail: wrong labels do.
    shuffled = np.random.default_rng(1).permutation(genres).tolist()
    assert own_style_share(descriptors, shuffled) < 0.3
    assert share < 1.0

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from bandstand.errors import InvalidInputError
from bandstand_demo import instruments
from bandstand_demo.loudness import loudness
from bandstand_demo.mixing import CEILING, mastered, mix
from bandstand_demo.oscillators import HIGHEST, ensemble, noise, ring, sung
from bandstand_demo.pitches import hertz
from bandstand_demo.score import Note, Player, Score
from bandstand_demo.sound import RATE, decay, edged


@given(
    st.lists(
        st.tuples(st.floats(30, 8_000), st.floats(-1, 1), st.floats(0, 60)), min_size=1, max_size=5
    ),
    st.integers(1, 3_000),
)
def test_a_ring_is_the_sum_of_its_partials(
    partials: list[tuple[float, float, float]], count: int
) -> None:
    hz, levels, decays = np.array(partials).T
    time = np.arange(count)[:, None] / RATE
    expected = (levels * np.exp(-decays * time) * np.sin(2 * np.pi * hz * time)).sum(axis=1)
    np.testing.assert_allclose(ring(hz, levels, decays, count), expected, atol=1e-5)


def test_a_partial_that_cannot_be_played_is_left_out() -> None:
    assert not ring([HIGHEST + 1, 30_000], 1.0, 0.0, 1_000).any()


@pytest.mark.parametrize("name", ["violin", "square", "reese", "warm_pad", "piano", "trumpet"])
def test_nothing_is_folded_back_from_above_the_hearing_range(name: str) -> None:
    """Where a tone has no harmonic there is nothing, so no alias either."""
    sound = instruments.note(name, 93.0, 1.0, 1.0)
    wave = sound if sound.ndim == 1 else sound[0]
    power = np.abs(np.fft.rfft(wave * np.hanning(wave.size))) ** 2
    hz = np.fft.rfftfreq(wave.size, 1 / RATE)
    below = (hz > 60) & (hz < 0.8 * hertz(93.0))
    assert power[below].max() < 1e-3 * power.max()
    assert power[hz > 20_000].max() < 1e-5 * power.max()


def test_a_vibrato_stays_around_its_pitch() -> None:
    wave = sung(440.0, np.array([1.0]), RATE, depth=20.0, rate=5.0)
    crossings = np.flatnonzero((wave[:-1] < 0) & (wave[1:] >= 0))
    frequency = RATE * (len(crossings) - 1) / (crossings[-1] - crossings[0])
    assert frequency == pytest.approx(440.0, rel=0.003)
    periods = np.diff(crossings) / RATE
    assert periods.max() / periods.min() > 1.01


def test_an_ensemble_has_no_seam() -> None:
    loop = ensemble(220.0, (1.0, 0.5, 0.25), 20.0)
    steps = np.abs(np.diff(loop))
    assert abs(loop[0] - loop[-1]) <= steps.max()


def test_noise_stays_in_its_band_and_is_the_same_for_the_same_seed() -> None:
    wave = noise(RATE, low=1_000, high=3_000, seed=1)
    power = np.abs(np.fft.rfft(wave)) ** 2
    hz = np.fft.rfftfreq(RATE, 1 / RATE)
    assert power[(hz > 500) & (hz < 6_000)].sum() > 0.9 * power.sum()
    np.testing.assert_array_equal(wave, noise(RATE, low=1_000, high=3_000, seed=1))
    assert (wave != noise(RATE, low=1_000, high=3_000, seed=2)).any()


@pytest.mark.parametrize("name", instruments.NAMES)
@pytest.mark.parametrize("seconds", [0.04, 0.5])
def test_no_note_begins_or_ends_with_a_click(name: str, seconds: float) -> None:
    with np.errstate(all="raise"):
        sound = instruments.note(name, 64.0, seconds, 0.7)
    peak = np.abs(sound).max()
    assert sound.dtype == np.float32
    assert 0.01 < peak < 4.0
    assert np.abs(sound[..., [0, -1]]).max() < 0.02 * peak
    assert np.isfinite(sound).all()


def test_a_harder_stroke_is_brighter() -> None:
    def brightness(force: float) -> float:
        power = np.abs(np.fft.rfft(instruments.note("electric_piano", 60.0, 1.0, force))) ** 2
        return float(power @ np.arange(power.size) / power.sum())

    assert brightness(1.0) > 1.05 * brightness(0.3)


def test_an_instrument_that_nobody_has_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"expected the name of an instrument.*'kazoo'"):
        instruments.note("kazoo", 60.0, 1.0, 0.5)


@given(st.integers(1, 2_000), st.floats(0, 0.1), st.floats(0, 0.1))
def test_edges_are_never_steeper_than_the_sound_is_long(
    count: int, attack: float, release: float
) -> None:
    sound = np.ones(count, dtype=np.float32)
    shaped = edged(sound, attack=attack, release=release)
    assert shaped.shape == sound.shape
    assert (shaped >= 0).all()
    assert (shaped <= 1).all()
    assert (sound == 1).all()


def test_a_decay_is_down_to_a_third_when_it_should_be() -> None:
    assert decay(RATE, 0.25)[RATE // 4] == pytest.approx(np.exp(-1), rel=1e-4)


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


def test_twice_the_amplitude_is_six_decibels_more_and_silence_is_silent() -> None:
    sound = np.stack([noise(4 * RATE, low=100, high=5_000, seed=s) for s in (1, 2)]) * 0.1
    quiet, loud = loudness(sound), loudness(2 * sound)
    assert loud - quiet == pytest.approx(6.02, abs=0.01)
    assert loudness(np.zeros((2, RATE), dtype=np.float32)) == -70.0


@pytest.mark.parametrize("gain", [0.001, 1.0, 50.0])
def test_mastering_makes_everything_equally_loud_and_never_clips(gain: float) -> None:
    sound = np.stack([noise(4 * RATE, low=100, high=5_000, seed=s) for s in (1, 2)])
    sound[:, RATE : RATE + 40] *= 40.0
    done = mastered(np.float32(gain) * sound, fade=0.5)
    assert np.abs(done).max() <= CEILING
    assert loudness(done) == pytest.approx(-18.0, abs=0.6)
    assert np.abs(done[:, -10:]).max() < 1e-3


def test_silence_can_be_mixed() -> None:
    with np.errstate(all="raise"):
        sound = mix(Score(tempo=120, beats=4, parts=()), np.random.default_rng(0))
    assert sound.shape[0] == 2
    assert np.isfinite(sound).all()


def test_a_pan_is_heard_on_its_side_and_a_note_at_its_time() -> None:
    left = Player("kick", gain=1.0, pan=-1.0, wet=0.0, looseness=0.0)
    score = Score(tempo=60, beats=4, tail=0.5, parts=(left.plays([Note(2, 0.5, 60, 0.9)]),))
    sound = mix(score, np.random.default_rng(0))
    energy = (sound**2).sum(axis=1)
    assert energy[0] > 100 * energy[1]
    begin = np.flatnonzero(np.abs(sound[0]) > 0.1 * np.abs(sound).max())[0] / RATE
    assert begin == pytest.approx(2.02, abs=0.01)

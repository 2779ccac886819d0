"""Descriptors of frames: spectra, mel-frequency coefficients, pitch classes, shape and bands.

code        maths  shape     meaning
`samples`   s      (n,)      16 kHz, mono, 1 is full scale
`frames`           (F, 512)  neighbours without overlap, F = ⌈n / 512⌉
`power`     p      (F, 257)  power of each frequency bin
`energies`         (F, 40)   what each triangular mel filter lets through
`pitch`     b_k    (257,)    semitones of bin k above the lowest A, 27.5 Hz

Bin k lies at 31.25·k Hz. Everything is defined as in MARSYAS, whose numbers these reproduce.

A clip is described in blocks of frames, so that all that is as wide as a spectrum stays in the
processor's cache and its memory serves block after block. All functions take several frames at
once and return one row per frame.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import scipy.fft

from bandstand.errors import InvalidInputError
from bandstand.music.audio.descriptors.definition import FRAME, SAMPLE_RATE
from bandstand.types import Indices, Matrix, Vector, blocks, frozen

BINS: Final = FRAME // 2 + 1
BIN_WIDTH: Final = SAMPLE_RATE / FRAME  # hertz
# Full scale is 1. Descriptors hold fourth powers of samples; beyond this something is wrong.
SAMPLE_LIMIT: Final = 1e6

# Hamming's window in its symmetric form, whose ends are 0.08. The division by 2N, a power of
# two, loses no digit and saves one by (2N)² afterwards.
_SCALED_WINDOW: Final = (0.54 - 0.46 * np.cos(2 * np.pi * np.arange(FRAME) / (FRAME - 1))) / (
    2 * FRAME
)
_TINY: Final = np.finfo(np.float64).tiny  # the smallest normal double
# Frames in a block: few enough for the cache, enough to make the calls of functions cheap.
_BLOCK_FRAMES: Final = 192


@np.errstate(over="ignore", under="ignore")  # in squares that serve only for a comparison
def checked(samples: npt.ArrayLike) -> Vector:
    """Return `samples` as a vector of finite numbers that is not empty."""
    try:
        vector = np.asarray(samples, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        msg = f"samples must be numbers, got {type(samples).__name__}"
        raise InvalidInputError(msg) from problem
    if vector.ndim != 1 or not vector.size:
        msg = f"samples must be one channel with at least one sample, got shape {vector.shape}"
        raise InvalidInputError(msg)
    # No sample is larger than the root of the sum of squares, which is quicker than extrema and
    # nearly always enough. The comparisons are false for NaN.
    if not (
        np.dot(vector, vector) <= SAMPLE_LIMIT**2
        or (vector.min() >= -SAMPLE_LIMIT and vector.max() <= SAMPLE_LIMIT)
    ):
        where = int(np.argmax(~(np.abs(vector) <= SAMPLE_LIMIT)))
        msg = (
            f"samples must be finite and at most {SAMPLE_LIMIT:g} in size, "
            f"got {vector[where]} at sample {where}"
        )
        raise InvalidInputError(msg)
    return vector


def framed(samples: Vector) -> Matrix:
    """Return the frames, (F, 512); the last one is filled up with zeros and counts.

    >>> framed(np.ones(513)).sum(axis=1).tolist()
    [512.0, 1.0]
    """
    missing = -len(samples) % FRAME
    whole = np.concatenate([samples, np.zeros(missing)]) if missing else samples
    return whole.reshape(-1, FRAME)


def frame_blocks(samples: Vector) -> Iterator[Matrix]:
    """Yield all frames in their order, some at a time: (B, 512) each.

    >>> [len(block) for block in frame_blocks(np.zeros(400 * 512 + 1))]
    [192, 192, 17]
    """
    for part in blocks(len(samples), _BLOCK_FRAMES * FRAME):
        yield framed(samples[part])


@np.errstate(under="ignore")  # the power of next to nothing is nothing
def power_spectrum(frames: Matrix, precision: npt.DTypeLike = np.float64) -> Matrix:
    """Return p_k = |FFT(s·w)_k|² / (2N)² with Hamming's window w, N = 512: (F, 257).

    Descriptors need double `precision`; single takes two thirds of the time.

    A full-scale sine in the middle of bin 64 has (0.54/4)² there:

    >>> sine = np.sin(2 * np.pi * 64 / 512 * np.arange(512))
    >>> power = power_spectrum(framed(sine))
    >>> int(power.argmax()), round(float(power.max() / (0.54 / 4) ** 2), 2)
    (64, 1.0)
    """
    # The windowed frames have no name, so that their memory is free again for the squares.
    spectrum = scipy.fft.rfft(
        np.multiply(frames, _SCALED_WINDOW, dtype=precision, casting="same_kind"), axis=1
    )
    power: Matrix = np.square(spectrum.real)
    power += np.square(spectrum.imag)
    return power


def log_power(power: Matrix) -> Matrix:
    """Return ln(p + tiny), finite for silence as well: (F, 257)."""
    logarithm = power + _TINY
    np.log(logarithm, out=logarithm)
    return logarithm


# ── Mel-frequency cepstral coefficients 0..12 ──────────────────────────────────────────

# The filters are those of Slaney's auditory toolbox: 42 edges, 13 of them equally spaced and the
# rest in equal ratios. Filter i rises from edge i to i + 1 and falls to edge i + 2.


FILTERS: Final = 40
COEFFICIENTS: Final = 13
_LINEAR_EDGES: Final = 13
# MARSYAS holds these in single precision, and the golden values show it.
_LOWEST: Final = float(np.float32(133.3333))  # hertz
_SPACING: Final = float(np.float32(66.66666))  # hertz
_RATIO: Final = float(np.float32(1.0711703))


def filter_edges() -> Vector:
    """Return the 42 edges in hertz.

    >>> np.round(filter_edges()[[0, 1, 12, 13, 41]], 1).tolist()
    [133.3, 200.0, 933.3, 999.8, 6853.8]
    """
    linear = _LOWEST + _SPACING * np.arange(_LINEAR_EDGES)
    steps = np.arange(1, FILTERS + 2 - _LINEAR_EDGES + 1)
    return np.concatenate([linear, linear[-1] * _RATIO**steps])


def filter_bank() -> Matrix:
    """Return the triangles, (257, 40), of height 2 / (upper − lower) each."""
    edges = filter_edges()
    lower, centre, upper = edges[:-2], edges[1:-1], edges[2:]
    hertz = np.arange(BINS)[:, np.newaxis] * BIN_WIDTH
    rising = (hertz - lower) / (centre - lower)
    falling = (upper - hertz) / (upper - centre)
    bank: Matrix = np.maximum(np.minimum(rising, falling), 0) * (2 / (upper - lower))
    return bank


def cosine_transform() -> Matrix:
    """Return cos(j(2i + 1)π/80) / √20, (40, 13), with column j = 0 divided by √2.

    Its columns are orthonormal:

    >>> bool(np.allclose(cosine_transform().T @ cosine_transform(), np.eye(13)))
    True
    """
    odd = 2 * np.arange(FILTERS)[:, np.newaxis] + 1
    transform: Matrix = np.cos(odd * np.arange(COEFFICIENTS) * (np.pi / (2 * FILTERS)))
    transform /= np.sqrt(FILTERS / 2)
    transform[:, 0] *= np.sqrt(2) / 2
    return transform


# The filters leave out the lowest and the highest bins, 42 of the 257; so does the product.
_REACHED: Final = slice(
    int(filter_edges()[0] / BIN_WIDTH) + 1, int(filter_edges()[-1] / BIN_WIDTH) + 1
)
_FILTER_BANK: Final = frozen(filter_bank()[_REACHED])
_COSINE_TRANSFORM: Final = frozen(cosine_transform())


@np.errstate(under="ignore")
def mel_energies(power: Matrix) -> Matrix:
    """Return what each of the 40 filters lets through, in the precision of `power`: (F, 40)."""
    energies: Matrix = power[:, _REACHED] @ _FILTER_BANK.astype(power.dtype, copy=False)
    return energies


def mfcc(energies: Matrix) -> Matrix:
    """Return the 13 coefficients of each frame: (F, 13).

        c_j = Σ_i log10(energy_i) · cos(j(2i + 1)π/80) / √20, c_0 divided by √2

    A filter that lets nothing through counts as logarithm 0, so silence has all zeros. Equal
    energies have no shape, only a level, √40 times their logarithm:

    >>> np.round(np.abs(mfcc(np.full((1, 40), 0.1))[0, :3]), 3).tolist()
    [6.325, 0.0, 0.0]
    """
    logarithm = np.log10(np.where(energies > 0, energies, 1.0))
    coefficients: Matrix = logarithm @ _COSINE_TRANSFORM
    return coefficients


# ── Twelve pitch classes, A first, and the clarity of the strongest ────────────────────


CLASSES: Final = 12
_LOWEST_A: Final = 27.5  # hertz
# Bin 0 has no pitch; it counts as a tone one and a half octaves below bin 1.
_BELOW_FIRST: Final = 18.0


def bin_pitch() -> Vector:
    """Return b_k = 12·log2(k/N2 · sr / 27.5), b_0 = b_1 − 18: (257,), in semitones.

    Dividing by N2 = 257 where N = 512 would give the bin's true frequency lifts every pitch by
    an octave less 0.07 semitones. The octave does not matter here, and MARSYAS has it so.
    """
    pitch = CLASSES * np.log2(np.arange(1, BINS) / BINS * SAMPLE_RATE / _LOWEST_A)
    return np.concatenate([[pitch[0] - _BELOW_FIRST], pitch])


def chroma_map() -> Matrix:
    """Return exp(−½(2D/width)²), each bin scaled to unit 2-norm over the classes: (257, 12).

    D = ((b_k − o + 6 + 120) mod 12) − 6 is the distance to pitch class o, the nearer way round.

    >>> np.round(np.square(chroma_map()).sum(axis=1)[[0, 100, 256]], 9).tolist()
    [1.0, 1.0, 1.0]
    """
    pitch = bin_pitch()
    width = np.append(np.maximum(np.diff(pitch), 1.0), 1.0)
    half = CLASSES / 2
    shifted = pitch[:, np.newaxis] - np.arange(CLASSES) + half + 10 * CLASSES
    distance = shifted % CLASSES - half
    weights = np.exp(-0.5 * (2 * distance / width[:, np.newaxis]) ** 2)
    scaled: Matrix = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return scaled


_MAP: Final = frozen(chroma_map())


@np.errstate(under="ignore")
def pitch_classes(power: Matrix) -> Matrix:
    """Return the 12 pitch classes, not normalised: (F, 12).

    440 Hz is an A:

    >>> from bandstand.music.audio.descriptors.spectral import framed, power_spectrum
    >>> tone = np.sin(2 * np.pi * 440 / 16_000 * np.arange(512))
    >>> int(pitch_classes(power_spectrum(framed(tone)))[0].argmax())
    0
    """
    classes: Matrix = power @ _MAP
    return classes


@np.errstate(under="ignore")
def clarity(classes: Matrix) -> Matrix:
    """Return max / mean and max / min of the pitch classes: (F, 2).

    Both are 0 where the minimum is 0.

    >>> clarity(np.array([11 * [1.0] + [13.0], 11 * [1.0] + [0.0]])).tolist()
    [[6.5, 13.0], [0.0, 0.0]]
    """
    by_class = np.ascontiguousarray(classes.T)  # extrema of short rows are slow
    largest, smallest = by_class.max(axis=0), by_class.min(axis=0)
    heard = smallest > 0
    ratios = np.zeros((len(classes), 2))
    # max · 12 / sum rather than max / mean: the mean of the smallest numbers can round to 0.
    np.divide(largest * CLASSES, by_class.sum(axis=0), out=ratios[:, 0], where=heard)
    np.divide(largest, smallest, out=ratios[:, 1], where=heard)
    return ratios


# ── The shape of the spectrum ──────────────────────────────────────────────────────────

# Shares of the spectrum are divided by the number of bins, N2 = 257.


_ROLL_OFF: Final = 0.9
# Roll-off looks at k > 1 only: the two lowest bins are the mean and its leakage.
_FIRST_ROLL_OFF_BIN: Final = 2
# All bins but the last, which no roll-off reaches, are 16 groups of 16.
_GROUP: Final = 16
# A spectrum times this is its sums over what lies below each group, then over all: (257, 17).
_BELOW_GROUP: Final = frozen(
    np.arange(BINS)[:, np.newaxis] < np.append(np.arange(0, BINS - 1, _GROUP), BINS)
)
# Columns of 1 and of k: a spectrum times these is its sum and its first moment.
_MOMENTS: Final = frozen(np.vander(np.arange(BINS, dtype=np.float64), 2, increasing=True))


def zero_crossings(frames: Matrix) -> Vector:
    """Return (1 + number of strict sign changes between neighbours) / N: (F,).

    A step to or from zero is no change of sign.

    >>> zero_crossings(np.array([[1.0, -1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])).tolist()
    [0.5, 0.25]
    """
    above, below = frames > 0, frames < 0
    changes = (above[:, 1:] & below[:, :-1]) | (below[:, 1:] & above[:, :-1])
    return (1 + _count(changes)) / frames.shape[1]


@np.errstate(under="ignore")
def centroid(power: Matrix) -> Vector:
    """Return Σ k·p_k / Σ p_k / N2, the centre of the spectrum; 0.5 for silence: (F,).

    >>> power = np.zeros((2, 257))
    >>> power[0, 50:53] = 1
    >>> (centroid(power) * 257).tolist()
    [51.0, 128.5]
    """
    total, weighted = (power @ _MOMENTS).T
    centre = np.full(len(power), 0.5)
    np.divide(weighted, total * BINS, out=centre, where=total > 0)
    return centre


@np.errstate(under="ignore")
def roll_off(power: Matrix) -> Vector:
    """Return the largest k > 1 with Σ_{j≤k} p_j < 0.9 Σ p_j, divided by N2; 1 if none: (F,).

    >>> power = np.zeros((2, 257))
    >>> power[0, 100] = 1
    >>> (roll_off(power) * 257).tolist()
    [99.0, 257.0]
    """
    # Sums of powers never fall, so counting those below 0.9 finds the last of them: first among
    # groups of bins, then within the last group that begins below. All 257 sums take longer.
    below_group = power @ _BELOW_GROUP
    threshold = _ROLL_OFF * below_group[:, -1:]
    group = _count(below_group < threshold) - 1  # -1 for silence, and then `last` is negative
    frame = np.arange(len(power))
    within = power[:, :-1].reshape(-1, _GROUP, _GROUP)[frame, group]
    within[:, 0] += below_group[frame, group]
    last = group * _GROUP + _count(np.cumsum(within, axis=1) < threshold) - 1
    return np.where(last >= _FIRST_ROLL_OFF_BIN, last / BINS, 1.0)


def flux(logarithm: Matrix, before: Vector) -> Vector:
    """Return Σ d_k / (max d · N2) over k ≥ 1, how evenly a frame differs from the one before: (F,).

        d_k = (ln(p_k + tiny) − ln(p'_k + tiny))²

    p' is the frame before. `logarithm` is ln(p + tiny) of each frame, (F, 257), and `before` that
    of the frame before the first, (257,). A frame equal to the one before has flux 0.

    >>> logarithm = np.zeros((3, 257))
    >>> logarithm[1] = 5.0
    >>> (flux(logarithm, np.zeros(257)) * 257).tolist()
    [0.0, 256.0, 256.0]
    """
    change = np.empty_like(logarithm)
    np.subtract(logarithm[0], before, out=change[0])
    np.subtract(logarithm[1:], logarithm[:-1], out=change[1:])
    change[:, 0] = 0  # whole rows are faster than rows without bin 0
    np.square(change, out=change)
    largest = change.max(axis=1)
    spread = change @ _MOMENTS[:, 0]
    evenness = np.zeros(len(logarithm))
    np.divide(spread, largest * BINS, out=evenness, where=largest > 0)
    return evenness


def _count(marks: npt.NDArray[np.bool_]) -> Indices:
    """Return how many of each row are marked: (F,)."""
    # Four times as fast as `count_nonzero`, which makes a long integer of every mark first.
    counts: Indices = marks.view(np.uint8).sum(axis=1, dtype=np.uint16).astype(np.intp)
    return counts


# ── Crest (SCF) and flatness (SFM) in bands of a quarter octave ────────────────────────

# Edges are 1000·2^((i−8)/4) Hz, i = 0..24, from 250 Hz on. Band i covers the bins
#
#     ⌊0.95·edge_i / 31.25 + ½⌋ … ⌊1.05·edge_{i+1} / 31.25 + ½⌋, both inclusive,
#
# so neighbours overlap. From the first band on whose upper bin is beyond the spectrum all are the
# constant 1: at 16 kHz and 512 samples the last five of the 24.

BANDS: Final = 24
_LOWER_MARGIN: Final = 0.95
_UPPER_MARGIN: Final = 1.05


def band_limits() -> Indices:
    """Return the first bin of each band in the spectrum and the one after its last, in turns.

    >>> limits = band_limits()
    >>> len(limits) // 2, limits[:4].tolist(), limits[-2:].tolist()
    (19, [8, 11, 9, 13], [172, 227])
    """
    edges = 1000 * 2 ** ((np.arange(BANDS + 1) - 8) / 4)
    first = np.floor(_LOWER_MARGIN * edges[:-1] / BIN_WIDTH + 0.5)
    last = np.floor(_UPPER_MARGIN * edges[1:] / BIN_WIDTH + 0.5)
    inside = np.logical_and.accumulate(last < BINS)
    return np.column_stack([first, last + 1])[inside].reshape(-1).astype(np.intp)


_BAND_LIMITS: Final = band_limits()
_INNER_BANDS: Final = len(_BAND_LIMITS) // 2
_BAND_SIZES: Final = frozen((_BAND_LIMITS[1::2] - _BAND_LIMITS[::2]).astype(np.float64))
# The bins that belong to a band, and 1 where one belongs to which: (219, 19).
_BAND_BINS: Final = slice(int(_BAND_LIMITS[0]), int(_BAND_LIMITS[-1]))
_BAND_MEMBERS: Final = frozen(
    np.column_stack(
        [
            np.isin(np.arange(BINS)[_BAND_BINS], range(*limits))
            for limits in _BAND_LIMITS.reshape(-1, 2)
        ]
    )
)
# Below this, ln(p + tiny) is not ln(p) to the last digit.
_MIN_EXACT_POWER: Final = 1e-290
# Stands for ln(0): finite, and so low that one such bin makes a geometric mean of exactly 0.
_LOG_OF_NOTHING: Final = -1e6


@np.errstate(under="ignore")
def band_totals(power: Matrix) -> Matrix:
    """Return the sum of p over each band within the spectrum: (F, 19)."""
    totals: Matrix = power[:, _BAND_BINS] @ _BAND_MEMBERS
    return totals


def band_peaks(power: Matrix) -> Matrix:
    """Return the largest p of each band within the spectrum: (F, 19)."""
    return np.maximum.reduceat(power, _BAND_LIMITS, axis=1)[:, ::2]


def band_log_totals(power: Matrix, logarithm: Matrix) -> Matrix:
    """Return the sum of ln(p) over each band within the spectrum: (F, 19).

    `logarithm` is ln(p + tiny), (F, 257). A bin of nothing counts as -1e6.
    """
    totals: Matrix = _exact_logarithm(logarithm, power)[:, _BAND_BINS] @ _BAND_MEMBERS
    return totals


@np.errstate(under="ignore")
def crest(totals: Matrix, peaks: Matrix) -> Matrix:
    """Return max / mean of each band, 1 where it is silent: (F, 24).

    A band with a single bin in it is as peaky as its size, here 3 bins:

    >>> power = np.zeros((1, 257))
    >>> power[0, 8] = 1
    >>> crest(band_totals(power), band_peaks(power))[0, :2].tolist()
    [3.0, 1.0]
    """
    values = np.ones((len(totals), BANDS))
    # max · size / sum rather than max / mean: the mean of the smallest numbers can round to 0.
    np.divide(peaks * _BAND_SIZES, totals, out=values[:, :_INNER_BANDS], where=totals > 0)
    return values


@np.errstate(under="ignore")
def flatness(totals: Matrix, log_totals: Matrix) -> Matrix:
    """Return geometric / arithmetic mean of each band, 1 where it is silent: (F, 24).

    >>> power = np.full((1, 257), 0.25)
    >>> power[0, 8] = 0
    >>> logarithm = np.where(power > 0, np.log(0.25), -700.0)
    >>> flatness(band_totals(power), band_log_totals(power, logarithm))[0, :2].round(9).tolist()
    [0.0, 1.0]
    """
    heard = totals > 0
    log_mean = np.log(np.where(heard, totals, 1.0)) - np.log(_BAND_SIZES)
    values = np.ones((len(totals), BANDS))
    np.exp(log_totals / _BAND_SIZES - log_mean, out=values[:, :_INNER_BANDS], where=heard)
    return values


def _exact_logarithm(logarithm: Matrix, power: Matrix) -> Matrix:
    """Return ln(p) rather than ln(p + tiny); they differ only next to silence."""
    if power.min() >= _MIN_EXACT_POWER:
        return logarithm
    nothing = power == 0
    replaced = np.log(np.where(nothing, 1.0, power))
    replaced[nothing] = _LOG_OF_NOTHING
    return np.where(power < _MIN_EXACT_POWER, replaced, logarithm)

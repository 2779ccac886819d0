from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand_demo import PIECES, Piece
from bandstand_demo.instruments import NAMES
from bandstand_demo.notes import (
    SCALES,
    Change,
    Clock,
    Key,
    Manner,
    Note,
    at,
    changes,
    chord,
    melody,
    parallel,
    voicings,
)
from bandstand_demo.pieces import STYLES, score

WITHOUT_PITCH = set(NAMES[NAMES.index("kick") :])
MANNER = Manner("x-x-xxx- x-.x xxx-x---", 62, 82)
PROGRESSIONS = ("I vi IV V7", "ii7/V7 Imaj7 vi9 iv6", "i ♭VI iv V", "Iadd9 ♭VII IV I")

keys = st.builds(
    Key, st.integers(0, 11), st.sampled_from(["major", "minor", "dorian", "mixolydian"])
)
seeds = st.integers(0, 2**32 - 1)


def laid(progression: str, key: Key, bars: int = 4) -> list[Change]:
    return changes(progression.split(), key, first=0, bars=bars, beats=4)


def sung(seed: int, key: Key, sounding: list[Change]) -> list[Note]:
    return melody(np.random.default_rng(seed), MANNER, key, sounding, 4)


@pytest.mark.parametrize(
    ("symbol", "tones"),
    [("I", (0, 4, 7)), ("ii7", (2, 5, 9, 0)), ("Imaj7", (0, 4, 7, 11)), ("♭VI", (8, 0, 3))],
)
def test_a_roman_numeral_is_read_in_its_key(symbol: str, tones: tuple[int, ...]) -> None:
    assert chord(symbol, Key(0, "major")) == tones
    assert chord(symbol, Key(3, "minor")) == tuple((tone + 3) % 12 for tone in tones)


@given(keys, st.sampled_from(PROGRESSIONS))
def test_voices_move_little_and_keep_what_makes_the_chord(key: Key, progression: str) -> None:
    chords = [change.chord for change in laid(progression, key)]
    voiced = voicings([*chords, chords[-1]], 53, 74, 4)
    for tones, pitches in zip(chords, voiced, strict=False):
        classes = {pitch % 12 for pitch in pitches}
        assert tones[1] in classes <= set(tones)
    for before, after in pairwise(voiced):
        moves = [abs(new - old) for old, new in zip(before, after, strict=True)]
        assert max(moves) <= 7
        assert sum(moves) / len(moves) <= 4
    assert voiced[-1] == voiced[-2]  # a chord that stays does not move


@given(seeds, keys, st.sampled_from(PROGRESSIONS))
def test_a_tune_can_be_sung_and_fits_its_chords(seed: int, key: Key, progression: str) -> None:
    sounding = laid(progression, key, bars=8)
    notes = sung(seed, key, sounding)
    assert all(MANNER.low <= note.pitch <= MANNER.high for note in notes)
    strong = [note for note in notes if note.start % 2 == 0]
    assert all(note.pitch % 12 in at(sounding, note.start) for note in strong)
    leaps = [abs(after.pitch - before.pitch) for before, after in pairwise(notes)]
    assert max(leaps) <= 12
    assert np.median(leaps) <= 5
    assert all(one.start + one.length <= other.start for one, other in pairwise(notes))


@given(seeds, keys, st.sampled_from(PROGRESSIONS))
def test_a_tune_repeats_its_rhythm_and_comes_to_rest(seed: int, key: Key, progression: str) -> None:
    sounding = laid(progression, key)
    notes = sung(seed, key, sounding)
    bars = [[n.start % 4 for n in notes if n.start // 4 == bar] for bar in range(4)]
    assert bars[0] == bars[2]  # the form is abac
    assert notes[-1].pitch % 12 in sounding[-1].chord[:2]  # the root or the third
    assert notes[-1].length >= 1.5


def test_the_second_voice_stays_in_the_scale() -> None:
    notes = [Note(0, 1, 74, 0.5), Note(1, 1, 78, 0.5)]
    assert [note.pitch for note in parallel(notes, Key(2, "major"), -2)] == [71, 74]


@pytest.mark.parametrize("mode", SCALES)
def test_a_ladder_has_the_steps_of_its_scale(mode: str) -> None:
    ladder = Key(9, mode).ladder(45, 69)
    assert (ladder[0], ladder[-1], len(ladder)) == (45, 69, 2 * len(SCALES[mode]) + 1)


@given(
    st.floats(40, 200),
    st.floats(0.5, 0.75),
    st.floats(0, 1),
    st.lists(st.floats(0, 64), min_size=2),
)
def test_a_clock_never_goes_back(
    tempo: float, swing: float, broadening: float, beats: list[float]
) -> None:
    clock = Clock(tempo, 64, swing, broadening)
    times = [clock.seconds(beat) for beat in sorted(beats)]
    assert times == sorted(times)
    metronome = Clock(120, 16)
    assert [metronome.seconds(beat) for beat in (0, 0.25, 7.5, 16)] == [0, 0.125, 3.75, 8]


def test_a_section_that_comes_back_has_the_same_tune() -> None:
    lullaby = next(piece for piece in PIECES if piece.genre == "Lullaby")
    tune = score(lullaby).lines[0][2]  # bars: intro 2, A 4, B 4, A 4, end 2; three beats each
    first = [(n.start - 6, n.pitch) for n in tune if 6 <= n.start < 18]
    again = [(n.start - 30, n.pitch) for n in tune if 30 <= n.start < 42]
    assert first == again != [(n.start - 18, n.pitch) for n in tune if 18 <= n.start < 30]


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.title)
def test_every_part_plays_within_the_piece(piece: Piece) -> None:
    written = score(piece)
    for instrument, _, notes in written.lines:
        assert instrument in NAMES
        assert notes
        assert all(0 <= note.start < written.clock.beats for note in notes)
        assert all(0 < note.velocity <= 1 and 20 <= note.pitch <= 108 for note in notes)


def rubbing(piece: Piece, transposed: int = 0) -> float:
    """Return the share of semitones and minor ninths among tones that begin together."""
    pitched = [line for line in score(piece).lines if line[0] not in WITHOUT_PITCH]
    place = {"Ambient": 2, "House": 3, "Drum and bass": 2}.get(piece.genre, 0)
    tune = pitched.pop(place)[2]
    starts: dict[float, list[int]] = {}
    for note in (note for _, _, notes in pitched for note in notes):
        starts.setdefault(note.start, []).append(note.pitch)
    gaps = [
        abs(note.pitch + transposed - pitch) % 12
        for note in tune
        for pitch in starts.get(note.start, [])
    ]
    return float(np.isin(gaps, [1, 11]).mean())


@pytest.mark.parametrize("genre", [style.name for style in STYLES])
def test_few_tones_of_a_piece_rub_against_each_other(genre: str) -> None:
    of_style = [piece for piece in PIECES if piece.genre == genre]
    # Major sevenths are part of their chords; elsewhere they only pass by.
    rich = genre in {"Ambient", "Jazz", "House", "Drum and bass"}
    assert np.mean([rubbing(piece) for piece in of_style]) < (0.14 if rich else 0.05)
    assert np.mean([rubbing(piece, transposed=1) for piece in of_style]) > 0.14

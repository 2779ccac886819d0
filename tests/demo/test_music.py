from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand_demo import PIECES, Piece
from bandstand_demo.instruments import NAMES
from bandstand_demo.notes import (
    Change,
    Key,
    Manner,
    Note,
    at,
    changes,
    chord,
    melody,
    voicings,
)
from bandstand_demo.pieces import score

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


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.title)
def test_every_part_plays_within_the_piece(piece: Piece) -> None:
    written = score(piece)
    for instrument, _, notes in written.lines:
        assert instrument in NAMES
        assert notes
        assert all(0 <= note.start < written.clock.beats for note in notes)
        assert all(0 < note.velocity <= 1 and 20 <= note.pitch <= 108 for note in notes)

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand_demo.arrangement import ground
from bandstand_demo.chords import chord, voicing
from bandstand_demo.harmony import Change, at, changes, voiced
from bandstand_demo.melody import Manner, in_thirds, melody
from bandstand_demo.patterns import bass, broken, held, struck, strummed, walking
from bandstand_demo.pieces import Piece, pieces, score
from bandstand_demo.pitches import SCALES, Key, within
from bandstand_demo.score import Clock, Note
from bandstand_demo.styles import STYLES, Style

DRUMS = {"kick", "chip_kick", "bass_drum", "snare", "field_snare", "brush", "sweep", "clap", "hat"}
DRUMS |= {"open_hat", "ride", "crash", "chip_noise", "surf"}
MANNER = Manner(rhythms=((1, 1, 0.5, 0.5, 1), (2, -1, 1), (0.5, 0.5, 1, 2)), low=62, high=82)
PROGRESSIONS = ("I vi IV V7", "ii7/V7 Imaj7 vi9 iv6", "i ♭VI iv V", "Iadd9 ♭VII IV I")

keys = st.builds(
    Key, tonic=st.integers(0, 11), mode=st.sampled_from(["major", "minor", "dorian", "mixolydian"])
)
seeds = st.integers(0, 2**32 - 1)


def laid(progression: str, key: Key, bars: int = 4) -> tuple[Change, ...]:
    return changes(progression, key, first=0, bars=bars, beats=4)


@pytest.mark.parametrize(
    ("symbol", "tones"),
    [
        ("I", (0, 4, 7)),
        ("ii7", (2, 5, 9, 0)),
        ("V7", (7, 11, 2, 5)),
        ("Imaj7", (0, 4, 7, 11)),
        ("♭VI", (8, 0, 3)),
        ("♯iv°", (6, 9, 0)),
        ("Vsus", (7, 0, 2)),
    ],
)
def test_a_roman_numeral_is_read_in_its_key(symbol: str, tones: tuple[int, ...]) -> None:
    assert chord(symbol, Key(tonic=0, mode="major")).tones == tones
    higher = tuple((tone + 3) % 12 for tone in tones)
    assert chord(symbol, Key(tonic=3, mode="minor")).tones == higher


@pytest.mark.parametrize("symbol", ["", "H7", "VIII", "iV", "V7/", "I42", "♭"])
def test_what_is_no_chord_is_refused(symbol: str) -> None:
    with pytest.raises(InvalidInputError, match="expected a chord as a Roman numeral"):
        chord(symbol, Key(tonic=0, mode="major"))


@given(keys, st.sampled_from(PROGRESSIONS))
def test_voices_move_little_and_keep_what_makes_the_chord(key: Key, progression: str) -> None:
    sounding = laid(progression, key)
    voicings = voiced(sounding, low=53, high=74, voices=4)
    for change, pitches in zip(sounding, voicings, strict=True):
        classes = {int(pitch) % 12 for pitch in pitches}
        assert classes <= set(change.chord.tones)
        assert change.chord.tones[1] in classes  # the third
    for before, after in pairwise(voicings):
        moves = [abs(new - old) for old, new in zip(before, after, strict=True)]
        assert max(moves) <= 7
        assert sum(moves) / len(moves) <= 4


def test_a_chord_that_stays_does_not_move() -> None:
    home = chord("I", Key(tonic=0, mode="major"))
    first = voicing(home, None, 53, 74, 4)
    assert voicing(home, first, 53, 74, 4) == first


@given(seeds, keys, st.sampled_from(PROGRESSIONS))
def test_a_tune_has_chord_tones_where_the_beat_is_strong(
    seed: int, key: Key, progression: str
) -> None:
    sounding = laid(progression, key, bars=8)
    notes = melody(np.random.default_rng(seed), MANNER, key, sounding)
    for note in notes:
        assert MANNER.low <= note.pitch <= MANNER.high
        if note.start % 2 == 0:
            assert int(note.pitch) % 12 in at(sounding, note.start).tones


@given(seeds, keys, st.sampled_from(PROGRESSIONS))
def test_a_tune_has_no_leap_that_nobody_could_sing(seed: int, key: Key, progression: str) -> None:
    notes = melody(np.random.default_rng(seed), MANNER, key, laid(progression, key, bars=8))
    leaps = [abs(after.pitch - before.pitch) for before, after in pairwise(notes)]
    assert max(leaps) <= 12
    assert np.median(leaps) <= 5
    assert all(before.start + before.length <= after.start for before, after in pairwise(notes))


@given(seeds, keys, st.sampled_from(PROGRESSIONS))
def test_a_tune_comes_to_rest_on_the_root_or_the_third(
    seed: int, key: Key, progression: str
) -> None:
    sounding = laid(progression, key, bars=4)
    last = melody(np.random.default_rng(seed), MANNER, key, sounding)[-1]
    assert int(last.pitch) % 12 in sounding[-1].chord.tones[:2]
    assert last.length >= 1.5


@given(seeds)
def test_a_tune_repeats_its_rhythm(seed: int) -> None:
    key = Key(tonic=0, mode="major")
    notes = melody(np.random.default_rng(seed), MANNER, key, laid("I vi IV V7", key))
    bars = [[n.start % 4 for n in notes if n.start // 4 == bar] for bar in range(4)]
    assert bars[0] == bars[2]  # the plan is abac


def test_a_section_that_comes_back_has_the_same_tune() -> None:
    key = Key(tonic=5, mode="major")
    base = ground("A:4 B:4 A:4", {"A": "I IV V I", "B": "vi ii V7 I"}, key, beats=4)
    notes = base.tune(np.random.default_rng(3), MANNER, "A", "B")
    first = [note for note in notes if note.start < 16]
    again = [note.moved(-32) for note in notes if note.start >= 32]
    assert first == again


def test_the_second_voice_stays_in_the_scale() -> None:
    key = Key(tonic=2, mode="major")
    notes = [Note(0, 1, 74, 0.5), Note(1, 1, 78, 0.5)]
    assert [note.pitch for note in in_thirds(notes, key)] == [71, 74]


@given(keys, st.sampled_from(PROGRESSIONS))
def test_a_bass_stands_on_the_root_when_a_chord_comes(key: Key, progression: str) -> None:
    sounding = laid(progression, key)
    for notes in (
        bass(sounding, [(0, 2, "root"), (2, 2, "root")], beats=4, low=36),
        walking(np.random.default_rng(1), sounding, low=33),
    ):
        by_start = {note.start: note.pitch for note in notes}
        assert all(by_start[c.start] % 12 == c.chord.root for c in sounding if c.start in by_start)


def test_accompaniments_use_only_the_tones_of_the_chord() -> None:
    sounding = laid("I ♭VII7 iv6 V7", Key(tonic=7, mode="major"))
    voicings = voiced(sounding, low=55, high=74, voices=4)
    notes = (
        *held(sounding, voicings),
        *strummed(sounding, voicings, "x..x..x.", beats=4, length=0.5),
        *broken(sounding, voicings, (0, 2, -1, 5), step=0.5, length=0.5),
    )
    assert all(int(n.pitch) % 12 in at(sounding, n.start).tones for n in notes)


def test_a_rhythm_of_two_bars_alternates() -> None:
    starts = [note.start for note in struck("x... ..x.", first=0, bars=3, beats=4)]
    assert starts == [0, 6, 8]


@given(
    st.floats(40, 200),
    st.floats(0.5, 0.75),
    st.floats(0, 1),
    st.lists(st.floats(0, 64), min_size=2),
)
def test_a_clock_never_goes_back(
    tempo: float, swing: float, broadening: float, beats: list[float]
) -> None:
    clock = Clock(tempo=tempo, swing=swing, beats=64, broadening=broadening)
    times = [clock.seconds(beat) for beat in sorted(beats)]
    assert times == sorted(times)


def test_a_clock_without_swing_or_broadening_is_a_metronome() -> None:
    clock = Clock(tempo=120, swing=0.5, beats=16, broadening=0.0)
    assert [clock.seconds(beat) for beat in (0, 0.25, 7.5, 16)] == [0, 0.125, 3.75, 8]


@pytest.mark.parametrize("mode", SCALES)
def test_a_ladder_has_the_steps_of_its_scale(mode: str) -> None:
    ladder = Key(tonic=9, mode=mode).ladder(45, 69)
    assert ladder[0] % 12 == 9
    assert len(ladder) == 2 * len(SCALES[mode]) + 1
    assert within([9], 45, 69) == (45, 57, 69)


def rubbing(piece: Piece, transposed: int = 0) -> float:
    """Return the share of semitones and minor ninths among tones that begin together."""
    tune, *others = [p for p in score(piece).parts if p.player.instrument not in DRUMS]
    starts: dict[float, list[float]] = {}
    for note in (note for other in others for note in other.notes):
        starts.setdefault(note.start, []).append(note.pitch)
    gaps = [
        abs(note.pitch + transposed - pitch) % 12
        for note in tune.notes
        for pitch in starts.get(note.start, [])
    ]
    return float(np.isin(gaps, [1, 11]).mean())


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_few_tones_of_a_piece_rub_against_each_other(style: Style) -> None:
    of_style = [piece for piece in pieces(1) if piece.genre == style.name]
    # Major sevenths are part of their chords; elsewhere they only pass by.
    rich = style.name in {"Ambient", "Jazz", "House", "Drum and bass"}
    assert np.mean([rubbing(piece) for piece in of_style]) < (0.14 if rich else 0.05)
    wrong = np.mean([rubbing(piece, transposed=1) for piece in of_style])
    assert wrong > 0.14

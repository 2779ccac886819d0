"""Every instrument by name, and the one function that plays a note on it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from bandstand.errors import InvalidInputError
from bandstand_demo.instruments import drums, electronic, plucked, struck, sustained

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand_demo.sound import Sound

# (pitch, seconds, force) -> sound
Voice: TypeAlias = "Callable[[float, float, float], Sound]"

_VOICES: Final[dict[str, Voice]] = {
    voice.__name__: voice
    for voice in (
        struck.music_box,
        struck.celesta,
        struck.vibraphone,
        struck.electric_piano,
        struck.piano,
        plucked.nylon_guitar,
        plucked.steel_guitar,
        plucked.harp,
        plucked.upright_bass,
        sustained.violin,
        sustained.viola,
        sustained.cello,
        sustained.flute,
        sustained.whistle,
        sustained.clarinet,
        sustained.accordion,
        sustained.trumpet,
        sustained.horn,
        sustained.tuba,
        electronic.square,
        electronic.pulse,
        electronic.triangle,
        electronic.sub_bass,
        electronic.saw_bass,
        electronic.reese,
        electronic.stab,
        electronic.warm_pad,
        electronic.glass_pad,
        electronic.choir,
        electronic.surf,
    )
}
_DRUMS: Final[dict[str, Callable[[], Sound]]] = {
    drum.__name__: drum
    for drum in (
        drums.kick,
        drums.soft_kick,
        drums.bass_drum,
        drums.chip_kick,
        drums.snare,
        drums.field_snare,
        drums.brush,
        drums.sweep,
        drums.clap,
        drums.hat,
        drums.open_hat,
        drums.ride,
        drums.crash,
        drums.chip_noise,
    )
}
NAMES: Final = (*_VOICES, *_DRUMS)
# Strokes are told apart this finely; between them only the loudness changes.
_FORCES: Final = 3


def note(name: str, pitch: float, seconds: float, force: float) -> Sound:
    """Return one note, the same array for the same note: it must not be changed.

    Lengths are told apart to a hundredth of a second, so that a note which comes back
    is computed once.
    """
    if name in _DRUMS:
        return _stroke(name)
    if name not in _VOICES:
        msg = f"expected the name of an instrument ({', '.join(NAMES)}), got {name!r}"
        raise InvalidInputError(msg)
    level = min(_FORCES, max(1, round(force * _FORCES)))
    return _tone(name, pitch, round(max(seconds, 0.03), 2), level)


def forget() -> None:
    """Forget the notes that were played; another piece has others."""
    _tone.cache_clear()


@cache
def _tone(name: str, pitch: float, seconds: float, level: int) -> Sound:
    return _VOICES[name](pitch, seconds, level / _FORCES)


@cache
def _stroke(name: str) -> Sound:
    return _DRUMS[name]()

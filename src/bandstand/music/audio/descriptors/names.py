"""The names of the 159 descriptors, in their order, as tables of them are headed."""

from typing import Final

_SPECTRAL: Final = ("ZeroCrossings", "Centroid", "Rolloff", "Flux")
_PITCH_CLASSES: Final = ("A", "A#", "B", "C", "C#", "D", "D#", "E", "F", "F#", "G", "G#")

# One frame's: (79,).
FRAME_NAMES: Final = (
    *_SPECTRAL,
    *(f"MFCC{number}" for number in range(13)),
    *(f"Chroma_{pitch_class}" for pitch_class in _PITCH_CLASSES),
    "Chroma_PeakRatio_Average",
    "Chroma_PeakRatio_Minimum",
    *(f"SCF{number}" for number in range(1, 25)),
    *(f"SFM{number}" for number in range(1, 25)),
)

# A clip's: (159,).
NAMES: Final = (
    *(f"mean_{name}" for name in FRAME_NAMES),
    *(f"std_{name}" for name in FRAME_NAMES),
    "tempo_bpm",
)

"""The clip that is described, and the names of its 159 descriptors in their order."""

from typing import Final

# Goes up with every change of any descriptor, or of how a clip is chosen and decoded: numbers of
# different versions are never mixed.
VERSION: Final = 1
SAMPLE_RATE: Final = 16_000  # hertz; one channel
CLIP_SECONDS: Final = 30.0  # the middle of a track, or all of a shorter one
FRAME: Final = 512  # samples that are described together; a clip has at least as many
CLIP_SAMPLES: Final = int(CLIP_SECONDS * SAMPLE_RATE)


def clip_start(duration: float) -> float:
    """Return where the clip begins in a track of `duration`, both in seconds.

    The duration counts to the hundredth of a second, as it did for the golden tracks: other
    descriptors react little, but spectral flux and flatness notice where frames begin.

    >>> clip_start(100.0), clip_start(112.84898), clip_start(20.0)
    (35.0, 41.425, 0.0)
    """
    return max(round(duration, 2) - CLIP_SECONDS, 0.0) / 2


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

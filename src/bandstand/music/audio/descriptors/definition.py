"""What a clip is: the one piece of a track that is decoded and described."""

from typing import Final

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

"""The 159 numbers that describe a clip, as MARSYAS defines them.

frames     samples cut into frames, their power spectra
spectral   zero crossings, centroid, roll-off and flux
mfcc       mel-frequency cepstral coefficients
chroma     pitch classes, and how clear the strongest is
bands      crest and flatness in quarter octaves
tempo      beats per minute
names      what the numbers are called
summary    all of them together
"""

from bandstand.music.audio.descriptors.names import FRAME_NAMES, NAMES
from bandstand.music.audio.descriptors.summary import VERSION, describe, frame_descriptors

__all__ = ["FRAME_NAMES", "NAMES", "VERSION", "describe", "frame_descriptors"]

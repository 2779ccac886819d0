"""The demo library: synthesised music in clearly different styles, made from a seed.

library       all pieces as files in a folder, made on first use
pieces        what pieces there are, and each of them as sound
styles        how a style composes
writing       a piece as a file, with tags and cover
"""

from bandstand_demo.library import demo_library
from bandstand_demo.pieces import Piece, pieces, render

__all__ = ["Piece", "demo_library", "pieces", "render"]

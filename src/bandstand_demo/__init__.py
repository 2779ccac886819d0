"""The demo library: synthesised music in ten clearly different styles, the same every time."""

from bandstand_demo.library import demo_library
from bandstand_demo.pieces import PIECES, Piece, render

__all__ = ["PIECES", "Piece", "demo_library", "render"]

"""The 159 numbers that describe a clip of 30 seconds, as MARSYAS defines them; and the tempo."""

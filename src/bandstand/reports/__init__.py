"""What people look at: figures, live pictures, summaries and measurements.

Learning, as `bandstand demo` shows it:

series            the numbers of a session, one per song, ready to be drawn
block_charts      small charts made of block characters
reason_text       one song in words: when, how long since the last time, why
learning_summary  what a radio has learnt, in a few lines
live_picture      the same while it happens, for a terminal
learning_picture  the same as a figure with four panels

Speed, as `bandstand bench` shows it: `bench` and the modules that it names.
"""

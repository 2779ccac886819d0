"""From an audio file to numbers: decode, read tags, describe, project.

Decoding is made for hostile files, and runs in a limited process.
"""

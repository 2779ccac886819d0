"""From an audio file to numbers: decode, describe, project; and music made from a seed.

recording     the middle of a track and its tags, from an open file of any common format
descriptors   the 159 numbers that describe such a clip
projection    these numbers as features: z-scores and principal components
cover         the picture inside a file

Decoding is meant for hostile files, and is to run in a process of its own.
"""

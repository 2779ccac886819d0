"""The catalogue that the model scores: one matrix on disk, mapped into memory.

matrix      writes the matrix and opens the latest one
array_file  one array in one file, mapped only if it is whole
neighbours  the songs nearest to a song, exactly
"""

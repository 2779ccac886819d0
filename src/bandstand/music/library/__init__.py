"""From folders of music to a catalogue that the model can score.

walk          which files are music, folder by folder
opening       open a file of the library without being led out of it
content       the fingerprint and the time of a file
recognition   which song is in a file that is not where it was
reasons       which failures are worth another try
analyse       everything about one file; runs in a limited child process
analysers     many files, on this machine
cluster       many files, on a Dask cluster
scan          the whole: walk, compare with the store, analyse, record
catalogue     the stored descriptors as one projected matrix, made again when stale
"""

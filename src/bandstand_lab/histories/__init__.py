"""Repetition and novelty in listening histories; `bandstand.music.histories` reads the files."""

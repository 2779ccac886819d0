"""All songs as one matrix on disk, mapped into memory; the nearest neighbours of a song."""

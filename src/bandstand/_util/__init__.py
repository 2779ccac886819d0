"""Tools that several parts of the package share; none of them knows what a song is."""

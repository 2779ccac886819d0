"""How well a song's features explain ratings of it: the paper's check of Uc."""

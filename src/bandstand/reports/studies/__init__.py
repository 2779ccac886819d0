"""The studies of `bandstand reproduce`, one file or folder each; `reproduce.registry` has their order."""

"""The studies of `bandstand reproduce`, one each; `reproduce.registry` has their order."""

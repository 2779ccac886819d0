"""The studies of `bandstand reproduce`, one each; `reproduce.STUDIES` has their order."""

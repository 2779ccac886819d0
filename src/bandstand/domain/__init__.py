"""What a listener is asked about, and what the listener answered.

code         maths  shape   meaning
`features`   x      (S, p)  a song's audio features, one row per song
`elapsed`    t      (S,)    minutes since this listener last heard the song
`diversity`  d      (S,)    distance to the listener's last songs; 1 is the catalogue's typical one
`ratings`    r      (N,)    what the listener said
`weights`    w      (N,)    how much that counts: inverse relative noise variance, 1 for a rating

`Songs` and `History` check what they are given, so everything below them can
trust its types. Both are values: they never change, `History.append` returns a new one.
"""

from bandstand.domain.checks import (
    FEATURE_LIMIT,
    RATING_LIMIT,
    checked_features,
    checked_table,
)
from bandstand.domain.history import History
from bandstand.domain.songs import Rows, Songs

__all__ = [
    "FEATURE_LIMIT",
    "RATING_LIMIT",
    "History",
    "Rows",
    "Songs",
    "checked_features",
    "checked_table",
]

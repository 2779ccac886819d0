"""Songs that are all the same to the model, such as items of which only a few tags are known.

Of songs never heard with the same features, whose albums and artists have no answers or the same
ones, the first by row come first. So a search for k songs needs the first k of each kind.
"""

from typing import Final

import numpy as np

from bandstand.core.engines.exact.posterior.belief import ExactBelief
from bandstand.core.model.candidates import CandidateSet, is_among
from bandstand.core.model.history import Songs
from bandstand.types import Features, Indices

# Songs that stand for all of them, and the share of these that differ where equal ones are rare.
_SAMPLE: Final = 1_024
_DISTINCT_SHARE: Final = 0.9


def kinds_of(features: Features) -> Indices | None:
    """Return a number for each song, the same for the same features: (S,).

    Where hardly any two songs have the same features it is None.
    """
    sample = features[:: max(len(features) // _SAMPLE, 1)]
    if len(np.unique(sample, axis=0)) > _DISTINCT_SHARE * len(sample):
        return None
    return np.unique(features, axis=0, return_inverse=True)[1].reshape(-1)


def first_of_each(
    belief: ExactBelief, songs: Songs, kinds: Indices | None, allowed: CandidateSet, count: int
) -> CandidateSet:
    """Return those of `allowed` that do not equal `count` earlier ones."""
    if kinds is None:
        return allowed
    rows = allowed.rows()
    answered = [belief.history.groups, *(play.groups for play in belief.planned)]
    groups = songs.groups_of(rows)
    albums, artists, own = (
        np.isin(getattr(groups, name), np.concatenate([getattr(each, name) for each in answered]))
        for name in ("album", "artist", "song")
    )
    own |= is_among(rows, songs.heard)
    shared = np.where(albums, groups.album, np.where(artists, groups.artist, -1))
    others = np.flatnonzero(~own)
    keys = np.stack([shared[others], kinds[rows[others]]])
    order = np.lexsort(keys)
    begins = np.flatnonzero(np.any(np.diff(keys[:, order], prepend=-2), axis=0))
    place = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    kept = np.concatenate([rows[own], rows[others[order[place < count]]]])
    return CandidateSet.only(kept, len(songs))

"""How songs sound, as the model sees it: descriptors from the store, projected.

The catalogue's matrix holds the songs that can be played now. A listener may have rated others:
their files are gone, but what was said of them still counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand.music.audio.descriptors.definition import NAMES, VERSION
from bandstand.music.audio.projection import Projection
from bandstand.store.songs import projections, songs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.store.database.connection import Store
    from bandstand.types import Matrix, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """The stored projection, and the store whose songs it projects."""

    store: Store
    projection: Projection
    version: int  # of the projection

    def features(self, ids: Sequence[str]) -> dict[str, Vector]:
        """Return the features of those of the songs that have any, present or not."""
        with self.store.reading() as connection:
            found = dict(songs.descriptors_of(connection, ids, VERSION))
        if not found:
            return {}
        projected: Matrix = self.projection.apply(np.stack(list(found.values())))
        # As the catalogue's matrix keeps them, so that a song counts the same when it is back.
        rounded = projected.astype(np.float32).astype(np.float64)
        return dict(zip(found, rounded, strict=True))


def load_sound(store: Store) -> Sound | None:
    """Return the stored projection; None before the first, or if it is of other descriptors."""
    with store.reading() as connection:
        stored = projections.latest(connection)
    if stored is None or stored.descriptor_version != VERSION:
        return None
    projection = Projection.from_bytes(stored.content)
    projection.check_fits(columns=len(NAMES), version=VERSION)
    return Sound(store=store, projection=projection, version=stored.version)

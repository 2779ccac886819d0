"""Items with names as the model sees them: features of any scale, tags, and what they share.

    columns   [curved likings | tags | sound | 1]     groups   the item, its album and its artist

What a column means is fitted to a catalogue once, so that later items get the same columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np

from bandstand.core.model.curved_columns import COLUMNS as CURVED
from bandstand.core.model.curved_columns import curved_columns
from bandstand.core.model.priors import people_prior, radio_prior
from bandstand.core.model.scaling import Standardiser
from bandstand.core.model.song_groups import SongGroups, identities
from bandstand.core.model.tag_columns import checked_tags, frequent_tags, tag_columns
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import Features

# The number of each name, by kind.
KnownNames: TypeAlias = "dict[str, dict[Hashable, int]]"


class Names(TypedDict, total=False):
    """The names of some items: an entry each, None where there is none."""

    songs: Sequence[Hashable | None] | None
    artists: Sequence[Hashable | None] | None
    albums: Sequence[Hashable | None] | None
    tags: Sequence[Iterable[str]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedItems:
    """What the columns of a catalogue of items are.

    >>> items = NamedItems.fit([[1.0], [3.0]], tags=[["rock"], ["rock", "live"]])
    >>> items.table([[2.0]], tags=[["live", "new"]])[:, -4:].tolist()
    [[0.0, 1.0, 0.0, 1.0]]
    """

    scales: Standardiser
    tags: tuple[str, ...] = ()
    is_curved: bool = True  # without curved likings the columns are for all algorithms

    def __repr__(self) -> str:
        return f"<NamedItems: {self.scales.mean.size:,} features and {len(self.tags):,} tags>"

    @classmethod
    def fit(
        cls, features: ArrayLike, tags: Sequence[Iterable[str]] | None = None, **settings: bool
    ) -> NamedItems:
        """Return the columns of a catalogue: one row of features and some tags for each item."""
        scales = Standardiser.fit(features)
        check_entries("tags", tags, np.shape(features)[0])
        kept = () if tags is None else frequent_tags(checked_tags(tags))
        return cls(scales=scales, tags=kept, **settings)

    def table(self, features: ArrayLike, tags: Sequence[Iterable[str]] | None = None) -> Features:
        """Return a row of columns for each item: (S, p)."""
        table = self.scales.apply(features)
        sound, names, curves = table[:, :-1], table[:, :0], table[:, :0]
        if self.is_curved:
            sound /= max(self.scales.varying, 1) ** 0.5
            curves = curved_columns(sound)
        check_entries("tags", tags, len(table))
        if self.tags:
            each = [()] * len(table) if tags is None else checked_tags(tags)
            names = tag_columns(each, self.tags)
        return np.concatenate([curves, names, sound, table[:, -1:]], axis=1, dtype=table.dtype)

    def prior(self) -> ListenerPrior:
        """Return the prior for people that goes with these columns."""
        sound, tags = len(self.scales.mean), len(self.tags)
        if not self.is_curved:
            return radio_prior(tags + sound + 1)
        curved = CURVED if sound else 0
        return people_prior(curved + tags + sound + 1, curved=curved, tags=tags)


def groups_of(count: int, names: Names, known: KnownNames) -> SongGroups:
    """Return what items have in common; `known` has the numbers of names, and gets new ones."""
    found = {}
    for kind in ("songs", "albums", "artists"):
        entries: Any = names.get(kind)
        check_entries(kind, entries, count)
        each = [None] * count if entries is None else entries
        found[kind] = identities(each, known.setdefault(kind, {}))
    return SongGroups.of(song=found["songs"], album=found["albums"], artist=found["artists"])


def check_entries(name: str, entries: Sequence[Any] | None, count: int) -> None:
    """Refuse names that are not one for each item."""
    if entries is None:
        return
    got = str(len(entries)) if hasattr(entries, "__len__") else repr(entries)
    if got != str(count):
        msg = f"{name} must have one entry per song ({count}), got {got}"
        raise InvalidInputError(msg)

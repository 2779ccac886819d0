"""What the radio has to play, and how it sounds: one value that is exchanged when songs change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bandstand.music.catalogue.catalogue import Catalogue, load_shelf
from bandstand.music.catalogue.projected import Sound, load_sound
from bandstand.radio.selection.training_data import nothing_known

if TYPE_CHECKING:
    from bandstand.music.audio.projection import Projection
    from bandstand.radio.selection.training_data import FeaturesOf
    from bandstand.store.database.connection import Store


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stock:
    """The songs that can be played, and the projection that their features were made with."""

    shelf: Catalogue
    sound: Sound | None

    @property
    def features_of(self) -> FeaturesOf:
        """What gives the features of songs that are not on the shelf."""
        return nothing_known if self.sound is None else self.sound.features

    def projection(self, shelf: Catalogue) -> Projection | None:
        """Return what a shelf's features were made with, unless it is another one than this."""
        return None if self.sound is None or shelf is not self.shelf else self.sound.projection


def load_stock(store: Store, before: Stock | None = None) -> Stock:
    """Return what a store has now; what it had `before` saves reading what has not changed."""
    shelf = load_shelf(store, None if before is None else before.shelf)
    sound = load_sound(store)
    # A scan may have fitted another projection between the two; the next refresh brings it.
    if sound is not None and shelf.stamp.get("projection") != sound.version:
        sound = None
    return Stock(shelf=shelf, sound=sound)

"""What the server keeps in memory for apps: artists and albums, listeners' marks, players.

All of it can be lost: it follows from the catalogue and the log, or is over with the song.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection

from bandstand.radio.service import Radio
from bandstand.store import app_state
from bandstand.store.events import events
from bandstand.web.rest.entries import Marks, Said
from bandstand.web.rest.library import Library
from bandstand.web.rest.plays import NO_PLAYER, Heard, Player

ALBUM_RATINGS: Final = "ratings"
_MAX_LISTENERS: Final = 32
_MAX_PLAYERS: Final = 1_000

PlayerKey = tuple[str, str, str]  # account, app password, client


class RestMemory:
    """Caches of one server; shared by threads."""

    def __init__(self, radio: Radio) -> None:
        self._radio = radio
        # Held for moments only: the event loop takes it too. A library takes a second to build.
        self._lock = threading.Lock()
        self._building = threading.Lock()
        self._library: Library | None = None
        self._said: OrderedDict[str, Said] = OrderedDict()
        self._players: OrderedDict[PlayerKey, Player] = OrderedDict()

    def library(self) -> Library:
        """Return the artists and albums of the catalogue of this moment."""
        catalogue = self._radio.catalogue
        with self._building:
            if self._library is None or self._library.catalogue is not catalogue:
                with self._radio.store.reading(limit=None) as connection:
                    self._library = Library.of(catalogue, connection)
            return self._library

    def marks(self, connection: Connection, account: str) -> Marks:
        """Return a listener's marks as of this moment's log."""
        ratings = app_state.get(connection, account, ALBUM_RATINGS)
        end = events.end(connection, account).seq
        with self._lock:
            said = self._said.get(account)
        if said is None or said.seq != end:
            said = _caught_up(connection, account, said or Said())
            with self._lock:
                self._said[account] = said
                self._said.move_to_end(account)
                while len(self._said) > _MAX_LISTENERS:
                    self._said.popitem(last=False)
        return Marks(said=said, ratings=ratings)

    def players(self, account: str | None = None) -> list[tuple[PlayerKey, Player]]:
        """Return the players of an account, or all of them, the one heard of last at the end."""
        with self._lock:
            found = list(self._players.items())
        return [(key, player) for key, player in found if account in {None, key[0]}]

    def follow(
        self, key: PlayerKey, step: Callable[[Player], tuple[Player, list[Heard]]]
    ) -> list[Heard]:
        """Bring a player one step further, and return what was heard by then."""
        with self._lock:
            player, heard = step(self._players.get(key, NO_PLAYER))
            self._players[key] = player
            self._players.move_to_end(key)
            while len(self._players) > _MAX_PLAYERS:
                self._players.popitem(last=False)
        return heard


def _caught_up(connection: Connection, account: str, said: Said) -> Said:
    """Return what a log says by now; it is read again from its beginning after a retraction."""
    news = list(events.after(connection, account, said.seq))
    if said.seq and any(event.retracts is not None for event in news):
        said, news = Said(), list(events.after(connection, account))
    retracted = {event.retracts for event in news}
    return said.extended(event for event in news if event.seq not in retracted)

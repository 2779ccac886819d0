"""Exports of music services as JSON: Spotify's two kinds, and ListenBrainz.

A kind is known by the keys of its entries. A file has entries of one kind; what is not music
(podcasts, audiobooks) is counted and left out.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from bandstand.errors import InvalidInputError
from bandstand_lab.histories.entries import Entry, entries
from bandstand_lab.histories.era import era_of_services
from bandstand_lab.histories.listenbrainz import LISTENBRAINZ, within_answer
from bandstand_lab.histories.places import listed, refusal
from bandstand_lab.histories.spotify import ACCOUNT, EXTENDED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand_lab.histories.gathering import Gathering
    from bandstand_lab.histories.opening import Document

_KINDS: Final = (EXTENDED, ACCOUNT, LISTENBRAINZ)
EMPTY: Final = "JSON without entries"


def read_entries(document: Document, gathering: Gathering, *, now: float) -> bool:
    """Add the plays of a JSON file to `gathering`; return whether it was a history at all.

    Only in an archive, which has other things as well, a file may be none.
    """
    name = document.name
    found = within_answer(name, entries(name, document.stream))
    first = _first(document, found)
    if first is None:
        gathering.close(gathering.page(name), EMPTY)
        return True
    kind = next((kind for kind in _KINDS if kind.fits(first.value)), None)
    if kind is None and document.may_be_other:
        return False
    if kind is None:
        expected = "expected an entry of an export of Spotify or ListenBrainz"
        raise refusal(name, first.where, f"{expected}, got one with {_keys(first)}")
    page, era = gathering.page(name), era_of_services(now)
    for entry in chain([first], found):
        if not kind.fits(entry.value):
            what = f"expected an entry of {kind.name}, as the first is, got one with {_keys(entry)}"
            raise refusal(name, entry.where, what)
        kind.take(page, entry, era)
    gathering.close(page, kind.name)
    return True


def _first(document: Document, found: Iterator[Entry]) -> Entry | None:
    """Return the first entry; one without keys where it cannot be read and need not be."""
    try:
        return next(found, None)
    except InvalidInputError:
        if document.may_be_other and not document.is_likely:
            return Entry(1, 1, {})
        raise


def _keys(entry: Entry) -> str:
    return f"the keys {listed(list(entry.value))}" if entry.value else "no keys"

"""A process of its own that asks for songs of an arm and rates them until there are no more."""

from __future__ import annotations

from bandstand.errors import RefusedError
from bandstand.radio.clock import system_clock
from bandstand.radio.service import Radio
from bandstand.radio.study.desk import StudyDesk
from bandstand.store.database.connection import open_store


def ask_apart(place: str, account: str, arm: str) -> int:
    """Return how many ratings this process was told to have counted."""
    counted = 0
    with open_store(place, wait=30) as store:
        radio = Radio(store, clock=system_clock)
        desk = StudyDesk(store, radio, system_clock)
        try:
            while True:
                shown = desk.next(account, arm)
                try:
                    # All rate alike, so that whoever comes second is told the same.
                    desk.rate(
                        account, arm, number=shown.number, stars=3, known=True, played_seconds=None
                    ).result()
                    counted += 1
                except RefusedError as no:
                    if no.code not in {"not_offered", "finished"}:
                        raise
        except RefusedError as no:
            if no.code != "finished":
                raise
        finally:
            radio.close()
    return counted

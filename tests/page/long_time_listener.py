"""A radio that somebody has listened to for three months, with 300 ratings; and its server.

    python -m tests.page.long_time_listener FOLDER [--music FOLDER]

fills a store below FOLDER, serves it and prints the address and a cookie. "ann", an admin, is
the listener; "ben" has not listened yet. The music is the demo library unless another folder is
named. Everything follows from the seed and the moment that counts as now.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import update

from bandstand.music.catalogue.refresh import refreshed
from bandstand.music.library.analysers import LocalAnalyser
from bandstand.music.library.scan import scan
from bandstand.music.library.walk import library_roots
from bandstand.radio.clock import system_clock
from bandstand.radio.service import Radio
from bandstand.store import playlists
from bandstand.store.database.connection import open_store
from bandstand.store.database.schema import ACCOUNT
from bandstand.web import cookies
from bandstand.web.access import Access
from bandstand_demo.library import demo_library
from tests.page.evenings import DAY, DAYS, HOUR, RATINGS, Clock, Life, planned, somebody
from tests.web.serving import prepared

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bandstand.store.database.connection import Store
    from bandstand_lab.simulation.listener import StarListener
    from tests.web.serving import Server

SEED = 7
# A file that is no music, whatever its name says; a library of some years has a few.
_BROKEN = {"Unfinished mix.flac": b"fLaC" + bytes(400), "Rehearsal, side B.mp3": b"no sound\n" * 60}


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTime:
    """A server that is ready to start, and the truth about its listener."""

    server: Server
    listener: StarListener
    now: int  # the moment at which the last evening ended, or a little later


@contextmanager
def long_time_listener(
    home: Path,
    *,
    music: Path | None = None,
    now: int | None = None,
    seed: int = SEED,
    wrapper: Sequence[str] = (),
) -> Iterator[LongTime]:
    """Give the server of a radio that has been listened to for three months; it runs."""
    found = filled(home, music=music, now=now, seed=seed)
    found.server.wrapper = list(wrapper)
    try:
        found.server.start()
        yield found
    finally:
        found.server.close()


def filled(
    home: Path,
    *,
    music: Path | None = None,
    now: int | None = None,
    seed: int = SEED,
    ratings: int = RATINGS,
) -> LongTime:
    """Return the server, not yet started; whoever has it calls `close`."""
    moment = system_clock() if now is None else now
    folders = [_music(home) if music is None else music, _broken(home)]
    server = prepared(home, folders=folders)
    began = moment - (DAYS + 1) * DAY
    with open_store(server.store) as store:
        _settle(store, server, began, seed)
        with LocalAnalyser() as analyser:
            scan(store, library_roots(folders), analyser, now=lambda: began)
        refreshed(store, now=began)
        listener = _lived(store, server.ids["ann"], moment, seed, ratings)
    return LongTime(server=server, listener=listener, now=moment)


def _music(home: Path) -> Path:
    folder = home / "Music"
    demo_library(folder)
    return folder


def _broken(home: Path) -> Path:
    folder = home / "Old tapes"
    folder.mkdir(exist_ok=True)
    for name, content in _BROKEN.items():
        (folder / name).write_bytes(content)
    return folder


def _settle(store: Store, server: Server, began: int, seed: int) -> None:
    """Let the accounts be as old as the story, and let chance be the same every time."""
    with store.writing() as connection:
        for number, account in enumerate(server.ids.values()):
            changes = {"seed": seed + number, "created_at": began + number * 40 * DAY}
            connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == account).values(changes))


def _lived(store: Store, account: str, now: int, seed: int, ratings: int) -> StarListener:
    rng = np.random.default_rng(seed)
    clock = Clock(now - (DAYS + 1) * DAY)
    radio = Radio(store, clock=clock)
    try:
        listener = somebody(radio.shelf, rng)
        life = Life(radio=radio, account=account, listener=listener, clock=clock, rng=rng)
        evenings = planned(now, rng, ratings=ratings)
        life.live(evenings[:-9])
        _save(store, radio, account, "Sunday morning", count=14)
        life.live(evenings[-9:])
        _save(store, radio, account, "For the train", count=9)
    finally:
        radio.close()
    assert clock() <= now, (clock() - now) / HOUR
    return listener


def _save(store: Store, radio: Radio, account: str, name: str, *, count: int) -> None:
    chosen = [offer.song.id for offer in radio.playlist(account, count=count)]
    with store.writing() as connection:
        playlists.create(connection, account=account, name=name, songs=chosen, now=radio.clock())


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description="A radio with a listener of 300 ratings.")
    parser.add_argument("home", type=Path, help="a folder for the store and the music")
    parser.add_argument("--music", type=Path, help="a folder of music instead of the demo library")
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    asked.home.mkdir(parents=True, exist_ok=True)
    (asked.home / "radio.db").unlink(missing_ok=True)
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with long_time_listener(asked.home, music=asked.music, seed=asked.seed) as found:
        server = found.server
        print(f"{server.address} after {time.monotonic() - began:.0f} s")  # noqa: T201
        for name, token in server.tokens.items():
            print(f"{name}: {cookies.name_of(Access())}={token}", flush=True)  # noqa: T201
        try:
            signal.pause()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()

"""A process that sends events to a store and says what became of each.

  python -m tests.store.send_events PLACE COUNT [--threads N] [--synchronous LEVEL] [--checkpoint N]

For each event it writes one line to standard output, in one piece: "stored ACCOUNT KEY SEQ" once
it has the answer, or "refused KEY ERROR". Every thread is one account, which sends one event after
the other. It ends with "failure …", which is what the writer says of itself.

What a store is never told to do, its tests tell the driver: another level of `synchronous`, and
after how many pages the write-ahead log is moved into the file.
"""

from __future__ import annotations

import argparse
import os
import threading
from typing import TYPE_CHECKING

from sqlalchemy import event
from sqlalchemy.pool import Pool

from bandstand.errors import StoreError
from bandstand.store import accounts
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.writer import GroupWriter
from bandstand.store.songs.songs import present
from tests.store.sample_log import NOW, adding, new_account, new_songs, rating

if TYPE_CHECKING:
    import sqlite3

    from bandstand.store.events.events import Appended, NewEvent


def prepare(place: str, threads: int) -> None:
    """Make a store with accounts and songs to send events with."""
    with open_store(place, now=NOW) as store, store.writing() as connection:
        new_songs(connection)
        for _ in range(threads):
            new_account(connection)


def say(line: str) -> None:
    """Write one line at once, so that nothing of it is lost with the process."""
    os.write(1, f"{line}\n".encode())


def sent(writer: GroupWriter, new: NewEvent) -> Appended:
    """Return what a writer answers to an event."""
    return writer.submit(adding(new), order=new.account).result()


def send(store: Store, *, count: int, threads: int, prefix: str) -> None:
    """Send events from several accounts at once, and say what became of each."""
    with store.reading() as connection:
        ids = [account.id for account in accounts.all_accounts(connection)][:threads]
        songs = [song.id for song in present(connection)]
    with GroupWriter(store) as writer:

        def work(account: str) -> None:
            for number in range(count):
                new = rating(account, songs[number % len(songs)], f"{prefix}{number}")
                try:
                    done = sent(writer, new)
                    say(f"stored {account} {new.key} {done.event.seq}")
                except StoreError as problem:
                    say(f"refused {new.key} {type(problem).__name__}")

        together = [threading.Thread(target=work, args=(account,)) for account in ids]
        for thread in together:
            thread.start()
        for thread in together:
            thread.join()
        say(f"failure {writer.failure}")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("place")
    parser.add_argument("count", type=int)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--synchronous")
    parser.add_argument("--checkpoint", type=int)
    options = parser.parse_args()

    def set_up(connection: sqlite3.Connection, *_: object) -> None:
        if options.synchronous:
            connection.execute(f"PRAGMA synchronous = {options.synchronous}")
        (reads,) = connection.execute("PRAGMA query_only").fetchone()
        if options.checkpoint and not reads:
            connection.execute(f"PRAGMA wal_autocheckpoint = {options.checkpoint}")

    if options.synchronous or options.checkpoint:
        event.listen(Pool, "checkout", set_up)
    with open_store(options.place) as store:
        send(store, count=options.count, threads=options.threads, prefix=options.prefix)


if __name__ == "__main__":
    main()

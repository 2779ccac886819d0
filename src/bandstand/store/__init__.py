"""The store: songs and files, accounts and their event logs, in SQLite or PostgreSQL.

One code base serves both databases, and one suite of tests runs over both. Functions take a
connection, so that the caller decides what belongs to one transaction:

    with open_store("music.db") as store, store.writing() as connection:
        events.append(connection, new, now=now)
"""

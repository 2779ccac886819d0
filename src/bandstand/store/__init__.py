"""What Bandstand keeps: songs and files, listeners and what they did, in SQLite or PostgreSQL.

One code base serves both databases, and one suite of tests runs over both.

location      which store: a path, `sqlite:///…`, `postgresql://…`, or the user's own
connection    a `Store` that is open: `reading()` and `writing()` give a connection
files         the files of the library: seen, changed, moved, missing, unreadable
recording     what an analysis found goes in, and files get their songs
moving        a file that turns up elsewhere keeps its song
songs         songs by id, path or name; their descriptors
song_pages    lists of songs: filters, orders, pages
song_names    the artists, albums and genres there are
names         when two names are the same name (pure)
scans         which scans there were
projections   how descriptors were turned into features, version by version
events        the log of each account: append, read, check that it is whole
plays         which events belong to one play of a song (pure)
writer        one thread that commits together what waits together
snapshots     what was derived from a log, up to some event
accounts      who listens, with passwords' hashes and settings
sessions      who is logged in, and where
playlists     songs that listeners have put together
studies       who compares algorithms without knowing which one plays, and what they said
backup        a safety copy, also while the store is used; `restore` makes a store of it
verify        whether the store is whole
transfer      the store as lines of JSON, and such lines as a store
serving       one server to a SQLite file
identity      the store's own id, and how often its songs have changed
values        what may go in: finite numbers, clean text, integers of 64 bits
schema        the tables, as the queries know them
migrations    how the tables came to be, step by step

The functions take a connection, so that their caller decides what belongs to one transaction.
"""

"""An import reaches the radio at once, and leaves it as it was."""

from pathlib import Path

from bandstand.radio.log import snapshots
from bandstand.radio.log.snapshots import check, rebuild
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.location import SqliteLocation
from bandstand.store.events import imports
from bandstand.store.transfer.backup import backup, restore
from bandstand.store.transfer.jsonl import export_lines, import_lines
from tests.fixtures.radio.imports import played, segment
from tests.fixtures.radio.listeners import stored
from tests.fixtures.radio.logs import DAY, SONGS, Log


def log() -> Log:
    made = Log()
    for place, song in enumerate(SONGS):
        made.add("rating", song, stars=1 + place % 5)
    return made


def test_snapshots_take_part(store: Store) -> None:
    (account,) = stored(store, made := log())
    with store.reading() as connection:
        known, _ = snapshots.load(connection, account)
    song = known.plays.songs[0]
    plays = segment([played(song, made.clock - at * DAY) for at in (9, 5, 2)])
    with store.writing() as connection:
        snapshots.save(connection, account, known)
        number = imports.save(connection, account, plays, now=made.clock + 1).event.seq
        after = snapshots.catch_up(connection, account, known)
        assert len(after.plays) == len(known.plays) + 3
        assert snapshots.load(connection, account)[0].digest() == after.digest()
        snapshots.save(connection, account, after)
    assert check(store) == []
    assert rebuild(store).digests[account] == after.digest()
    with store.writing() as connection:
        imports.undo(connection, account, number, now=made.clock + 2)
        undone = snapshots.catch_up(connection, account, after)
        assert snapshots.load(connection, account)[0].digest() == undone.digest()
    assert undone.digest(numbered=False) == known.digest(numbered=False)
    assert check(store) == []


def test_a_backup_and_an_export_have_it(store: Store, tmp_path: Path) -> None:
    (account,) = stored(store, made := log())
    with store.writing() as connection:
        song = snapshots.load(connection, account)[0].plays.songs[0]
        imports.save(connection, account, segment([played(song, made.clock)]), now=made.clock + 1)
    digest = rebuild(store).digests[account]
    backup(store, tmp_path / "copy.db")
    restore(tmp_path / "copy.db", SqliteLocation(path=tmp_path / "restored.db"))
    with open_store(str(tmp_path / "restored.db")) as restored:
        assert rebuild(restored).digests[account] == digest
    lines = list(export_lines(store))
    with open_store(str(tmp_path / "imported.db")) as imported:
        import_lines(imported, lines)
        assert rebuild(imported).digests[account] == digest
        assert list(export_lines(imported)) == lines
    assert any(song in line for line in export_lines(store, account=account))

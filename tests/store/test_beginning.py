"""One place says how a transaction begins; everything else writes through `writing()`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event

import bandstand
from bandstand.store.database.connection import open_store
from bandstand.store.songs import scans

SOURCE = Path(bandstand.__file__).parent
# Who may begin a transaction, and who may open a database.
BEGINNERS = {f"store/database/{name}.py" for name in ("connection", "secure_erase", "sqlite_file")}
# Who may undo a part of a transaction that was begun as it should be.
NESTERS = {"store/database/writer.py"}
BEGINNING = re.compile(
    r"\s*(BEGIN(\s+(DEFERRED|IMMEDIATE|EXCLUSIVE|TRANSACTION|WORK))*|SAVEPOINT\s+\w+"
    r"|START\s+TRANSACTION.*)[\s;]*",
    re.IGNORECASE,
)
DRIVERS = {"sqlite3", "psycopg", "psycopg_pool", "asyncpg"}
# It reads the databases of other programs.
OTHERS = "music/histories/libraries.py"


def offences(where: str, code: str) -> Iterator[str]:
    """Yield what a module does to a database that only `writing()` and `reading()` may do."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        match node:
            # What a database is asked to do is the first argument of a call of a method.
            case ast.Call(args=[ast.Constant(value=str(text)), *_]) if (
                _begins(text) and where not in BEGINNERS
            ):
                yield text
            case ast.Attribute(
                attr="begin" | "begin_nested" | "connect" | "raw_connection" as name
            ):
                allowed = BEGINNERS | NESTERS if name == "begin_nested" else BEGINNERS
                if where.startswith("store/") and where not in allowed:
                    yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                words = {alias.name.partition(".")[0] for alias in names}
                words.add((getattr(node, "module", None) or "").partition(".")[0])
                driven = words & DRIVERS and not where.startswith(("store/", OTHERS))
                if driven or ("create_engine" in words and where not in BEGINNERS):
                    yield ", ".join(sorted(words))


def _begins(text: str) -> bool:
    return BEGINNING.fullmatch(text) is not None


def test_no_module_begins_a_transaction_of_its_own() -> None:
    found = {
        (where, offence)
        for path in SOURCE.rglob("*.py")
        for where in [path.relative_to(SOURCE).as_posix()]
        for offence in offences(where, path.read_text(encoding="utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ("library/scan.py", 'connection.exec_driver_sql("begin;")'),
        ("store/songs/files.py", 'connection.exec_driver_sql("SAVEPOINT a")'),
        ("store/songs/files.py", 'a(state="begin"); connection.exec_driver_sql("begin")'),
        ("store/songs/files.py", 'connection.exec_driver_sql(" BEGIN DEFERRED")'),
        ("store/songs/files.py", "with engine.begin(): pass"),
        ("store/songs/files.py", "connection.begin_nested()"),
        ("store/database/writer.py", "with engine.begin(): pass"),
        ("library/scan.py", "import sqlite3"),
        ("library/scan.py", "from sqlite3 import connect"),
        ("library/scan.py", "from sqlalchemy import create_engine"),
    ],
)
def test_a_planted_transaction_is_found(where: str, code: str) -> None:
    assert list(offences(where, code))


def test_every_transaction_that_may_write_takes_the_lock_at_once(tmp_path: Path) -> None:
    statements: list[str] = []
    with open_store(str(tmp_path / "radio.db")) as store:
        for engine in (store._engines.reader, store._engines.writer):
            event.listen(engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
        with store.writing() as connection:
            scans.begin(connection, now=1)
        assert statements[0] == "BEGIN IMMEDIATE"
        assert sum(_begins(statement) for statement in statements) == 1
        statements.clear()
        with store.reading() as connection:
            scans.latest(connection)
        assert statements[0] == "BEGIN DEFERRED"

"""`backup`, `restore`, `verify`, `export` and `import`, as commands."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import delete, update

from bandstand.radio.log.fold import VERSION
from bandstand.store import studies
from bandstand.store.database.connection import open_store
from bandstand.store.database.location import parse_location
from bandstand.store.database.schema import STUDY
from bandstand.store.database.serving_lock import serving_lock
from bandstand.store.events import snapshots
from bandstand.study.records import SongSnapshot, to_bytes
from tests.fixtures.cli.run_command import assert_refused, python_apart, run, run_apart
from tests.fixtures.store.sample_store import Life, add_life


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "radio.db")


def frozen() -> bytes:
    """Return the songs of a study."""
    return to_bytes(SongSnapshot.of(["a", "b"], np.ones((2, 3))))


@pytest.fixture
def life(store: str) -> Life:
    with open_store(store) as opened:
        life = add_life(opened)
        with opened.writing() as connection:
            # Neither is what a radio would keep.
            snapshots.delete_all(connection)
            connection.execute(update(STUDY).values(catalogue=frozen()))
    return life


@pytest.mark.usefixtures("life")
def test_a_store_is_backed_up_lost_and_restored(store: str, tmp_path: Path) -> None:
    copy = tmp_path / "radio.backup"
    outcome = run("backup", copy, "--store", store)
    assert outcome.code == 0, outcome
    assert outcome.out.startswith(f"Backed up to {copy} (")
    assert run("export", tmp_path / "before.jsonl", "--store", store).code == 0
    Path(store).unlink()
    assert run("restore", copy, "--store", store).out == f"Restored {store} from {copy}.\n"
    assert run("export", tmp_path / "after.jsonl", "--store", store).code == 0
    assert (tmp_path / "before.jsonl").read_bytes() == (tmp_path / "after.jsonl").read_bytes()
    assert run("verify", "--store", store).out == "Whole: 5 songs, 2 accounts, 40 events.\n"
    kept = run("restore", copy, "--replace", "--store", store)
    assert f"kept as {store}.before-restore." in kept.out


@pytest.mark.usefixtures("life")
def test_files_that_exist_are_written_over_only_if_told(store: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert run("backup", copy, "--store", store).code == 0
    assert_refused(run("backup", copy, "--store", store), "--replace")
    assert run("backup", copy, "--replace", "--store", store).code == 0
    assert_refused(run("restore", copy, "--store", store), "--replace")


def test_where_there_is_no_store_none_is_made(store: str, tmp_path: Path) -> None:
    for words in (
        *(("backup", tmp_path / "x"), ("export", tmp_path / "x")),
        *(("verify",), ("rebuild",), ("playlist",)),
    ):
        assert_refused(run(*words, "--store", store), "a store was expected")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("life")
def test_a_store_in_use_is_not_restored(store: str, tmp_path: Path) -> None:
    assert run("backup", tmp_path / "copy", "--store", store).code == 0
    with serving_lock(parse_location(store)):
        outcome = run("restore", tmp_path / "copy", "--replace", "--store", store)
    assert_refused(outcome, "process ", code=1)


def test_what_is_no_backup_is_refused(store: str, tmp_path: Path) -> None:
    letter = tmp_path / "letter"
    letter.write_text("dear Ann " * 200)
    assert_refused(run("restore", letter, "--store", store), "no SQLite database")
    assert_refused(run("verify", "--backup", letter), "no SQLite database")
    assert_refused(run("restore", tmp_path / "none", "--store", store), "No such file")
    assert not Path(store).exists()


@pytest.mark.usefixtures("life")
def test_a_backup_can_be_verified(store: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    run("backup", copy, "--store", store)
    assert run("verify", "--backup", copy).out == "Whole: 5 songs, 2 accounts, 40 events.\n"
    copy.write_bytes(copy.read_bytes().replace(b"Song 3", b"Song 8"))
    assert_refused(run("verify", "--backup", copy), "does not fit its checksum")


def spoil(store: str) -> None:
    with closing(sqlite3.connect(store)) as other:
        other.execute("DROP TRIGGER event_is_never_changed")
        other.execute("UPDATE event SET stars = 1 WHERE stars = 5")
        other.commit()


@pytest.mark.usefixtures("life")
def test_a_damaged_log_is_told_and_is_an_error(store: str) -> None:
    spoil(store)
    outcome = run("verify", "--store", store)
    assert outcome.code == 1
    assert outcome.out.count("event 1 must fit its digest") == 2
    assert outcome.err == "Error: a whole store was expected, got one with 2 problems\n"
    report = json.loads(run("verify", "--json", "--store", store).out)
    assert len(report["problems"]) == 2
    assert report["counts"]["event"] == 40


def test_what_is_derived_and_does_not_fit_is_told(store: str, life: Life) -> None:
    with open_store(store) as opened, opened.writing() as connection:
        snapshots.save(connection, life.ann.id, seq=3, version=VERSION, content=b"no ledger")
    outcome = run("verify", "--store", store)
    assert outcome.code == 1
    assert f"account {life.ann.id}: its snapshot cannot be used" in outcome.out
    assert "bandstand rebuild" in outcome.out


@pytest.mark.usefixtures("life")
@pytest.mark.parametrize(
    ("design", "catalogue", "words"),
    [
        ({"seed": -1.5}, None, "its design cannot be read: "),
        ({}, b"no songs", "its songs cannot be read: "),
        ({}, None, None),
    ],
)
def test_a_study_that_cannot_be_read_is_told(
    store: str, design: dict[str, object], catalogue: bytes | None, words: str | None
) -> None:
    with open_store(store) as opened, opened.writing() as connection:
        connection.execute(delete(STUDY))
        made = studies.create(
            connection, title="Sunday", design=design, catalogue=catalogue or frozen(), now=1
        )
    outcome = run("verify", "--store", store)
    if words is None:
        assert outcome.code == 0, outcome
    else:
        assert outcome.code == 1
        assert outcome.out.startswith(f"study {made.id}: {words}")
        assert outcome.out.count("\n") == 1


@pytest.mark.usefixtures("life")
def test_an_export_can_be_imported_elsewhere(store: str, tmp_path: Path) -> None:
    lines, other = tmp_path / "radio.jsonl", str(tmp_path / "other.db")
    assert run("export", lines, "--store", store) == (0, f"Exported to {lines}.\n", "")
    assert lines.stat().st_mode & 0o777 == 0o600
    outcome = run("import", lines, "--store", other)
    assert outcome.out.splitlines()[0] == "Imported 5 songs, 2 accounts, 40 events, 1 playlists."
    assert "user password" in outcome.out
    assert run("export", tmp_path / "again.jsonl", "--store", other).code == 0
    assert (tmp_path / "again.jsonl").read_bytes() == lines.read_bytes()
    assert_refused(run("import", lines, "--store", other), "must be empty")


@pytest.mark.usefixtures("life")
def test_an_export_goes_through_a_pipe(store: str, tmp_path: Path) -> None:
    printed = run_apart("export", "-", "--store", store)
    assert printed.code == 0, printed.err
    assert run("export", tmp_path / "file", "--store", store).code == 0
    assert printed.out.encode() == (tmp_path / "file").read_bytes()
    words = ("-m", "bandstand", "import", "-", "--store", tmp_path / "other.db")
    read = python_apart(printed.out.encode(), *words)
    assert read.code == 0, read.err
    assert read.out.startswith("Imported 5 songs")


def test_what_one_account_has_is_exported(store: str, life: Life, tmp_path: Path) -> None:
    out = tmp_path / "bob.jsonl"
    assert run("export", out, "--user", "bob", "--store", store).code == 0
    text = out.read_text(encoding="utf-8")
    assert life.bob.id in text
    assert life.ann.id not in text
    assert_refused(run("export", out, "--user", "carl", "--store", store), "no account has")
    assert out.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"\xff\xfe", b"once upon a time\n", b"[" * 9_999]
)
def test_what_is_no_export_is_refused(store: str, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    assert_refused(run("import", file, "--store", store), "export")
    assert_refused(run("import", tmp_path / "none", "--store", store), "No such file")
    assert run("verify", "--store", store).out == "Whole: 0 songs, 0 accounts, 0 events.\n"


@pytest.mark.usefixtures("life")
def test_a_place_that_cannot_be_written_is_refused(store: str, tmp_path: Path) -> None:
    for command in ("backup", "export"):
        for place in (tmp_path, tmp_path / "none" / "file"):
            assert_refused(run(command, place, "--store", store))


@pytest.mark.usefixtures("life")
def test_an_export_writes_over_older_exports_only(store: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in range(2):
        assert run("export", out, "--store", store).code == 0
    before = Path(store).read_bytes()
    (tmp_path / "link").symlink_to(store)
    for place in (store, tmp_path / "link"):
        assert_refused(run("export", place, "--store", store), "older export")
    assert Path(store).read_bytes() == before
    assert run("export", "/dev/null", "--store", store).code == 0
    assert Path("/dev/null").is_char_device()

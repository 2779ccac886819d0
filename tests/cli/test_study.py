"""`bandstand study` from the first file to the report, and all that it refuses."""

import csv
import io
import re
import stat
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bandstand.music.catalogue.catalogue import load_catalogue
from bandstand.store import accounts, studies
from bandstand.store.database.connection import open_store
from bandstand.store.database.location import parse_location
from bandstand.store.database.serving_lock import serving_lock
from bandstand.study.design import Design, read_design
from bandstand.study.study_store import open_study
from bandstand.web.security.passwords import check
from tests.fixtures.child_processes import PATIENCE, started
from tests.fixtures.cli.run_command import Outcome, assert_refused, environment, run
from tests.fixtures.lab.study_reports import all_files
from tests.fixtures.music.audio_files import encoded, piece
from tests.fixtures.study.participants import add_songs

SONGS = 12
NAMES = ("Ottilie", "Balthasar")
_ADDRESS = re.compile(r"^Bandstand plays at (\S+)$", re.MULTILINE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the file of a study without waits, which takes a second."""
    return written(tmp_path / "study.toml")


def written(path: Path, **changes: Any) -> Path:
    fields: dict[str, Any] = {
        "title": "Evenings",
        "algorithms": ["random", "greedy-cn"],
        "ratings_per_arm": 3,
        "listen_seconds": 0,
        "rest_seconds": 0,
        "gap_hours": 0,
        "answer_seconds": 0,
        "least_songs": SONGS,
        **changes,
    }
    path.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in fields.items()))
    return path


def _toml(value: Any) -> str:
    return repr(value).replace("'", '"')


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Return a store with analysed songs, as many as a study needs."""
    place = str(tmp_path / "radio.db")
    with open_store(place) as opened:
        add_songs(opened, SONGS)
    return place


@contextmanager
def running(*args: str | Path, home: Path) -> Iterator[str]:
    """Give the address of a study that is served by a process of its own."""
    log = home / "served.txt"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "bandstand", "study", "run", *args, "--port", "0"]
        variables = environment(XDG_DATA_HOME=str(home / "data"), XDG_CONFIG_HOME=str(home / "c"))
        with started(
            command, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        ) as process:
            yield _address(process, log)
            process.terminate()
            assert process.wait(PATIENCE) == 0, log.read_text()


def _address(process: subprocess.Popen[Any], log: Path) -> str:
    until = time.monotonic() + PATIENCE
    while not (found := _ADDRESS.search(log.read_text())):
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.05)
    return found[1]


def take_part(address: str, name: str, password: str) -> None:
    """Do the whole study as a browser would."""
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        login = client.post("/api/session", json={"name": name, "password": password})
        assert login.status_code in {200, 201}, login.text
        status = client.post("/api/study/consent", json={"agree": True}).json()["study"]
        for arm in [each["id"] for each in status["arms"]]:
            assert client.post(f"/api/study/arms/{arm}/begin").status_code == 200
            for number in (1, 2, 3):
                shown = client.post(f"/api/study/arms/{arm}/next").json()
                assert shown["number"] == number
                rating = {"number": number, "stars": 1 + number, "played_seconds": 1.0}
                assert client.post(f"/api/study/arms/{arm}/ratings", json=rating).is_success


# ── From the first file to the report ────────────────────────────────────────────────────


def test_a_study_from_the_first_file_to_the_report(tmp_path: Path) -> None:
    music, store, file = tmp_path / "music", str(tmp_path / "radio.db"), tmp_path / "study.toml"
    music.mkdir()
    for number in range(SONGS):
        (music / f"{number}.wav").write_bytes(encoded("wav", piece(number, seconds=1.0)))
    written(file)
    with running(file, music, "--store", store, home=tmp_path) as address:
        assert f"'Evenings' is open, with {SONGS} songs." in (tmp_path / "served.txt").read_text()
        invited = run("study", "invite", file, *NAMES, "--store", store)
        assert invited.code == 0, invited.err
        for line in invited.out.splitlines():
            take_part(address, *line.split("  "))
    told = run("study", "status", file, "--store", store)
    assert "P1: 2 of 2 parts done, 6 ratings" in told.out
    assert "Taking part: 2. Invited: 0. Numbers are drawn." in told.out
    closed = run("study", "close", file, "--yes", "--store", store)
    assert (closed.code, closed.err) == (0, "")
    report = run("study", "report", file, tmp_path / "out", "--store", store)
    assert report.code == 0, report.err
    assert "the most people that a pair has is 2" in report.out
    again = run("study", "report", "--from", tmp_path / "out" / "export", tmp_path / "again")
    assert again.code == 0, again.err
    assert all_files(tmp_path / "again") == all_files(tmp_path / "out")
    assert_no_one_is_named(store, tmp_path / "out")
    assert_refused(run("study", "run", file, music, "--store", store, "--port", "0"), "closed")


def assert_no_one_is_named(store: str, out: Path) -> None:
    """Check that neither names nor ids of accounts are in a report."""
    with open_store(store) as opened, opened.reading() as connection:
        ids = [account.id for account in accounts.all_accounts(connection)]
    for content in all_files(out).values():
        for word in (*NAMES, *ids):
            assert word.encode() not in content


def test_a_new_file_is_a_study_with_the_papers_numbers(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    assert run("study", "new", file).code == 0
    assert read_design(file) == Design()
    before = file.read_bytes()
    assert_refused(run("study", "new", file), "not there yet")
    assert file.read_bytes() == before
    assert_refused(run("study", "new", tmp_path / "nowhere" / "study.toml"), "can be written")
    assert tomllib.loads(before.decode())["ratings_per_arm"] == 200


# ── What cannot be used: one sentence, nothing changed ───────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"algorithms": ["random", "oracle"]}, ["algorithms", "oracle"]),
        ({"algorithms": ["random"]}, ["algorithms", "at least 2"]),
        ({"algorithms": ["random", "random"]}, ["algorithms", "twice"]),
        ({"arms_per_day": 5, "gap_hours": 6}, ["arms_per_day", "24 hours"]),
        ({"rest_seconds": -1}, ["rest_seconds"]),
        ({"ratings": 100}, ["ratings"]),
        ({"ratings_per_arm": 0}, ["ratings_per_arm"]),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_before_anything_is_made(
    tmp_path: Path, changes: dict[str, Any], words: list[str]
) -> None:
    file, store = written(tmp_path / "bad.toml", **changes), tmp_path / "radio.db"
    outcome = run("study", "run", file, tmp_path, "--store", store, "--port", "0")
    assert_refused(outcome, str(file), *words)
    assert not store.exists()


def test_too_few_songs_are_refused_before_they_are_analysed(tmp_path: Path, file: Path) -> None:
    store = tmp_path / "radio.db"
    (tmp_path / "one.wav").write_bytes(encoded("wav", piece(1, seconds=1.0)))
    outcome = run("study", "run", file, tmp_path, "--store", store, "--port", "0")
    assert_refused(outcome, f"at least {SONGS} songs", "got 1 file")
    assert_refused(run("study", "run", file, "--store", store, "--port", "0"), "songs")
    assert not store.exists()


def test_songs_that_cannot_be_analysed_do_not_count(tmp_path: Path, file: Path, store: str) -> None:
    many = written(tmp_path / "many.toml", least_songs=SONGS + 1)
    (tmp_path / "broken.wav").write_bytes(b"no sound")
    command = ("study", "run", many, tmp_path, "--store", store, "--port", "0")
    outcome = run(*command)
    assert outcome.code == 2
    assert f"at least {SONGS + 1} analysed songs, got {SONGS}" in outcome.err
    assert not titles(store)
    assert file.exists()


def titles(store: str) -> list[str]:
    with open_store(store) as opened, opened.reading() as connection:
        return [each.title for each in studies.all_studies(connection)]


def test_a_study_resumed_with_another_configuration_is_refused_and_nothing_is_lost(
    tmp_path: Path, study: tuple[Path, str]
) -> None:
    file, store = study
    before = rows(store)
    other = written(tmp_path / "other.toml", rest_seconds=10, seed=2)
    outcome = run("study", "run", other, "--store", store, "--port", "0")
    assert_refused(outcome, "rest_seconds is 10 instead of 0", "seed is 2 instead of 1")
    assert rows(store) == before
    with running(file, "--store", store, home=tmp_path):
        pass
    assert rows(store) == before


def rows(store: str) -> list[studies.StudyRow]:
    with open_store(store) as opened, opened.reading() as connection:
        return studies.all_studies(connection)


@pytest.mark.parametrize("is_open", [False, True])
def test_a_store_that_is_served_already_is_refused_before_the_scan(
    file: Path, store: str, request: pytest.FixtureRequest, *, is_open: bool
) -> None:
    if is_open:
        request.getfixturevalue("study")
    with serving_lock(parse_location(store)):
        outcome = run("study", "run", file, "--store", store, "--port", "0")
    assert_refused(outcome, "serve", code=1)
    assert outcome.out == ""
    assert len(titles(store)) == is_open


def test_a_file_that_was_changed_changes_nothing_and_is_noted_by_commands_that_only_read(
    tmp_path: Path, study: tuple[Path, str]
) -> None:
    _, store = study
    before = rows(store)
    other = written(tmp_path / "other.toml", algorithms=["random", "linucb-c"], seed=2)
    words = ("algorithms are random, linucb-c instead of random, greedy-cn", "seed is 2 instead of")
    for command in (("invite", other, "ann"), ("close", other, "--yes")):
        assert_refused(run("study", *command, "--store", store), *words)
    assert (rows(store), participants(store)) == (before, {})
    for reading in (("status", other), ("report", other, tmp_path / "out")):
        outcome = run("study", *reading, "--store", store)
        assert outcome.code == 0, outcome.err
        assert outcome.err.startswith("Warning: the study 'Evenings' goes by the design")
        assert all(each in outcome.err for each in words)
    assert "Warning" not in run("study", "status", study[0], "--store", store).err


def test_one_study_at_a_time(tmp_path: Path, study: tuple[Path, str]) -> None:
    _, store = study
    second = written(tmp_path / "second.toml", title="Mornings")
    outcome = run("study", "run", second, "--store", store, "--port", "0")
    assert_refused(outcome, "'Evenings' is", "study close")
    assert titles(store) == ["Evenings"]


def test_a_store_without_the_study_says_how_to_open_it(
    tmp_path: Path, file: Path, store: str
) -> None:
    for command in ("status", "close", "invite"):
        extra = ("ann",) if command == "invite" else ()
        outcome = run("study", command, file, *extra, "--store", store)
        assert_refused(outcome, "'Evenings'", "bandstand study run")
    assert_refused(run("study", "report", file, tmp_path / "o", "--store", store), "'Evenings'")
    assert not (tmp_path / "o").exists()


# ── Invitations ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def study(file: Path, store: str) -> tuple[Path, str]:
    """Return the file and the store of a study that is open."""
    with open_store(store) as opened:
        open_study(opened, load_catalogue(opened), read_design(file), clock=lambda: 0)
    return file, store


def invite(study: tuple[Path, str], *args: str | Path) -> Outcome:
    return run("study", "invite", study[0], *args, "--store", study[1])


def participants(store: str) -> dict[str, studies.ParticipantRow]:
    with open_store(store) as opened, opened.reading() as connection:
        names = {each.id: each.name for each in accounts.all_accounts(connection)}
        (row,) = studies.all_studies(connection)
        people = studies.participants(connection, row.id)
    return {names[each.account]: each for each in people}


def test_invitations_are_shown_once_and_let_people_in(
    tmp_path: Path, study: tuple[Path, str]
) -> None:
    _, store = study
    sheet = tmp_path / "sheet.csv"
    invited = invite(study, "--count", "2", "--csv", sheet)
    assert invited.code == 0, invited.err
    assert stat.S_IMODE(sheet.stat().st_mode) == 0o600
    with sheet.open(newline="") as opened:
        told = {row["name"]: row["password"] for row in csv.DictReader(opened)}
    assert list(told) == ["p01", "p02"]
    assert [line.split("  ") for line in invited.out.splitlines()] == [
        list(each) for each in told.items()
    ]
    with open_store(store) as opened_store, opened_store.reading() as connection:
        for name, password in told.items():
            account = accounts.by_name(connection, name)
            assert account is not None
            assert account.role == "listener"
            assert check(accounts.password_hash(connection, account.id), password).matches
    told_of = run("study", "status", study[0], "--store", store).out
    assert "Taking part: 0. Invited: 2." in told_of
    # Numbers are drawn: the name p01 does not tell the row of the square.
    found = [(each.number, each.made_for_study) for each in participants(store).values()]
    assert sorted(found) == [(1, True), (2, True)]
    third = invite(study, "--count", "1")
    assert third.out.startswith("p03  ")
    assert "the address that `study run` shows; passwords are not shown again" in third.err


def test_an_account_that_exists_takes_part(study: tuple[Path, str]) -> None:
    _, store = study
    with open_store(store) as opened, opened.writing() as connection:
        ann = accounts.create(connection, name="Ann", role="admin", password_hash="x", now=0)  # noqa: S106
    invited = invite(study, "ann", "Ben")
    assert invited.out.splitlines()[0] == "Ann  (has an account)"
    found = participants(store)
    assert (found["Ann"].account, found["Ann"].made_for_study) == (ann.id, False)
    assert found["Ben"].made_for_study


def test_invitations_that_cannot_be_made_change_nothing(
    tmp_path: Path, study: tuple[Path, str]
) -> None:
    _, store = study
    assert invite(study, "ann").code == 0
    before, sheet = participants(store), tmp_path / "sheet.csv"
    assert_refused(invite(study), "neither")
    assert_refused(invite(study, "ben", "--count", "1"), "both")
    assert_refused(invite(study, "ben", "Ben"), "differ")
    assert_refused(invite(study, "ben", "x" * 500), "characters")
    assert_refused(invite(study, "ben", "ann", "--csv", sheet), "in the study", "got 'ann', who is")
    assert not sheet.exists()
    sheet.write_text("mine")
    assert_refused(invite(study, "ben", "--csv", sheet), "not there yet")
    assert sheet.read_text() == "mine"
    assert participants(store) == before
    run("study", "close", study[0], "--yes", "--store", store)
    outcome = invite(study, "ben")
    assert outcome.code == 2
    assert "closed" in outcome.err
    assert participants(store) == before


def test_closing_is_asked_for_and_said_once(
    study: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, store = study
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    assert run("study", "close", file, "--store", store).code == 130  # nobody says yes
    assert rows(store)[0].closed_at is None
    assert run("study", "close", file, "--yes", "--store", store).code == 0
    assert rows(store)[0].closed_at is not None
    assert_refused(run("study", "close", file, "--yes", "--store", store), "is closed")
    assert "closed" in run("study", "status", file, "--store", store).out


# ── Reports ──────────────────────────────────────────────────────────────────────────────


def test_a_simulated_report_says_so_and_plants_what_was_asked_for(
    tmp_path: Path, file: Path
) -> None:
    out = tmp_path / "out"
    outcome = run("study", "report", file, out, "--simulate", "6", "--effect", "greedy-cn=40")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("The participants are simulated: no person has rated anything.\n")
    assert "Clear differences in the end: Greedy-CN above Random" in outcome.out
    text = (out / "index.html").read_text()
    assert "Simulated participants." in text
    assert "greedy-cn +40" in text


def test_reports_that_cannot_be_made_write_nothing(tmp_path: Path, file: Path) -> None:
    out = tmp_path / "out"
    simulated = ("study", "report", out, "--simulate", "2")
    assert_refused(run("study", "report", out), "FILE and OUT")
    assert_refused(run("study", "report"), "got nothing")
    assert_refused(run(*simulated, "--effect", "greedy-cn"), "NAME=STARS")
    assert_refused(run(*simulated, "--effect", "oracle=1"), "oracle")
    assert_refused(run("study", "report", file, out, "--effect", "random=1"), "--simulate")
    assert_refused(run("study", "report", file, out, "--from", tmp_path), "OUT")
    assert_refused(run(*simulated, "--from", tmp_path), "do not go together")
    assert_refused(run("study", "report", out, "--from", tmp_path), "study.json")
    assert_refused(run("study", "report", file, tmp_path, "--simulate", "2"), "new or empty folder")
    assert not out.exists()
    assert [each.name for each in tmp_path.iterdir()] == ["study.toml"]

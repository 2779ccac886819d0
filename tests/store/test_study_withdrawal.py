"""Of a participant who withdraws nothing is left: in the store, its files, copies, exports."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Table, func, select

from bandstand.errors import NotFoundError
from bandstand.store import accounts, sessions, studies
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.schema import STUDY_ARM, STUDY_PARTICIPANT, STUDY_SONG
from bandstand.store.studies import NewArm
from bandstand.store.transfer.backup import backup
from bandstand.store.transfer.jsonl import export_lines
from bandstand.store.transfer.verify import verify
from tests.fixtures.store.sample_store import NOW, add_account, add_songs
from tests.fixtures.store.sample_study import add_study, begun, joined, play

PLANTED = "Xyzzy"  # in what is the participant's and can hold a word
# What SQLite keeps of a number is its bytes, high end first: this one can be read as a word.
PLANTED_NUMBER = "Plover"
PLAYED_MS = int.from_bytes(PLANTED_NUMBER.encode())


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "radio.db")) as opened:
        yield opened


def found(folder: Path, words: list[str]) -> set[str]:
    """Return which words are in any file of a folder."""
    contents = [it.read_bytes() for it in folder.iterdir() if it.is_file()]
    return {word for word in words for content in contents if word.encode() in content}


def count(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0


def take_part(
    store: Store, study: str, songs: list[str], *, made_for_study: bool, ratings: int = 150
) -> tuple[str, list[str]]:
    """Return an account that listens between what others do, and the words that tell of it."""
    draw = random.Random(1)
    with store.writing() as connection:
        account = add_account(connection, PLANTED).id
        number = studies.free_number(connection, study)
        studies.invite(
            connection, study, account, made_for_study=made_for_study, number=number, now=NOW
        )
        arms = [NewArm(place=1, algorithm=f"{PLANTED}-c", seed=1)]
        studies.join(connection, study, account, number=number, arms=arms, now=NOW)
        mine = studies.arms(connection, study, account)[0].id
        other = joined(connection, study, add_account(connection, "Other").id)[0].id
        for arm in (mine, other):
            studies.begin(connection, arm, NOW)
    for number in range(1, ratings + 1):
        with store.writing() as connection:
            play(connection, other, [draw.choice(songs)], start=number)
            song = draw.choice(songs)
            studies.offer(connection, mine, number=number, song=song, choose_ms=5, now=NOW)
            said: dict[str, Any] = {"stars": 3, "known": False, "played_ms": PLAYED_MS}
            studies.rate(connection, mine, number=number, now=NOW, **said)
    with store.writing() as connection:
        studies.offer(connection, mine, number=ratings + 1, song=songs[0], choose_ms=0, now=NOW)
    return account, [f"{PLANTED}-c", mine, PLANTED_NUMBER]


def test_nothing_of_who_withdraws_is_in_the_files(file_store: Store, tmp_path: Path) -> None:
    with file_store.writing() as connection:
        songs = add_songs(connection, 5)
        study = add_study(connection).id
    account, words = take_part(file_store, study, songs, made_for_study=True)
    words += [account, PLANTED]
    assert found(tmp_path, words) == set(words), "the search is blind"
    with file_store.writing() as connection:
        assert studies.withdraw(connection, study, account)
    assert found(tmp_path, words) == set()
    copies = tmp_path / "copies"
    copies.mkdir()
    backup(file_store, copies / "copy")
    (copies / "export").write_text("\n".join(export_lines(file_store)), encoding="utf-8")
    assert found(copies, words) == set()
    assert found(copies, ["Other", "greedy-cn"]) == {"Other", "greedy-cn"}
    assert verify(file_store).is_whole


def test_without_rewriting_the_file_the_search_would_find_something(
    file_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandstand.store.studies.request_erase", lambda _connection: None)
    with file_store.writing() as connection:
        songs = add_songs(connection, 5)
        study = add_study(connection).id
    account, words = take_part(file_store, study, songs, made_for_study=False, ratings=40)
    with file_store.writing() as connection:
        studies.withdraw(connection, study, account)
    assert found(tmp_path, words)


def test_a_withdrawal_that_is_undone_removes_nothing(store: Store) -> None:
    study = begun(store)
    with store.writing() as connection:
        play(connection, study.arm, study.songs)
        before = list(studies.rows(connection, study.id))
    with pytest.raises(KeyError), store.writing() as connection:  # noqa: PT012
        studies.withdraw(connection, study.id, study.account)
        raise KeyError
    with store.reading() as connection:
        assert list(studies.rows(connection, study.id)) == before


@pytest.mark.parametrize("made_for_study", [True, False])
def test_the_tables_have_nothing_of_who_withdraws(store: Store, *, made_for_study: bool) -> None:
    with store.writing() as connection:
        songs = add_songs(connection, 3)
        study = add_study(connection).id
    account, _ = take_part(store, study, songs, made_for_study=made_for_study, ratings=5)
    with store.writing() as connection:
        token = sessions.create(
            connection, account=account, now=NOW, expires_at=NOW + 9, client="Firefox"
        )
        assert studies.withdraw(connection, study, account) is made_for_study
    with store.writing() as connection:
        for table, left in ((STUDY_PARTICIPANT, 1), (STUDY_ARM, 2), (STUDY_SONG, 5)):
            assert count(connection, table) == left
        assert studies.free_number(connection, study) == 1
        assert (accounts.get(connection, account) is None) is made_for_study
        gone = sessions.account_of(connection, token, now=NOW) is None
        assert gone is made_for_study
    words = [PLANTED, account] if made_for_study else [f"{PLANTED}-c"]
    text = "\n".join(export_lines(store))
    assert not any(word in text for word in words)
    with pytest.raises(NotFoundError), store.writing() as connection:
        studies.withdraw(connection, study, account)


def test_one_can_withdraw_from_a_closed_study_and_before_agreeing(store: Store) -> None:
    study = begun(store)
    with store.writing() as connection:
        bob = add_account(connection, "Bob").id
        studies.invite(connection, study.id, bob, made_for_study=True, number=2, now=NOW)
        assert studies.withdraw(connection, study.id, bob)
        studies.close(connection, study.id, NOW)
        assert not studies.withdraw(connection, study.id, study.account)
        assert studies.participants(connection, study.id) == []


def test_the_last_admin_withdraws_and_stays_the_admin(store: Store) -> None:
    study = begun(store)
    with store.writing() as connection:
        only = add_account(connection, "Admin", "admin").id
        studies.invite(connection, study.id, only, made_for_study=True, number=2, now=NOW)
        assert not studies.withdraw(connection, study.id, only)
        assert studies.participant(connection, study.id, only) is None
        assert accounts.get(connection, only) is not None


def test_other_studies_of_the_account_stay(store: Store) -> None:
    study = begun(store)
    with store.writing() as connection:
        studies.close(connection, study.id, NOW)
        second = add_study(connection, "Another").id
        joined(connection, second, study.account)
        theirs = studies.of_account(connection, study.account)
        assert {it.study for it in theirs} == {study.id, second}
        studies.withdraw(connection, study.id, study.account)
        assert studies.participants(connection, study.id) == []
        assert len(studies.arms(connection, second, study.account)) == 2
        assert [it.study for it in studies.of_account(connection, study.account)] == [second]
        assert studies.of_account(connection, "a\0b") == []

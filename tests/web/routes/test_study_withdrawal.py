"""Whoever withdraws leaves nothing behind: searched for byte by byte, in the store and beyond."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from bandstand.core.recommender import Recommender
from bandstand.store import accounts, studies
from bandstand.store.database import secure_erase
from bandstand.store.transfer.jsonl import export_lines
from bandstand.web.security.browser_sessions import NAME
from tests.fixtures.web.studies import Participant, begin_study, close_study, invited, participant
from tests.fixtures.web.worlds import PASSWORD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.web.worlds import World


def listened(person: Participant) -> list[str]:
    """Let somebody take part for a while; return all ids that stand for what they did."""
    person.join()
    arm = person.begin()
    for stars in (5, 1, 4):
        person.rate(arm, stars)
    person.wait(6 * 3_600)
    person.rate(person.begin(2))
    person.offered(person.arm(2))  # and one that waits
    return [row.id for row in person.rows()]


def found_in_files(folder: Path, words: list[str]) -> list[str]:
    """Return which words are anywhere in the files of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert any(path.name == "radio.db" for path in files)
    return [
        f"{path.name}: {word}"
        for path in files
        for content in [path.read_bytes()]
        for word in words
        if word.encode() in content or word.encode("utf-16-le") in content
    ]


def exported(world: World) -> str:
    """Return all lines of the whole store's export."""
    return "\n".join(export_lines(world.store))


def in_memory(*, but: list[Recommender]) -> list[Recommender]:
    """Return the recommenders that this process has, but for those that others made before."""
    gc.collect()
    known = {id(one) for one in but}  # they are held by the list, so no other has their number
    return [one for one in gc.get_objects() if type(one) is Recommender and id(one) not in known]


@pytest.mark.parametrize("when", ["open", "closed"])
def test_an_account_that_was_made_for_the_study_is_gone_altogether(
    world: World, tmp_path: Path, when: str
) -> None:
    study = begin_study(world)
    ann, bob = invited(world, study, "Withdrawn Ann"), invited(world, study, "Staying Bob")
    words = [*listened(ann), ann.account.id, "Withdrawn Ann"]
    kept = listened(bob)
    phone = ann.elsewhere()
    if when == "closed":
        close_study(world, study)
    before = len(found_in_files(tmp_path, words))
    assert before >= len(words)  # the search finds what is there
    assert "Withdrawn Ann" in exported(world)

    answer = ann.ask_to_withdraw()

    assert answer.status == 204
    assert "max-age=0" in (answer.header("set-cookie") or "").lower()
    assert NAME not in ann.client.cookies
    assert found_in_files(tmp_path, words) == []
    assert [word for word in words if word in exported(world)] == []
    assert phone.client.ask("GET", "/api/session").status == 401
    zoe = world.admin()
    shown = [
        zoe.ask("GET", path).body.decode() for path in ("/api/admin/study", "/api/admin/users")
    ]
    assert not any(word in text for word in words for text in shown)
    login = {"name": "Withdrawn Ann", "password": PASSWORD}
    assert world.stranger().ask("POST", "/api/session", json=login).status == 401
    # Nobody else lost anything.
    assert all(f"radio.db: {word}" in found_in_files(tmp_path, kept) for word in kept)
    if when == "open":
        assert [row.rated for row in bob.rows()] == [3, 1, 0]
        assert zoe.ask("GET", "/api/admin/study").json()["study"]["participants"] == [
            {
                "number": 2,
                "joined_at": joined_at(bob, study.id),
                "parts_done": 1,
                "ratings": 4,
                "last_at": bob.rows()[1].last_rated_at,
            }
        ]


def joined_at(person: Participant, study: str) -> int | None:
    with person.world.store.reading() as connection:
        row = studies.participant(connection, study, person.account.id)
    assert row is not None
    return row.joined_at


def test_an_account_of_ones_own_stays_without_the_study(world: World, tmp_path: Path) -> None:
    begin_study(world)
    ann = participant(world)
    event = {"key": "1", "kind": "rating", "song": world.songs[0], "stars": 5}
    assert ann.client.ask("POST", "/api/events", json=event).status == 201
    words = listened(ann)
    assert found_in_files(tmp_path, words)
    answer = ann.ask_to_withdraw()
    assert (answer.status, answer.header("set-cookie")) == (204, None)
    assert found_in_files(tmp_path, words) == []
    found = ann.status()
    assert (found["state"], found["joined"], found["arms"]) == ("consent", False, [])
    own = ann.client.ask("GET", "/api/history/export").body.decode()
    assert [word for word in words if word in own] == []
    assert world.log_length(ann.account) == 1
    assert ann.ask_next(words[0]).code == "no_consent"
    assert ann.ask_to_withdraw().code == "no_consent"
    # Whoever comes back begins anew.
    assert [arm["rated"] for arm in ann.join().status()["arms"]] == [0, 0, 0]
    assert not set(words) & {arm["id"] for arm in ann.status()["arms"]}


def test_a_withdrawal_that_overwrites_nothing_is_found_out(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: rows that are only deleted are still in the file or its log."""
    monkeypatch.setattr(secure_erase.SecureEraser, "after_transaction", lambda *_, **__: None)
    begin_study(world)
    ann = participant(world)
    words = listened(ann)
    assert ann.ask_to_withdraw().status == 204
    assert ann.status()["arms"] == []
    assert found_in_files(tmp_path, words) != []


@pytest.mark.parametrize("way", ["withdrawal", "removal", "leaving"])
def test_nothing_of_them_stays_in_memory(world: World, way: str) -> None:
    before = in_memory(but=[])
    begin_study(world)
    ann, zoe = participant(world), world.admin()
    listened(ann)
    assert in_memory(but=before)
    if way == "withdrawal":
        assert ann.ask_to_withdraw().status == 204
    elif way == "removal":
        assert zoe.ask("DELETE", f"/api/admin/users/{ann.account.id}").status == 204
    else:
        body = {"password": PASSWORD}
        assert ann.client.ask("DELETE", "/api/settings/account", json=body).status == 204
    assert in_memory(but=before) == []


def test_removing_an_account_removes_its_part_in_the_study(world: World, tmp_path: Path) -> None:
    begin_study(world)
    ann = participant(world)
    words = [*listened(ann), ann.account.id]
    assert world.admin().ask("DELETE", f"/api/admin/users/{ann.account.id}").status == 204
    assert found_in_files(tmp_path, words) == []


def test_the_last_administrator_withdraws_and_stays(world: World) -> None:
    study = begin_study(world)
    zoe = participant(world, "Zoe", "admin")
    with world.store.writing() as connection:
        studies.invite(
            connection, study.id, zoe.account.id, made_for_study=True, number=1, now=world.clock()
        )
    zoe.join()
    answer = zoe.ask_to_withdraw()
    assert (answer.status, answer.header("set-cookie")) == (204, None)
    assert zoe.status()["state"] == "consent"


def test_who_was_only_invited_may_go_too(world: World) -> None:
    person = invited(world, begin_study(world))
    assert person.ask_to_withdraw().status == 204
    with world.store.reading() as connection:
        assert accounts.get(connection, person.account.id) is None

"""Studies in an export, and what a participant may see of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bandstand.store import studies
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.location import parse_location
from bandstand.store.transfer.backup import backup
from bandstand.store.transfer.jsonl import export_lines, import_lines
from bandstand.store.transfer.restore import restore
from bandstand.store.transfer.verify import verify
from tests.store.sample_store import NOW, add_account, add_life
from tests.store.sample_study import begun, joined, play

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.store.studies import ArmRow, ParticipantRow, SongRow, StudyRow
    from tests.store.postgres_server import PostgresServer

SEED = 876_543_210_123
CHOOSE_MS = 765_432


def everything(store: Store) -> list[tuple[StudyRow, list[Any]]]:
    with store.reading() as connection:
        return [
            (study, list(studies.rows(connection, study.id)))
            for study in studies.all_studies(connection)
        ]


def people(store: Store, study: str) -> list[ParticipantRow]:
    with store.reading() as connection:
        return studies.participants(connection, study)


@pytest.mark.parametrize("starts_with_sqlite", [True, False])
def test_studies_come_out_of_an_export_as_they_went_in(
    tmp_path: Path, postgres: PostgresServer, *, starts_with_sqlite: bool
) -> None:
    places = [str(tmp_path / "radio.db"), postgres.new_schema()]
    if not starts_with_sqlite:
        places.reverse()
    with open_store(places[0]) as first, open_store(places[1]) as second:
        life = add_life(first)
        lines = list(export_lines(first))
        counts = import_lines(second, lines)
        assert (counts["study"], counts["participation"]) == (1, 2)
        assert list(export_lines(second)) == lines
        assert everything(second) == everything(first)
        assert people(second, life.study) == people(first, life.study)
        assert len(people(second, life.study)) == 2
        assert verify(second).is_whole


def test_studies_come_out_of_a_backup_as_they_went_in(
    store: Store, tmp_path: Path, postgres: PostgresServer
) -> None:
    life = add_life(store)
    backup(store, tmp_path / "copy")
    for place in (str(tmp_path / "restored.db"), postgres.new_schema()):
        restore(tmp_path / "copy", parse_location(place))
        with open_store(place) as restored:
            assert everything(restored) == everything(store)
            assert people(restored, life.study) == people(store, life.study)


def test_a_store_with_a_study_alone_takes_no_import(store: Store, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "source.db")) as source:
        lines = list(export_lines(source))
    with store.writing() as connection:
        studies.create(connection, title="T", design={}, catalogue=b"", now=NOW)
    with pytest.raises(ValueError, match="rows of study"):
        import_lines(store, lines)


def study_with_secrets(store: Store) -> tuple[str, list[ArmRow], list[SongRow]]:
    """Return a participant whose seeds and times of choosing can be found in any text."""
    study = begun(store)
    with store.writing() as connection:
        for number in range(20):  # so that the number of the next is easily found, too
            joined(connection, study.id, add_account(connection, f"Other {number}").id)
        bob = add_account(connection, "Bob").id
        arms = [
            studies.NewArm(place=1, algorithm="bayes-ucb-cn-v", seed=SEED),
            studies.NewArm(place=2, algorithm="linucb-c", seed=SEED + 1),
        ]
        studies.join(connection, study.id, bob, number=775_533, arms=arms, now=NOW)
        arm = studies.arms(connection, study.id, bob)[0].id
        studies.begin(connection, arm, NOW)
        play(connection, arm, study.songs[:2])
        studies.offer(connection, arm, number=3, song=study.songs[2], choose_ms=CHOOSE_MS, now=NOW)
        played = studies.songs_of(connection, arm)
        return bob, studies.arms(connection, study.id, bob), played


def telling(text: str, arms: list[ArmRow], songs: list[SongRow]) -> list[str]:
    """Return what a text says that would tell a participant which algorithm plays."""
    words = ["algorithm", "seed", "choose", "775533", str(CHOOSE_MS), songs[-1].song, "random"]
    words.append(arms[0].study)
    words += [word for arm in arms for word in (arm.algorithm, str(arm.seed))]
    return [word for word in words if word in text]


def own_study_lines(store: Store, account: str) -> list[str]:
    lines = export_lines(store, account=account)
    return [line for line in lines if json.loads(line)["type"] in {"participation", "song"}]


def test_who_exports_their_own_does_not_learn_which_algorithm_played(store: Store) -> None:
    bob, arms, songs = study_with_secrets(store)
    lines = own_study_lines(store, bob)
    assert telling("\n".join(lines), arms, songs) == []
    whole = "\n".join(line for line in export_lines(store) if '"participation"' in line)
    assert len(telling(whole, arms, songs)) == 12, "the search is blind"


def test_who_exports_their_own_has_all_that_they_rated(store: Store) -> None:
    bob, arms, songs = study_with_secrets(store)
    entries = [json.loads(line) for line in own_study_lines(store, bob)]
    (mine,) = (entry for entry in entries if entry["type"] == "participation")
    assert mine.pop("arms") == [
        {
            "id": arms[0].id,
            "place": 1,
            "begun_at": NOW,
            "songs": [
                {
                    "number": song.number,
                    "song": song.song,
                    "offered_at": song.offered_at,
                    "stars": song.stars,
                    "known": song.known,
                    "played_ms": song.played_ms,
                    "rated_at": song.rated_at,
                }
                for song in songs[:2]
            ],
        },
        {"id": arms[1].id, "place": 2, "songs": []},
    ]
    assert mine == {
        "type": "participation",
        "title": "Which one?",
        "account": bob,
        "made_for_study": False,
        "invited_at": NOW,
        "joined_at": NOW,
    }
    assert {it["id"] for it in entries if it["type"] == "song"} == {it.song for it in songs[:2]}


def test_nobody_gets_what_another_did_in_a_study(store: Store) -> None:
    bob, arms, _ = study_with_secrets(store)
    with store.writing() as connection:
        ann = next(
            it.account
            for it in studies.participants(connection, arms[0].study)
            if it.account != bob
        )
    text = "\n".join(export_lines(store, account=ann))
    assert bob not in text
    assert arms[0].id not in text

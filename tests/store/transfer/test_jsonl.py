"""An export, imported into the other database and exported again, is the same file (A15)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError
from bandstand.store import accounts, playlists, studies
from bandstand.store.database.connection import Store, open_store
from bandstand.store.events import events
from bandstand.store.events.events import NewEvent
from bandstand.store.songs import files, scans, songs
from bandstand.store.songs.save_analysis import record_analyses
from bandstand.store.studies import ArmRow, ParticipantRow, SongRow, StudyRow
from bandstand.store.transfer.jsonl import export_lines, import_lines, write_lines
from bandstand.store.transfer.verify import verify
from bandstand.types import Analysis
from tests.fixtures.store import examples
from tests.fixtures.store.postgres_server import PostgresServer
from tests.fixtures.store.sample_store import NOW, add_account, add_life
from tests.fixtures.store.sample_study import begun, joined, play

few = settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])

keys = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=200
)


@pytest.fixture
def pair(tmp_path: Path, postgres: PostgresServer) -> Callable[[], tuple[str, str]]:
    """Return what gives two places that are empty, one of each kind."""
    numbers = iter(range(1_000))
    return lambda: (str(tmp_path / f"radio {next(numbers)}.db"), postgres.new_schema())


def fill(
    connection: Connection, found: dict[bytes, Analysis], names: list[str], rated: dict[str, int]
) -> None:
    scans.begin(connection, now=NOW)
    made = record_analyses(connection, list(found.items()), scan=1, now=NOW)
    ids = [it.song_id for it in made]
    files.mark_missing(connection, b"/", 1)
    for number, name in enumerate(names):
        account = add_account(connection, f"account {number}").id
        accounts.change_settings(connection, account, {name: [name, None, 1.5]})
        playlists.create(
            connection, account=account, name=f"list {number}", songs=ids[number:], now=NOW
        )
        for key, stars in rated.items():
            if not ids:
                continue
            new = NewEvent(account=account, key=key, kind="rating", song=ids[-1], stars=stars)
            events.append(connection, new, now=NOW + stars)
            target = key[:100]
            rule = NewEvent(
                account=account, key=f"{key}!"[-200:], kind="ban", scope="album", target=target
            )
            events.append(connection, rule, now=NOW)


@given(
    found=st.dictionaries(examples.paths, examples.analyses, max_size=4),
    names=st.lists(examples.text, max_size=2),
    rated=st.dictionaries(
        keys.filter(lambda key: not key.endswith("!")), st.integers(1, 5), max_size=4
    ),
    starts_with_sqlite=st.booleans(),
)
@few
def test_there_and_back_again_is_the_same_file(
    pair: Callable[[], tuple[str, str]],
    found: dict[bytes, Analysis],
    names: list[str],
    rated: dict[str, int],
    *,
    starts_with_sqlite: bool,
) -> None:
    places = pair() if starts_with_sqlite else pair()[::-1]
    with open_store(places[0]) as first, open_store(places[1]) as second:
        with first.writing() as connection:
            fill(connection, found, names, rated)
        exported = "".join(f"{line}\n" for line in export_lines(first)).encode()
        import_lines(second, exported.decode().split("\n")[:-1])
        again = "".join(f"{line}\n" for line in export_lines(second)).encode()
        assert again == exported
        assert verify(second).is_whole
        with first.reading() as one, second.reading() as other:
            assert list(songs.present(one)) == list(songs.present(other))
            assert list(files.under(one, b"/")) == list(files.under(other, b"/"))
            for account in accounts.all_accounts(one):
                there = list(events.after(one, account.id))
                assert list(events.after(other, account.id)) == there
                assert events.end(other, account.id).digest == events.end(one, account.id).digest


def test_an_export_has_no_secrets(store: Store) -> None:
    life = add_life(store)
    text = "\n".join(export_lines(store))
    for secret in ("argon2id", life.token, life.secret, "Firefox", "password"):
        assert secret not in text


def test_a_store_that_is_not_empty_takes_no_import(store: Store, tmp_path: Path) -> None:
    add_life(store)
    lines = list(export_lines(store))
    with pytest.raises(ConflictError, match="must be empty"):
        import_lines(store, lines)
    with open_store(str(tmp_path / "other.db")) as other:
        with other.writing() as connection:
            studies.create(connection, title="T", design={}, catalogue=b"", now=NOW)
        with pytest.raises(ConflictError, match="rows of study"):
            import_lines(other, lines)
        with other.writing() as connection:
            scans.begin(connection, now=NOW)
        with pytest.raises(ConflictError, match="rows of scan"):
            import_lines(other, lines)


def test_the_export_of_one_account_is_for_its_owner(store: Store) -> None:
    life = add_life(store)
    lines = [json.loads(line) for line in export_lines(store, account=life.ann.id)]
    kinds = [line["type"] for line in lines]
    assert kinds[0] == "header"
    assert kinds.count("event") == 20
    assert kinds.count("account") == kinds.count("playlist") == 1
    assert {line["account"] for line in lines if line["type"] in {"event", "playlist"}} == {
        life.ann.id
    }
    text = json.dumps(lines)
    for hidden in ("/music/", "descriptors", "Bob", life.bob.id, "argon2id"):
        assert hidden not in text
    with pytest.raises(NotFoundError):
        list(export_lines(store, account="0123456789abcdef"))


# What a stranger may have written, line by line.


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of an export."""
    with open_store(str(tmp_path_factory.mktemp("exported") / "source.db")) as source:
        add_life(source, songs=3, events_each=8)
        return list(export_lines(source))


def entries(exported: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported][:-1]


def first(lines: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(line for line in lines if line["type"] == kind)


def dropped(lines: list[dict[str, Any]], kind: str) -> None:
    lines.remove(first(lines, kind))


def with_arms(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return next(line for line in lines if line.get("arms"))


def played(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    songs: list[dict[str, Any]] = with_arms(lines)["arms"][0]["songs"]
    return songs


def add_open_studies(lines: list[dict[str, Any]], count: int) -> None:
    closed = first(lines, "study")
    is_open = {name: value for name, value in closed.items() if name != "closed_at"}
    for number in range(count):
        one = {**is_open, "id": f"{number:016x}", "title": f"Open {number}"}
        lines.insert(lines.index(closed), one)


SPOILED: dict[str, Callable[[list[dict[str, Any]]], object]] = {
    "another star": lambda it: first(it, "event").update(stars=1),
    "another digest": lambda it: first(it, "event").update(digest="00" * 32),
    "a short digest": lambda it: first(it, "event").update(digest="00"),
    "six stars": lambda it: first(it, "event").update(stars=6),
    "an unknown kind": lambda it: first(it, "event").update(kind="love"),
    "an unknown name": lambda it: first(it, "event").update(mood="good"),
    "an event less": lambda it: dropped(it, "event"),
    "an event twice": lambda it: it.insert(it.index(first(it, "event")), dict(first(it, "event"))),
    "no account": lambda it: dropped(it, "account"),
    "an account twice": lambda it: it.append(dict(first(it, "account"))),
    "an account's name twice": lambda it: it.append(
        {**first(it, "account"), "id": "f" * 16, "name": "ANN"}
    ),
    "an unknown song": lambda it: first(it, "playlist").update(songs=["f" * 16]),
    "no descriptors": lambda it: first(it, "song").pop("descriptors"),
    "odd descriptors": lambda it: first(it, "song").update(descriptors=["x"] * 159),
    "an odd path": lambda it: first(it, "song")["file"].update(path="relative"),
    "no path": lambda it: first(it, "song")["file"].pop("path"),
    "odd base64": lambda it: first(it, "file").update(path_base64="***"),
    "an odd id": lambda it: first(it, "song").update(id="../../etc/passwd"),
    "an odd tag": lambda it: first(it, "song")["tags"].update(mood="x"),
    "a NUL": lambda it: first(it, "song")["tags"].update(title="a\0b"),
    "a song twice": lambda it: it.insert(it.index(first(it, "song")), dict(first(it, "song"))),
    "another king": lambda it: first(it, "account").update(role="king"),
    "odd settings": lambda it: first(it, "account").update(settings=[]),
    "an unknown type": lambda it: it.append({"type": "secret"}),
    "no type": lambda it: it.append({}),
    "a late song": lambda it: it.append(first(it, "song")),
    "another format": lambda it: first(it, "header").update(format=2),
    "no header": lambda it: dropped(it, "header"),
    "no study": lambda it: dropped(it, "study"),
    "a study twice": lambda it: it.insert(it.index(first(it, "study")), dict(first(it, "study"))),
    "two open studies": lambda it: add_open_studies(it, 2),
    "an odd design": lambda it: first(it, "study").update(design=[]),
    "an odd title": lambda it: first(it, "study").update(title="\n"),
    "an odd catalogue": lambda it: first(it, "study").update(catalogue_base64="***"),
    "a participant's number": lambda it: first(it, "participation").update(number=0),
    "a participant twice": lambda it: it.append(dict(first(it, "participation"))),
    "another account's part": lambda it: first(it, "participation").update(account="f" * 16),
    "no consent": lambda it: with_arms(it).pop("joined_at"),
    "odd arms": lambda it: with_arms(it).update(arms={}),
    "an arm twice": lambda it: with_arms(it)["arms"].append(with_arms(it)["arms"][0]),
    "an arm without songs": lambda it: with_arms(it)["arms"][1].pop("songs"),
    "an arm not begun": lambda it: with_arms(it)["arms"][0].pop("begun_at"),
    "an arm's seed": lambda it: with_arms(it)["arms"][0].update(seed=-1),
    "six stars in a study": lambda it: played(it)[0].update(stars=6),
    "a gap in a study": lambda it: played(it).pop(0),
    "an unknown song in a study": lambda it: played(it)[0].update(song="f" * 16),
    "a true that is 1": lambda it: played(it)[0].update(known=1),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_wrong_line_lets_nothing_in(shared: Store, exported: list[str], how: str) -> None:
    lines = entries(exported)
    SPOILED[how](lines)
    check_refused(shared, list(write_lines(lines)))


def check_refused(store: Store, lines: list[str]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        import_lines(store, lines)
    sentence = str(refused.value)
    assert len(sentence.splitlines()) == 1
    assert len(sentence) < 500
    with store.reading() as connection:
        assert accounts.count(connection) == 0
        assert scans.latest(connection) is None
        assert list(songs.present(connection)) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: lines[:-1],
        lambda lines: lines[: len(lines) // 2],
        lambda lines: lines[:0],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [line.replace("The Band", "The Hand") for line in lines],
        lambda lines: [lines[0], "not JSON", *lines[1:]],
        lambda lines: [lines[0], "[1, 2]", *lines[1:]],
        lambda lines: [lines[0], '{"type": "scan", "number": NaN}', *lines[1:]],
        lambda lines: [lines[0], '{"type": "scan", "type": "scan"}', *lines[1:]],
        lambda lines: [lines[0], "[" * 100_000, *lines[1:]],
        lambda lines: [lines[0], '{"type": "scan", "number": 1' + "0" * 5_000 + "}", *lines[1:]],
        lambda lines: ["\N{ZERO WIDTH NO-BREAK SPACE}" + lines[0], *lines[1:]],
        lambda lines: [lines[0], *reversed(lines[1:-1]), lines[-1]],
    ],
)
def test_what_is_no_whole_export_is_refused(
    shared: Store, exported: list[str], spoil: Callable[[list[str]], list[str]]
) -> None:
    check_refused(shared, spoil(exported))


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


def test_no_account_gets_what_another_did_in_a_study(store: Store) -> None:
    bob, arms, _ = study_with_secrets(store)
    with store.writing() as connection:
        everyone = studies.participants(connection, arms[0].study)
        ann = next(it.account for it in everyone if it.account != bob)
    text = "\n".join(export_lines(store, account=ann))
    assert bob not in text
    assert arms[0].id not in text


def test_the_export_of_one_account_is_no_store(store: Store, tmp_path: Path) -> None:
    life = add_life(store)
    lines = export_lines(store, account=life.ann.id)
    refused = pytest.raises(InvalidInputError, match="that of one account")
    with open_store(str(tmp_path / "other.db")) as other, refused:
        import_lines(other, lines)

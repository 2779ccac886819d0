"""A store with people in it: songs, accounts, events of every kind, playlists, a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bandstand.store import accounts, playlists, sessions, studies
from bandstand.store.events import events, snapshots
from bandstand.store.events.events import NewEvent
from bandstand.store.songs import projections, scans
from bandstand.store.songs.save_analysis import record_analyses, record_problem
from bandstand.store.studies import NewArm
from tests.store.examples import analysis

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand.store.accounts import Account
    from bandstand.store.database.connection import Store

NOW = 1_800_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What was put into a store."""

    songs: list[str]
    ann: Account
    bob: Account
    token: str  # of Ann's session
    playlist: str  # of Ann's
    study: str  # over by now; Ann took part, Bob was invited


def add_songs(connection: Connection, count: int) -> list[str]:
    found = [(b"/music/%d.ogg" % number, analysis(number)) for number in range(count)]
    scans.begin(connection, now=NOW)
    return [it.song_id for it in record_analyses(connection, found, scan=1, now=NOW)]


def add_account(connection: Connection, name: str, role: accounts.Role = "listener") -> Account:
    return accounts.create(
        connection, name=name, role=role, password_hash=f"argon2id-of-{name}", now=NOW
    )


def rate(connection: Connection, account: str, song: str, key: str, *, stars: int = 4) -> int:
    new = NewEvent(account=account, key=key, kind="rating", song=song, stars=stars)
    return events.append(connection, new, now=NOW).event.seq


def add_events(connection: Connection, account: str, songs: list[str], count: int = 6) -> None:
    """Add events of every kind, with ratings to make up their number."""
    news = [
        NewEvent(account=account, key="a rating", kind="rating", song=songs[0], stars=5),
        NewEvent(account=account, key="a skip", kind="skip", song=songs[1], played_ms=2_000),
        NewEvent(account=account, key="a listen", kind="listen", song=songs[2]),
        NewEvent(account=account, key="a ban", kind="ban", scope="artist", target="Ænima \N{BELL}"),
        NewEvent(
            account=account, key="a snooze", kind="snooze", scope="genre", target="x", until=NOW + 9
        ),
        NewEvent(account=account, key="a retract", kind="retract", retracts=1),
    ]
    for new in news:
        events.append(connection, new, now=NOW)
    for number in range(count - len(news)):
        rate(connection, account, songs[number % len(songs)], f"key {number}")


def add_study(connection: Connection, ann: str, bob: str, songs: list[str]) -> str:
    """Return a study that is over, in which Ann rated a song and was offered another."""
    design = {"title": "Which?", "algorithms": ["greedy-cn", "random"], "rest_seconds": 0.1}
    study = studies.create(
        connection, title="Which?", design=design, catalogue=b"\0songs\xff", now=NOW
    ).id
    studies.invite(connection, study, bob, made_for_study=True, number=1, now=NOW)
    arms = [
        NewArm(place=1, algorithm="random", seed=2**62),
        NewArm(place=2, algorithm="greedy-cn", seed=0),
    ]
    studies.join(connection, study, ann, number=2, arms=arms, now=NOW + 1)
    arm = studies.arms(connection, study, ann)[0].id
    studies.begin(connection, arm, NOW + 2)
    for number in (1, 2, 3):
        song = songs[number % 2]
        studies.offer(connection, arm, number=number, song=song, choose_ms=987_654, now=NOW + 3)
        if number < 3:
            studies.rate(
                connection,
                arm,
                number=number,
                stars=number,
                known=number == 2,
                played_ms=None if number == 2 else 31_000,
                now=NOW + 4,
            )
    studies.close(connection, study, NOW + 5)
    return study


def add_life(store: Store, *, songs: int = 5, events_each: int = 20) -> Life:
    """Fill an empty store."""
    with store.writing() as connection:
        ids = add_songs(connection, songs)
        record_problem(
            connection, b"/music/\xff", size=1, modified_ns=2, reason="no sound", version=1, scan=1
        )
        projections.save(
            connection, descriptor_version=1, songs=5, columns=2, content=b"\0\xff", now=NOW
        )
        ann, bob = add_account(connection, "Ann", "admin"), add_account(connection, "Bob")
        accounts.change_settings(connection, ann.id, {"dial": 0.25, "ä": ["\N{BELL}", None]})
        for account in (ann, bob):
            add_events(connection, account.id, ids, events_each)
        token = sessions.create(
            connection, account=ann.id, now=NOW, expires_at=NOW + 1_000, client="Firefox"
        )
        snapshots.save(connection, ann.id, seq=3, version=1, content=b"snapshot")
        made = playlists.create(
            connection, account=ann.id, name="Mine", songs=[ids[1], ids[0], ids[1]], now=NOW
        )
        study = add_study(connection, ann.id, bob.id, ids)
    return Life(songs=ids, ann=ann, bob=bob, token=token, playlist=made.id, study=study)

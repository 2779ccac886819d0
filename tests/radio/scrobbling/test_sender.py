"""What was heard arrives once, whatever the other server does, and nothing else leaves."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bandstand.radio.scrobbling.outgoing import counts
from bandstand.radio.scrobbling.sender import Sender
from bandstand.radio.service import Radio
from bandstand.store import accounts, favourites
from bandstand.store import scrobble_targets as targets
from bandstand.store.database.connection import Store
from bandstand.store.events.events import NewEvent
from bandstand.store.scrobble_targets import CLAIM_MS, Target
from tests.fakes.listen_server import ListenServer, cut, listen_server, replies, wait_until
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.cli.run_command import environment
from tests.fixtures.store.examples import analysis, record_analysis
from tests.fixtures.store.sample_store import add_account
from tests.store.conftest import new_place

HOSTS = ("127.0.0.1",)
TOKEN = "s3cret-token"
MBID = "0f0e0d0c-0b0a-4908-8706-050403020100"
HOUR = 3_600_000


@dataclass(slots=True)
class House:
    """A store with songs of 181, 182, … seconds, a listener, and a server that gets her plays."""

    store: Store
    radio: Radio
    server: ListenServer
    account: str = ""
    songs: list[str] = field(default_factory=list)
    now: int = 1_700_000_000_000
    events: int = 0

    def clock(self) -> int:
        return self.now

    def say(self, kind: Any, song: int = 0, **values: Any) -> int:
        """Let the listener do something a minute later, and return the number of the event."""
        self.now += 60_000
        self.events += 1
        if kind in {"listen", "skip", "rating"}:
            values["song"] = self.songs[song]
        new = NewEvent(account=self.account, key=f"event {self.events}", kind=kind, **values)
        appended = self.radio.submit(new).result()
        return 0 if appended is None else appended.event.seq

    def heart(self, song: int, *, is_on: bool = True) -> None:
        work = favourites.mark if is_on else favourites.unmark
        with self.store.writing() as connection:
            work(connection, self.account, "song", self.songs[song], now=self.now)

    def connect(self, token: str = TOKEN) -> Target:
        with self.store.writing() as connection:
            return targets.put(connection, self.account, self.server.url, token)

    @property
    def target(self) -> Target:
        with self.store.reading() as connection:
            return targets.all_of(connection, self.account)[0]

    @contextmanager
    def sending(self, is_done: Callable[[], object]) -> Iterator[Sender]:
        """Let a server send, until something is so and nothing more comes of what is there."""
        with closing(self.sender()) as sender:
            yield sender
            wait_until(is_done)

    def sender(self) -> Sender:
        hosts, clock = HOSTS, self.clock
        return Sender(self.store, self.radio.write, clock=clock, hosts=hosts, every=0.01)

    def send(self, *titles: str) -> None:
        """Send until these have arrived, and nothing else."""
        end = NewEvent(
            account=self.account, key=f"end {self.now}", kind="listen", song=self.songs[-1]
        )
        self.now += HOUR
        self.radio.submit(end).result()
        with self.sending(lambda: self.server.titles[-1:] == ["Song 6"]):
            pass
        assert self.server.titles == [*titles, "Song 6"]


@pytest.fixture(params=["sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the store is: on SQLite, where a test does not ask for more."""
    return new_place(request, tmp_path)


both = pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def house(store: Store) -> Iterator[House]:
    with ExitStack() as parts:
        server = parts.enter_context(listen_server())
        made = House(store, Radio(store, clock=lambda: made.now), server)
        parts.callback(made.radio.close)
        with store.writing() as connection:
            made.account = add_account(connection, "Ann").id
            for seed in range(1, 7):
                tags = {"recording_mbid": MBID[:-1] + str(seed)} if seed < 3 else {}
                found = analysis(
                    seed, album="Blue", **tags, artist=None if seed == 5 else "The Band"
                )
                path = f"/music/{seed}.ogg".encode()
                made.songs.append(record_analysis(connection, path, found, scan=1, now=0).song_id)
        yield made


@both
def test_what_was_heard_arrives_once_with_its_own_time(house: House) -> None:
    house.say("listen", 0)  # before it was switched on
    house.connect()
    house.say("listen", 0)
    heard_at = house.now // 1_000
    house.say("rating", 1, stars=5, played_ms=100_000)
    house.say("skip", 1, played_ms=120_000)
    house.say("skip", 2, played_ms=89_000)  # less than half of it
    house.say("listen", 3, age_ms=30_000)  # on a phone without a network
    house.say("listen", 4)  # of which nobody knows who plays it
    offline_at = (house.now - 60_000 - 30_000) // 1_000
    house.send("Song 1", "Song 2", "Song 4")
    assert house.server.listens[0] == (heard_at - 181, "Song 1")
    assert (offline_at - 184, "Song 4") in house.server.listens
    assert len(house.server.kept) == 4
    first = house.server.kept[0]["track_metadata"]
    assert first["artist_name"] == "The Band"
    assert first["release_name"] == "Blue"
    assert first["additional_info"]["recording_mbid"] == MBID[:-1] + "1"
    assert {token for _, token, _ in house.server.requests} == {f"Token {TOKEN}"}
    assert house.target.problem is None
    assert house.target.delivered_at == house.now


def test_a_play_counts_after_half_of_it_or_four_minutes() -> None:
    assert [counts(*it) for it in ((90, 180), (89, 180), (240, 900), (239, 900), (30, 30))] == [
        True, False, True, False, False,
    ]  # fmt: skip


def has_failed(house: House, failures: int) -> bool:
    return house.target.failures == failures


@pytest.mark.parametrize(
    "behaviour",
    [
        cut,
        replies(500),
        replies(503, Retry_After="7200"),
        replies(429, X_RateLimit_Reset_In="7200"),
        replies(408),
        replies(401, {"code": 401}),
        replies(404),
        replies(302, Location="/elsewhere"),
        replies(200, b"<html>Please log in to the hotel's network</html>"),
        replies(200, {"status": "error", "error": "database is locked"}),
        replies(200, b'["ok"]'),
        replies(200, b""),
    ],
)
def test_what_a_server_did_not_take_is_sent_again(house: House, behaviour: Any) -> None:
    house.connect()
    house.say("listen", 0)
    house.server.coming = [behaviour, behaviour]
    for failures in (1, 2):
        with house.sending(partial(has_failed, house, failures)):
            pass
        assert house.target.problem
        assert TOKEN not in house.target.problem
        wait = house.target.wait_until - house.now
        assert wait == 7_200_000 or wait == 30_000 * failures
        # Until then it is left alone, also by a server that has just started.
        with closing(house.sender()):
            pass
        assert len(house.server.requests) == failures
        house.now += wait
    house.send("Song 1")
    assert house.target.failures == 0


def test_what_a_server_never_takes_is_left_out_alone(house: House) -> None:
    house.connect()
    house.server.refuses = "Song 2"
    for song in (0, 1, 2):
        house.say("listen", song)
    house.send("Song 1", "Song 3")
    assert house.target.refusal == "it answers with status 400"
    assert len(house.server.kept) == 3


def test_a_long_outage_is_made_up_for_in_few_requests(house: House) -> None:
    house.connect()
    for number in range(250):
        house.say("listen", number % 4)
    with house.sending(lambda: len(house.server.listens) == 250):
        pass
    assert len(house.server.kept) == 250
    assert len(house.server.requests) == 3
    assert {body["listen_type"] for *_, body in house.server.requests} == {"import"}


def test_a_log_full_of_other_events_is_passed_over(house: House) -> None:
    house.connect()
    for number in range(520):
        house.say("rating", number % 2, stars=3)
    house.send()


def test_what_was_taken_back_in_time_is_not_sent(house: House) -> None:
    house.connect()
    heard = house.say("listen", 0)
    house.heart(0)
    house.heart(0, is_on=False)
    house.say("retract", retracts=heard)
    house.send()


def private(house: House, *, is_on: bool) -> None:
    house.radio.change_settings(house.account, {"private": is_on}).result()


def leaked(house: House) -> list[str]:
    """Return what leaves of two times in private mode, after an outage over all of it."""
    house.connect()
    house.say("listen", 0)
    for song in (0, 1):
        private(house, is_on=True)
        assert house.say("listen", 2) == 0
        house.heart(song)
        private(house, is_on=False)
        house.say("listen", 3)
    house.heart(0, is_on=False)  # which nobody knew to be one
    house.say("listen", 3)
    house.now += HOUR
    with house.sending(lambda: len(house.server.listens) == 4):
        pass
    return [path for path, _, body in house.server.requests if "listen_type" not in body]


def test_private_mode_is_silent_then_and_later(house: House) -> None:
    assert leaked(house) == []
    assert house.server.titles == ["Song 1", "Song 4", "Song 4", "Song 4"]


def test_a_forgotten_private_mode_is_found_out(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: without the silent runs, favourites of private mode are out."""
    monkeypatch.setattr(Target, "is_silent", lambda _self, _seq: False)
    assert leaked(house) != []


def test_favourites_are_sent_and_taken_back(house: House) -> None:
    house.connect()
    house.heart(0)
    house.heart(3)  # without a MusicBrainz recording
    with house.sending(lambda: house.server.kept):
        pass
    house.heart(0, is_on=False)
    with house.sending(lambda: len(house.server.kept) == 2):
        pass
    mbid = MBID[:-1] + "1"
    assert house.server.kept == [{"recording_mbid": mbid, "score": score} for score in (1, 0)]


def test_a_server_without_feedback_gets_the_plays(house: House) -> None:
    house.connect()
    house.heart(0)
    house.server.coming = [replies(404)]
    house.send()
    assert house.target.refusal == "it takes no favourites"


def test_what_plays_now_is_said_once_and_never_kept(house: House) -> None:
    house.connect()
    with house.sending(lambda: house.server.requests) as sender:
        sender.playing(house.account, house.songs[0])
    [(path, _, body)] = house.server.requests
    assert (path, body["listen_type"]) == ("/1/submit-listens", "playing_now")
    assert "listened_at" not in body["payload"][0]
    private(house, is_on=True)
    with house.sending(lambda: not sender._playing) as sender:
        sender.playing(house.account, house.songs[0])
        sender.playing("0" * 16, house.songs[0])
    assert len(house.server.requests) == 1


def test_a_server_that_fails_is_not_told_of_each_song(house: House) -> None:
    house.connect()
    house.server.coming = [cut]
    with house.sending(lambda: len(house.server.requests) == 2) as sender:
        for minutes in (0, 9, 2):
            house.now += minutes * 60_000
            sender.playing(house.account, house.songs[0])
            wait_until(lambda: not sender._playing)
            wait_until(lambda: sender._deaf_until)
    assert house.target.problem is None


def test_nothing_is_sent_for_who_is_disabled_gone_or_has_switched_it_off(house: House) -> None:
    made = house.connect()
    house.say("listen", 0)

    def sent() -> int:
        with closing(house.sender()) as sender:
            sender._send_some()
        return len(house.server.requests)

    with house.store.writing() as connection:
        accounts.set_disabled(connection, house.account, disabled=True)
    assert sent() == 0
    with house.store.writing() as connection:
        accounts.set_disabled(connection, house.account, disabled=False)
        targets.delete(connection, house.account, made.id)
    assert sent() == 0
    house.connect()
    house.say("listen", 1)
    with house.store.writing() as connection:
        accounts.delete(connection, house.account)
    assert sent() == 0


def test_another_token_goes_on_where_the_wrong_one_stopped(house: House) -> None:
    house.connect("wrong")
    house.say("listen", 0)
    house.server.coming = [replies(401)]
    with house.sending(lambda: house.target.failures):
        pass
    assert house.target.problem == "it answers with status 401, as to a wrong token"
    house.connect()
    assert house.target.problem is None
    house.send("Song 1")


@both
def test_of_several_servers_one_sends(house: House) -> None:
    house.connect()
    for number in range(40):
        house.say("listen", number % 4)
    with ExitStack() as parts:
        for _ in range(4):
            parts.enter_context(closing(house.sender()))
        wait_until(lambda: len(house.server.listens) == 40)
    assert len(house.server.kept) == 40


def test_without_the_claim_they_all_would(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: two senders that have seen the same log both deliver it."""
    monkeypatch.setattr(targets, "claim", lambda *_: True)
    house.connect()
    house.say("listen", 0)
    senders = [house.sender() for _ in range(2)]
    seen = house.target
    for sender in senders:
        sender.close()
        sender._serve(seen, seen.seq + 1)
    assert len(house.server.kept) > 1


def test_the_token_is_in_no_log(house: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = house.connect()
    house.say("listen", 0)
    house.server.coming = [cut]
    with house.sending(lambda: house.target.failures):
        pass
    house.now += HOUR
    house.send("Song 1")
    assert TOKEN not in caplog.text
    assert TOKEN not in repr(made)


CHILD = """
import sys
from bandstand._util.clock import system_clock
from bandstand.radio.scrobbling.sender import Sender
from bandstand.radio.service import Radio
from bandstand.store.database.connection import open_store
place, later = sys.argv[1], int(sys.argv[2])
clock = lambda: system_clock() + later
with open_store(place) as store:
    radio = Radio(store, clock=clock)
    sender = Sender(store, radio.write, clock=clock, hosts=["127.0.0.1"], every=0.01)
    sys.stdin.read()
"""


@both
def test_a_kill_after_the_server_has_taken_it_doubles_nothing(house: House, place: str) -> None:
    house.connect()
    for song in range(4):
        house.say("listen", song)
    children: list[subprocess.Popen[bytes]] = []

    def run(later: int, is_done: Callable[[], object]) -> None:
        command = [sys.executable, "-c", CHILD, place, str(later)]
        children.append(subprocess.Popen(command, stdin=subprocess.PIPE, env=environment()))
        try:
            wait_until(is_done)
        finally:
            children[-1].kill()
            children[-1].communicate(timeout=PATIENCE)

    def kill() -> None:
        children[-1].kill()

    house.server.after_keeping = kill  # before the answer is out
    run(0, lambda: house.server.kept)
    assert house.target.delivered_at is None
    house.server.after_keeping = lambda: None
    run(2 * CLAIM_MS, lambda: house.target.delivered_at)
    assert len(house.server.kept) == 8  # it came twice, letter for letter, and so counts once
    assert house.server.kept[:4] == house.server.kept[4:]
    assert house.server.titles == ["Song 1", "Song 2", "Song 3", "Song 4"]

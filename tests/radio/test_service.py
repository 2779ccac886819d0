"""The radio on both databases: what is told counts for the very next song, and only once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from bandstand.core.registry import WITH_NAMES
from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.music.catalogue.refresh import refreshed
from bandstand.radio.log.fold import VERSION, fold
from bandstand.radio.selection.select import RadioListener
from bandstand.radio.service import Offer, Radio
from bandstand.store import accounts
from bandstand.store.database.connection import Store
from bandstand.store.events import events, snapshots
from bandstand.store.events.events import Appended, NewEvent
from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.store.examples import analysis

MINUTE = 60_000
SONGS = 40


@dataclass(slots=True)
class Clock:
    """UTC milliseconds; it stands still until it is moved."""

    now: int = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


def add_songs(store: Store, count: int, *, fit: bool = True) -> None:
    with store.writing() as connection:
        found = [(f"/music/{number}.ogg".encode(), analysis(number)) for number in range(count)]
        record_analyses(connection, found, scan=0, now=0)
    if fit:
        refreshed(store, now=0)


@dataclass(slots=True)
class Listener:
    """Somebody at the radio, whose time passes."""

    radio: Radio
    clock: Clock
    account: str
    told: int = 0

    def hears(self, song: str, stars: int, *, key: str | None = None) -> Appended | None:
        self.clock.now += 4 * MINUTE
        self.told += 1
        new = NewEvent(
            account=self.account,
            key=key or f"key {self.told}",
            kind="rating",
            song=song,
            stars=stars,
            played_ms=3 * MINUTE,
        )
        return self.radio.submit(new).result()

    def takes_back(self, seq: int) -> None:
        self.told += 1
        new = NewEvent(account=self.account, key=f"key {self.told}", kind="retract", retracts=seq)
        self.radio.submit(new).result()

    def next(self, **wishes: object) -> Offer:
        return self.radio.next(self.account, **wishes)  # type: ignore[arg-type]

    def listens(self, count: int) -> list[str]:
        """Rate what is played, by its place in the alphabet, and return it."""
        heard = []
        for _ in range(count):
            song = self.next().song.id
            heard.append(song)
            self.hears(song, 1 + int(song[0], 16) % 5)
        return heard


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def radio(store: Store, clock: Clock) -> Iterator[Radio]:
    add_songs(store, SONGS)
    opened = Radio(store, clock=clock)
    yield opened
    opened.close()


def somebody(radio: Radio, clock: Clock, name: str = "ann") -> Listener:
    with radio.store.writing() as connection:
        account = accounts.create(connection, name=name, role="listener", password_hash=None, now=0)
    return Listener(radio=radio, clock=clock, account=account.id)


@pytest.fixture
def ann(radio: Radio, clock: Clock) -> Listener:
    return somebody(radio, clock)


def test_the_next_song_knows_every_rating_before_it(ann: Listener) -> None:
    assert ann.next().seq == 0
    for number in range(1, 12):
        ann.hears(ann.next().song.id, 4)
        offer = ann.next()
        assert (offer.seq, offer.step) == (number, number + 1)


def test_a_listener_of_a_retired_algorithm_has_the_default(ann: Listener, store: Store) -> None:
    ann.listens(3)
    with store.writing() as connection:
        stored = {"algorithm": "bayes-ucb-cnd-v", "dial": 0.5}
        accounts.change_settings(connection, ann.account, stored)
    found = ann.radio.settings(ann.account)
    assert (found.algorithm, found.dial) == (WITH_NAMES, 0.5)
    assert (ann.next().seq, ann.next().step) == (3, 4)


def test_nothing_is_changed_by_asking(ann: Listener, radio: Radio) -> None:
    for _ in range(20):
        ann.listens(1)
        before = ann.next()
        radio.wait_until_rebuilt()  # also not by what goes on behind the answers
        assert ann.next() == before


def test_what_another_process_wrote_counts_too(ann: Listener, store: Store, clock: Clock) -> None:
    ann.listens(3)
    other = Radio(store, clock=clock)
    try:
        there = Listener(radio=other, clock=clock, account=ann.account, told=100)
        there.hears(there.next().song.id, 5)
        assert there.next().seq == 4
    finally:
        other.close()
    assert ann.next().seq == 4


def test_a_seat_that_was_cleared_makes_no_difference(ann: Listener, radio: Radio) -> None:
    ann.listens(20)
    before = ann.next()
    radio.drop(ann.account)
    after = ann.next()
    assert after.song == before.song
    assert after.why.score == pytest.approx(before.why.score, rel=1e-9)


def test_private_mode_learns_nothing_and_keeps_nothing(ann: Listener, radio: Radio) -> None:
    ann.listens(5)
    before = radio.ledger(ann.account).digest()
    radio.change_settings(ann.account, {"private": True}).result()
    assert ann.hears(ann.next().song.id, 5) is None
    assert radio.ledger(ann.account).digest() == before
    radio.change_settings(ann.account, {"private": False}).result()
    assert ann.hears(ann.next().song.id, 5) is not None


def test_songs_that_are_playing_are_not_offered_again(ann: Listener) -> None:
    ann.listens(5)
    first = ann.next()
    second = ann.next(after=[first.song.id])
    assert second.song.id != first.song.id
    assert second.at == first.at + round(first.song.duration * 1_000)


def snapshot_seq(radio: Radio, account: str) -> int:
    """Return the event of an account's snapshot, or 0."""
    radio.write(lambda _: None).result()  # behind the snapshot in the queue
    with radio.store.reading() as connection:
        snapshot = snapshots.get(connection, account, VERSION)
    return 0 if snapshot is None else snapshot.seq


def rates(ann: Listener, times: int) -> None:
    song = ann.next().song.id
    for number in range(times):
        ann.hears(song, 1 + number % 5)


def test_snapshots_are_written_now_and_then(ann: Listener, radio: Radio, store: Store) -> None:
    rates(ann, 70)
    ann.next()
    assert snapshot_seq(radio, ann.account) == 70
    with store.reading() as connection:
        whole = fold(events.after(connection, ann.account))
    radio.drop(ann.account)
    assert radio.ledger(ann.account).digest() == whole.digest()


def test_a_snapshot_that_an_undo_made_useless_is_made_anew(ann: Listener, radio: Radio) -> None:
    rates(ann, 70)
    ann.next()
    radio.submit(NewEvent(account=ann.account, key="undo", kind="retract", retracts=1)).result()
    radio.drop(ann.account)
    ann.next()
    assert snapshot_seq(radio, ann.account) == 71


def test_forgetting_a_period_leaves_the_rest(ann: Listener, radio: Radio) -> None:
    ann.listens(3)
    start = ann.clock.now + 1
    before = radio.ledger(ann.account).digest(numbered=False)
    ann.listens(4)
    end = ann.clock.now + 1
    forget = radio.forget(ann.account, start=start, end=end, key="forget").result()
    assert forget == 4
    assert radio.ledger(ann.account).digest(numbered=False) == before
    assert radio.forget(ann.account, start=start, end=end, key="again").result() == 0


def test_after_a_refresh_nothing_is_learnt_anew(
    ann: Listener, radio: Radio, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = ann.listens(12)
    expected = radio.view(ann.account, heard[3]).expected
    add_songs(store, SONGS + 20)
    radio.refresh()
    assert len(radio.catalogue) == SONGS + 20
    with monkeypatch.context() as patch:
        patch.setattr(RadioListener, "load", refused)
        assert ann.next().seq == 12
        assert radio.view(ann.account, heard[3]).expected == pytest.approx(expected, rel=1e-12)
        ann.listens(5)
    kept = ann.next()
    radio.drop(ann.account)
    assert ann.next().song == kept.song


def refused(*_: object, **__: object) -> None:
    pytest.fail("the belief should have been carried over")


def test_after_another_projection_all_is_learnt_anew(
    ann: Listener, radio: Radio, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin of the test above: it would notice if everything were carried over."""
    ann.listens(12)
    add_songs(store, SONGS + 20)
    refreshed(store, now=0, refit=True)
    radio.refresh()
    with monkeypatch.context() as patch:
        patch.setattr(RadioListener, "load", refused)
        with pytest.raises(pytest.fail.Exception, match="carried over"):
            ann.next()
    kept = ann.next()
    radio.drop(ann.account)
    assert ann.next().song == kept.song


def test_beliefs_are_made_ready_behind_the_answers(
    ann: Listener, radio: Radio, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[RadioListener] = []
    rebuild = RadioListener.rebuilt

    def rebuilt(one: RadioListener) -> RadioListener:
        other = rebuild(one)
        found.extend([] if other is one else [other])
        return other

    # The default weighs kinds of listeners on the way, which makes its grid again as often.
    radio.change_settings(ann.account, {"algorithm": "bayes-ucb-cn-x"}).result()
    monkeypatch.setattr(RadioListener, "rebuilt", rebuilt)
    for _ in range(60):
        ann.listens(1)
        radio.wait_until_rebuilt()
    assert found
    assert len(found) < 60
    kept = ann.next()
    radio.drop(ann.account)
    again = ann.next()
    assert again.song == kept.song
    assert again.why.score == pytest.approx(kept.why.score, rel=1e-8)


def test_a_song_as_it_stands_with_a_listener(ann: Listener, radio: Radio) -> None:
    heard = ann.listens(10)
    view = radio.view(ann.account, heard[-1])
    assert view.heard_at == ann.clock.now
    assert view.novelty is None  # no song came twice yet
    assert view.standard_deviation is not None
    assert view.rating_deviation is not None
    assert view.rating_deviation > view.standard_deviation
    ann.hears(heard[0], 3)
    assert radio.view(ann.account, heard[0]).novelty == pytest.approx(0.0, abs=1e-9)
    fresh = next(song for song in radio.catalogue.ids if song not in heard)
    assert radio.view(ann.account, fresh).heard_at is None
    with pytest.raises(NotFoundError, match="there must be a song"):
        radio.view(ann.account, "0" * 16)


def test_every_algorithm_can_be_chosen(ann: Listener, radio: Radio) -> None:
    assert radio.failure is None
    assert radio.is_quick(ann.account)
    ann.listens(3)
    for name in ("random", "linucb-cn", "thompson-cn-x", "bayes-ucb-cn-v", "bayes-ucb-cn-x"):
        radio.change_settings(ann.account, {"algorithm": name}).result()
        assert ann.next().seq == 3
        assert radio.settings(ann.account).algorithm == name
        assert radio.is_quick(ann.account) is (name != "bayes-ucb-cn-v")
    for changes, problem in (
        ({"algorithm": "none"}, "algorithm must be one of"),
        ({"dial": 2}, "dial must be a number from -1 to 1, got 2"),
        ({"private": 1}, "private must be true or false, got 1"),
        ({"volume": 1}, "a setting must be one of"),
    ):
        with pytest.raises(InvalidInputError, match=problem):
            radio.change_settings(ann.account, changes)


def test_nobody_has_a_next_song(radio: Radio) -> None:
    with pytest.raises(NotFoundError, match="there must be an account"):
        radio.next("0" * 16)

"""What happens in an arm: begun, offered, rated; once, and in order."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError
from bandstand.store import studies
from bandstand.store.events import events
from bandstand.store.studies import ArmRow, PendingRow, SongRow
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.sample_store import NOW, add_account, add_songs
from tests.fixtures.store.sample_study import ARMS, add_study, begun, joined, play

if TYPE_CHECKING:
    from bandstand.store.database.connection import Store

NOBODY = "0123456789abcdef"
RATING: dict[str, Any] = {"stars": 4, "known": False, "played_ms": 30_000, "now": NOW}


def test_an_arm_goes_from_begun_to_offered_to_rated(store: Store) -> None:
    with store.writing() as connection:
        first, second = add_songs(connection, 2)
        study = add_study(connection).id
        account = add_account(connection, "Ann").id
        arm = joined(connection, study, account)[0].id

        def now_is(**changes: Any) -> None:
            start = {
                "id": arm,
                "study": study,
                "account": account,
                "place": 1,
                "algorithm": ARMS[0].algorithm,
                "seed": ARMS[0].seed,
                "begun_at": NOW,
                "rated": 0,
                "last_rated_at": None,
                "pending": None,
            }
            expected = ArmRow(**{**start, **changes})
            assert studies.arm_by_id(connection, arm) == expected
            assert studies.arms(connection, study, account)[0] == expected

        now_is(begun_at=None)
        studies.begin(connection, arm, NOW)
        now_is()
        studies.offer(connection, arm, number=1, song=first, choose_ms=7, now=NOW + 1)
        now_is(pending=PendingRow(number=1, song=first, offered_at=NOW + 1))
        studies.rate(connection, arm, number=1, stars=5, known=True, played_ms=None, now=NOW + 2)
        now_is(rated=1, last_rated_at=NOW + 2)
        studies.offer(connection, arm, number=2, song=second, choose_ms=8, now=NOW + 3)
        now_is(
            rated=1,
            last_rated_at=NOW + 2,
            pending=PendingRow(number=2, song=second, offered_at=NOW + 3),
        )
        nothing = dict.fromkeys(("stars", "known", "played_ms", "rated_at"))
        assert studies.songs_of(connection, arm) == [
            SongRow(
                number=1,
                song=first,
                offered_at=NOW + 1,
                choose_ms=7,
                stars=5,
                known=True,
                played_ms=None,
                rated_at=NOW + 2,
            ),
            SongRow(number=2, song=second, offered_at=NOW + 3, choose_ms=8, **nothing),
        ]


def test_everything_of_a_study_comes_by_number_and_place(store: Store) -> None:
    study = begun(store)
    with store.writing() as connection:
        play(connection, study.arm, study.songs)
        other = joined(connection, study.id, add_account(connection, "Bob").id)
        everything = list(studies.rows(connection, study.id))
        assert [(who.number, arm.place) for who, arm, _ in everything] == [
            (1, 1),
            (1, 2),
            (2, 1),
            (2, 2),
        ]
        assert [len(songs) for _, _, songs in everything] == [3, 0, 0, 0]
        assert everything[0][2] == studies.songs_of(connection, study.arm)
        assert everything[2][1] == other[0]


def test_neither_the_log_nor_the_study_learns_from_the_other(store: Store) -> None:
    study = begun(store)
    with store.writing() as connection:
        play(connection, study.arm, study.songs)
        assert list(events.after(connection, study.account)) == []


def test_what_comes_twice_or_too_early_is_refused(store: Store) -> None:
    study = begun(store)
    with store.reading() as connection:
        later = studies.arms(connection, study.id, study.account)[1].id
    offering: dict[str, Any] = {"song": study.songs[0], "choose_ms": 1, "now": NOW}

    def refused(words: str, name: str, arm: str, *now: int, **given: Any) -> None:
        with pytest.raises(ConflictError, match=words), store.writing() as connection:
            getattr(studies, name)(connection, arm, *now, **given)

    refused("not begun", "begin", study.arm, NOW)
    refused("that is begun", "offer", later, number=1, **offering)
    refused("the number 1, got 2", "offer", study.arm, number=2, **offering)
    with store.writing() as connection:
        studies.offer(connection, study.arm, number=1, **offering)
    refused("song 1 must be rated", "offer", study.arm, number=1, **offering)
    refused("song 1 must be rated", "offer", study.arm, number=2, **offering)
    with store.writing() as connection:
        studies.rate(connection, study.arm, number=1, **RATING)
    for stars in (4, 1):
        refused("number 1, which is", "rate", study.arm, number=1, **{**RATING, "stars": stars})
    refused("the number 2, got 1", "offer", study.arm, number=1, **offering)
    with store.writing() as connection:
        (song,) = studies.songs_of(connection, study.arm)
        assert song.stars == 4
        studies.close(connection, study.id, NOW)
    refused("closed", "begin", later, NOW)
    refused("closed", "offer", study.arm, number=2, **offering)
    refused("closed", "rate", study.arm, number=1, **RATING)


def test_a_song_that_waits_can_be_replaced_by_who_knows_it(store: Store) -> None:
    study = begun(store)
    first, second, third = study.songs

    def replaced(old: str, new: str, number: int = 1) -> None:
        with store.writing() as connection:
            studies.offer_instead(
                connection,
                study.arm,
                number=number,
                instead_of=old,
                song=new,
                choose_ms=9,
                now=NOW + 9,
            )

    with store.writing() as connection:
        studies.offer(connection, study.arm, number=1, song=first, choose_ms=1, now=NOW)
    replaced(first, second)
    with pytest.raises(ConflictError, match="got another"):
        replaced(first, third)  # from another device, which has not seen it
    with pytest.raises(ConflictError, match="got another"):
        replaced(second, third, number=2)
    with pytest.raises(NotFoundError):
        replaced(second, NOBODY)
    with store.writing() as connection:
        (song,) = studies.songs_of(connection, study.arm)
        assert (song.song, song.offered_at, song.choose_ms) == (second, NOW + 9, 9)
        studies.rate(connection, study.arm, number=1, **RATING)
    with pytest.raises(ConflictError, match="got another"):
        replaced(second, third)


def test_what_is_not_there_is_told(store: Store) -> None:
    study = begun(store)
    offering: dict[str, Any] = {"number": 1, "choose_ms": 1, "now": NOW}
    with store.writing() as connection:
        for arm in (NOBODY, "a\0b", "\ud800"):
            assert studies.arm_by_id(connection, arm) is None
            assert studies.songs_of(connection, arm) == []
            with pytest.raises(NotFoundError):
                studies.begin(connection, arm, NOW)
            with pytest.raises(NotFoundError):
                studies.offer(connection, arm, song=study.songs[0], **offering)
            with pytest.raises(NotFoundError):
                studies.rate(connection, arm, number=1, **RATING)
        with pytest.raises(NotFoundError):
            studies.offer(connection, study.arm, song=NOBODY, **offering)
        with pytest.raises(NotFoundError, match="that was offered"):
            studies.rate(connection, study.arm, number=1, **RATING)


@pytest.mark.parametrize(
    "changes",
    [
        {"stars": 0},
        {"stars": 6},
        {"stars": True},
        {"stars": 3.0},
        {"known": None},
        {"known": 1},
        {"played_ms": -1},
        {"played_ms": 0.5},
        {"number": 0},
        {"now": None},
    ],
)
def test_what_is_no_rating_is_refused(store: Store, changes: dict[str, Any]) -> None:
    study = begun(store)
    with store.writing() as connection:
        studies.offer(connection, study.arm, number=1, song=study.songs[0], choose_ms=0, now=NOW)
    with pytest.raises(InvalidInputError), store.writing() as connection:
        studies.rate(connection, study.arm, **{"number": 1, **RATING, **changes})
    with store.reading() as connection:
        assert studies.arms(connection, study.id, study.account)[0].rated == 0


@given(
    tried=st.lists(
        st.tuples(st.sampled_from(["offer", "rate"]), st.integers(1, 4), st.integers(1, 5))
    )
)
@some_examples
def test_whatever_is_tried_numbers_have_no_gap_and_stars_stay(
    shared: Store, tried: list[tuple[str, int, int]]
) -> None:
    with discarded(shared) as connection:
        (song,) = add_songs(connection, 1)
        study = add_study(connection).id
        account = add_account(connection, "Ann").id
        arm = joined(connection, study, account)[0].id
        studies.begin(connection, arm, NOW)
        stars: list[int | None] = []
        for what, number, given_stars in tried:
            with suppress(ConflictError, NotFoundError):
                if what == "offer":
                    studies.offer(connection, arm, number=number, song=song, choose_ms=0, now=NOW)
                    assert number == len(stars) + 1
                    assert None not in stars
                    stars.append(None)
                else:
                    studies.rate(connection, arm, number=number, **{**RATING, "stars": given_stars})
                    assert stars[number - 1] is None
                    stars[number - 1] = given_stars
        kept = studies.songs_of(connection, arm)
        assert [it.number for it in kept] == list(range(1, len(stars) + 1))
        assert [it.stars for it in kept] == stars

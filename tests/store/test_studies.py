"""Studies, and who takes part in them."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError, StoreError
from bandstand.store import accounts, studies
from bandstand.store.database.connection import Store
from bandstand.store.studies import ArmRow, NewArm, ParticipantRow, PendingRow, SongRow
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.sample_store import NOW, add_account, add_songs
from tests.fixtures.store.sample_study import (
    ARMS,
    CATALOGUE,
    DESIGN,
    add_study,
    begun,
    joined,
    play,
)

UNKNOWN = "0123456789abcdef"
ODD_ARMS = (
    (),
    (ARMS[0], ARMS[0]),
    (NewArm(place=-1, algorithm="random", seed=1),),
    (NewArm(place=1, algorithm="", seed=1),),
    (NewArm(place=1, algorithm="random", seed=-1),),
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


def test_a_store_without_a_study_says_so(store: Store) -> None:
    with store.reading() as connection:
        assert studies.opened(connection) is None
        assert studies.open_id(connection) is None
        assert studies.all_studies(connection) == []
        assert studies.by_title(connection, "Which one?") is None
        assert studies.get(connection, UNKNOWN) is None
        assert studies.participants(connection, UNKNOWN) == []
        assert studies.participant(connection, UNKNOWN, UNKNOWN) is None
        assert list(studies.rows(connection, UNKNOWN)) == []


@given(
    design=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs", "Cc"])), JSON, max_size=4
    ),
    catalogue=st.binary(max_size=2_000),
    now=st.integers(-(2**63), 2**63 - 1),
)
@some_examples
def test_a_study_is_read_as_it_was_made(
    shared: Store, design: dict[str, Any], catalogue: bytes, now: int
) -> None:
    with discarded(shared) as connection:
        made = studies.create(connection, title="T", design=design, catalogue=catalogue, now=now)
        assert made.design == design
        assert made.catalogue == catalogue
        assert (made.created_at, made.closed_at) == (now, None)
        assert studies.opened(connection) == made
        assert studies.get(connection, made.id) == made
        assert studies.by_title(connection, "T") == made
        assert studies.all_studies(connection) == [made]
        assert studies.open_id(connection) == made.id


def test_at_most_one_study_is_open_and_titles_are_used_once(store: Store) -> None:
    with store.writing() as connection:
        first = add_study(connection)
    with pytest.raises(ConflictError, match="'Which one\\?' is"), store.writing() as connection:
        add_study(connection, "Another")
    with store.writing() as connection:
        studies.close(connection, first.id, NOW + 5)
        studies.close(connection, first.id, NOW + 6)  # it stays as it was
        assert studies.get(connection, first.id) == replace(first, closed_at=NOW + 5)
        assert studies.opened(connection) is None
    with pytest.raises(ConflictError, match="is taken"), store.writing() as connection:
        add_study(connection)
    with store.writing() as connection:
        second = add_study(connection, "Another")
        assert studies.open_id(connection) == second.id
        assert {it.title for it in studies.all_studies(connection)} == {"Which one?", "Another"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"title": ""}, "1 to 200 characters"),
        ({"title": "x" * 201}, "1 to 200 characters"),
        ({"title": " x"}, "without spaces around it"),
        ({"title": "a\nb"}, "one line"),
        ({"title": "a\0b"}, "without NUL"),
        ({"title": 5}, "must be text"),
        ({"design": {"seconds": float("nan")}}, "must be JSON"),
        ({"design": {"a": object()}}, "must be JSON"),
        ({"design": {"a": "x" * 1_000_001}}, "at most 1,000,000 characters"),
        ({"design": {"a": "\ud800"}}, "valid Unicode"),
        ({"catalogue": "text"}, "must be bytes, got str"),
        ({"now": 1.5}, "must be an integer"),
    ],
)
def test_what_is_no_study_is_refused(store: Store, changes: dict[str, Any], words: str) -> None:
    values = {"title": "T", "design": DESIGN, "catalogue": CATALOGUE, "now": NOW, **changes}
    with pytest.raises(InvalidInputError, match=words), store.writing() as connection:
        studies.create(connection, **values)
    with store.reading() as connection:
        assert studies.all_studies(connection) == []


def test_an_invitation_becomes_a_participation_under_its_number(connection: Connection) -> None:
    study = add_study(connection).id
    ann, bob = add_account(connection, "Ann").id, add_account(connection, "Bob").id
    studies.invite(connection, study, ann, made_for_study=True, number=2, now=NOW)
    invited = ParticipantRow(
        study=study, account=ann, number=2, made_for_study=True, invited_at=NOW, joined_at=None
    )
    assert studies.participant(connection, study, ann) == invited
    assert studies.arms(connection, study, ann) == []
    assert studies.free_number(connection, study) == 1
    studies.join(connection, study, ann, number=2, arms=ARMS, now=NOW + 1)
    studies.join(connection, study, bob, number=1, arms=ARMS, now=NOW + 2)
    assert studies.free_number(connection, study) == 3
    expected = replace(invited, joined_at=NOW + 1)
    assert studies.participant(connection, study, ann) == expected
    assert [it.account for it in studies.participants(connection, study)] == [bob, ann]


def test_who_joins_gets_arms_with_ids_that_say_nothing(store: Store) -> None:
    with store.writing() as connection:
        study = add_study(connection).id
        both = [
            joined(connection, study, add_account(connection, name).id) for name in ("Ann", "Bob")
        ]
    for arms in both:
        assert [(it.place, it.algorithm, it.seed) for it in arms] == [
            (it.place, it.algorithm, it.seed) for it in ARMS
        ]
        assert all((it.begun_at, it.rated, it.pending) == (None, 0, None) for it in arms)
    ids = {it.id for arms in both for it in arms}
    assert len(ids) == 4
    assert all(len(it) == 16 for it in ids)


def test_what_does_not_go_with_a_study_is_refused(store: Store) -> None:
    with store.writing() as connection:
        study = add_study(connection).id
        ann, bob = add_account(connection, "Ann").id, add_account(connection, "Bob").id
        studies.invite(connection, study, ann, made_for_study=False, number=1, now=NOW)

    def join(account: str, number: int, arms: Any = ARMS, where: str = study) -> None:
        with store.writing() as connection:
            studies.join(connection, where, account, number=number, arms=arms, now=NOW)

    def invite(account: str, number: int) -> None:
        with store.writing() as connection:
            studies.invite(connection, study, account, made_for_study=False, number=number, now=NOW)

    for refused, words in (
        (partial(join, ann, 2), "number 1 of the invitation"),
        (partial(join, bob, 1), "1, which is taken"),
        (partial(invite, bob, 1), "1, which is taken"),
        (partial(invite, ann, 3), "not in the study"),
    ):
        with pytest.raises(ConflictError, match=words):
            refused()
    for unknown in (
        partial(join, UNKNOWN, 2),
        partial(join, "a\0b", 2),
        partial(join, bob, 2, where=UNKNOWN),
        partial(join, bob, 2, where="\ud800"),
        partial(invite, UNKNOWN, 2),
    ):
        with pytest.raises(NotFoundError):
            unknown()
    for odd in ODD_ARMS:
        with pytest.raises(InvalidInputError):
            join(bob, 2, arms=odd)
    with pytest.raises(InvalidInputError):
        join(bob, 0)
    join(ann, 1)
    with pytest.raises(ConflictError, match="has not joined"):
        join(ann, 1)
    with store.writing() as connection:
        studies.close(connection, study, NOW)
    with pytest.raises(ConflictError, match="closed"):
        join(bob, 2)
    with pytest.raises(ConflictError, match="closed"):
        invite(bob, 2)
    with store.reading() as connection:
        assert [it.account for it in studies.participants(connection, study)] == [ann]


def test_an_account_that_is_removed_is_no_participant(connection: Connection) -> None:
    study = add_study(connection).id
    ann, bob = add_account(connection, "Ann").id, add_account(connection, "Bob").id
    arm = joined(connection, study, ann)[0].id
    joined(connection, study, bob)
    accounts.delete(connection, ann)
    assert [it.account for it in studies.participants(connection, study)] == [bob]
    assert studies.arm_by_id(connection, arm) is None
    assert studies.free_number(connection, study) == 1


def test_what_is_not_there_can_be_neither_closed_nor_claimed(store: Store) -> None:
    with store.writing() as connection:
        study, account = add_study(connection).id, add_account(connection, "Ann").id
        joined(connection, study, account)
        studies.claim(connection, study, account)
    for name, arguments in (
        ("close", (UNKNOWN, NOW)),
        ("claim", (study, UNKNOWN)),
        ("withdraw", (study, UNKNOWN)),
        ("free_number", (UNKNOWN,)),
    ):
        with pytest.raises(NotFoundError), store.writing() as connection:
            getattr(studies, name)(connection, *arguments)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE study_song SET stars = 0",
        "UPDATE study_song SET stars = 6",
        "UPDATE study_song SET stars = NULL",
        "UPDATE study_song SET rated_at = NULL",
        "UPDATE study_song SET known = NULL",
        "UPDATE study_song SET played_ms = -1",
        "UPDATE study_song SET choose_ms = -1",
        "UPDATE study_song SET number = 0",
        "UPDATE study_song SET song_id = '0123456789abcdef'",
        "UPDATE study_arm SET place = -1",
        "UPDATE study_arm SET place = 1",
        "UPDATE study_arm SET seed = -1",
        "UPDATE study_participant SET number = 0",
        "DELETE FROM song",
    ],
)
def test_the_database_itself_refuses_what_cannot_be(store: Store, statement: str) -> None:
    study = begun(store)
    with store.writing() as connection:
        play(connection, study.arm, study.songs[:1])
    with pytest.raises(StoreError), store.writing() as connection:
        connection.execute(text(statement))


# ── An arm: begun, offered, rated; once, and in order ─────────────────────────────────


RATING: dict[str, Any] = {"stars": 4, "known": False, "played_ms": 30_000, "now": NOW}


def test_an_arm_goes_from_begun_to_offered_to_rated(connection: Connection) -> None:
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
    rated: dict[str, Any] = {"stars": 5, "known": True, "played_ms": None, "rated_at": NOW + 2}
    nothing = dict.fromkeys(rated)
    assert studies.songs_of(connection, arm) == [
        SongRow(number=1, song=first, offered_at=NOW + 1, choose_ms=7, **rated),
        SongRow(number=2, song=second, offered_at=NOW + 3, choose_ms=8, **nothing),
    ]


def test_everything_of_a_study_comes_by_number_and_place(store: Store) -> None:
    study = begun(store)
    with store.writing() as connection:
        play(connection, study.arm, study.songs)
        other = joined(connection, study.id, add_account(connection, "Bob").id)
        everything = list(studies.rows(connection, study.id))
        places = [(who.number, arm.place) for who, arm, _ in everything]
        assert places == [(1, 1), (1, 2), (2, 1), (2, 2)]
        assert [len(songs) for _, _, songs in everything] == [3, 0, 0, 0]
        assert everything[0][2] == studies.songs_of(connection, study.arm)
        assert everything[2][1] == other[0]


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
            given: dict[str, Any] = {"number": number, "choose_ms": 9, "now": NOW + 9}
            studies.offer_instead(connection, study.arm, instead_of=old, song=new, **given)

    with store.writing() as connection:
        studies.offer(connection, study.arm, number=1, song=first, choose_ms=1, now=NOW)
    replaced(first, second)
    with pytest.raises(ConflictError, match="got another"):
        replaced(first, third)  # from another device, which has not seen it
    with pytest.raises(ConflictError, match="got another"):
        replaced(second, third, number=2)
    with pytest.raises(NotFoundError):
        replaced(second, UNKNOWN)
    with store.writing() as connection:
        (song,) = studies.songs_of(connection, study.arm)
        assert (song.song, song.offered_at, song.choose_ms) == (second, NOW + 9, 9)
        studies.rate(connection, study.arm, number=1, **RATING)
    with pytest.raises(ConflictError, match="got another"):
        replaced(second, third)


def test_what_is_not_there_is_not_found(store: Store) -> None:
    study = begun(store)
    offering: dict[str, Any] = {"number": 1, "choose_ms": 1, "now": NOW}
    with store.writing() as connection:
        for arm in (UNKNOWN, "a\0b", "\ud800"):
            assert studies.arm_by_id(connection, arm) is None
            assert studies.songs_of(connection, arm) == []
            with pytest.raises(NotFoundError):
                studies.begin(connection, arm, NOW)
            with pytest.raises(NotFoundError):
                studies.offer(connection, arm, song=study.songs[0], **offering)
            with pytest.raises(NotFoundError):
                studies.rate(connection, arm, number=1, **RATING)
        with pytest.raises(NotFoundError):
            studies.offer(connection, study.arm, song=UNKNOWN, **offering)
        with pytest.raises(NotFoundError, match="that was offered"):
            studies.rate(connection, study.arm, number=1, **RATING)


@pytest.mark.parametrize(
    "changes",
    [
        *({"stars": stars} for stars in (0, 6, True, 3.0)),
        *({"known": known} for known in (None, 1)),
        *({"played_ms": played_ms} for played_ms in (-1, 0.5)),
        *({"number": 0}, {"now": None}),
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

"""Lists of songs and of names: orders, filters and pages, on both databases."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.store.database.connection import Store
from bandstand.store.events.events import NewEvent
from bandstand.store.songs import pages as song_pages
from bandstand.store.songs.pages import MAX_KEY_CHARS, ORDERS, Filter, Heard, Of, Order, names
from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.store.examples import analysis, discarded, some_examples
from tests.fixtures.store.sample_log import add, new_account, rating

NAMES = (None, "a", "A", "b", "É", "é", "a b", "a-b", "%", "BJO\u0308RK", "Straße", "a_b", "'")
numbers = st.none() | st.integers(-2, 3)
tags = st.fixed_dictionaries(
    {
        **{name: st.sampled_from(NAMES) for name in ("title", "artist", "album", "album_artist")},
        **dict.fromkeys(("disc", "track", "year"), numbers),
    }
)


def fill(connection: Connection, songs: list[dict[str, Any]], *, now: int = 1) -> list[str]:
    found = [
        (f"/music/{now}-{number}.ogg".encode(), analysis(number + 1_000 * now, **given_tags))
        for number, given_tags in enumerate(songs)
    ]
    return [made.song_id for made in record_analyses(connection, found, scan=1, now=now)]


def pages(connection: Connection, order: Order, limit: int) -> list[str]:
    found: list[str] = []
    after = None
    while page := song_pages.page(connection, Filter(), after=after, limit=limit, order=order):
        found += [song.id for song in page]
        after = page[-1].id
    return found


@some_examples
@given(st.lists(tags, max_size=10), st.integers(1, 4), st.sampled_from(ORDERS))
def test_pages_hold_every_song_once_in_every_order(
    shared: Store, songs: list[dict[str, Any]], limit: int, order: Order
) -> None:
    with discarded(shared) as connection:
        ids = fill(connection, songs)
        found = pages(connection, order, limit)
        assert sorted(found) == sorted(ids)
        assert found == pages(connection, order, 100)


@some_examples
@given(st.lists(tags, min_size=2, max_size=6), st.lists(tags, max_size=6), st.sampled_from(ORDERS))
def test_no_song_comes_twice_when_others_come_between_two_pages(
    shared: Store, songs: list[dict[str, Any]], more: list[dict[str, Any]], order: Order
) -> None:
    with discarded(shared) as connection:
        ids = fill(connection, songs)
        first = song_pages.page(connection, Filter(), after=None, limit=1, order=order)
        fill(connection, more, now=2)
        rest = song_pages.page(connection, Filter(), after=first[-1].id, limit=99, order=order)
        found = [song.id for song in (*first, *rest)]
    assert len(found) == len(set(found))
    assert set(ids) <= set(found)


def titles(connection: Connection, order: Order, **wanted: Any) -> list[str | None]:
    found = song_pages.page(connection, Filter(**wanted), after=None, limit=99, order=order)
    return [song.tags.title for song in found]


def test_songs_of_no_artist_come_last_by_title_or_by_file(connection: Connection) -> None:
    songs = [
        {"title": "Éclair"},
        {"title": "zebra"},
        {},  # its file is called 1-2.ogg
        {"title": "éa"},
        {"artist": "Zappa", "title": "B"},
        {"artist": "abba", "title": "C"},
        {"artist": "", "title": "Y"},
    ]
    fill(connection, [{"artist": None, "title": None, **song} for song in songs])
    assert titles(connection, "artist") == ["C", "B", None, "Y", "zebra", "éa", "Éclair"]


@some_examples
@given(st.lists(tags, max_size=10), st.sampled_from(NAMES))
def test_what_is_found_is_as_long_as_all_pages_together(
    shared: Store, songs: list[dict[str, Any]], name: str | None
) -> None:
    with discarded(shared) as connection:
        fill(connection, songs)
        wanted = Filter(artist=name)
        found = song_pages.page(connection, wanted, after=None, limit=100)
        seconds = song_pages.durations(connection, wanted)
        assert seconds == {song.id: song.duration for song in found}
        count, together = song_pages.size(connection, wanted)
    assert count == len(found)
    assert together == pytest.approx(sum(seconds.values()))


def test_an_album_is_in_the_order_of_its_discs_and_tracks(store: Store) -> None:
    album = {"album": "Hits", "album_artist": "Queen"}
    with store.writing() as connection:
        fill(
            connection,
            [
                {"title": "none", "artist": "A"},
                {"title": "2.1", **album, "disc": 2, "track": 1},
                {"title": "1.10", **album, "disc": 1, "track": 10},
                {"title": "1.2", **album, "disc": 1, "track": 2, "artist": "Z"},
                {"title": "other", "album": "hits", "artist": "Abba", "track": 99},
            ],
        )
        assert titles(connection, "album") == ["other", "1.2", "1.10", "2.1", "none"]
        found = titles(connection, "album", album="HITS", album_artist="queen")
        assert found == ["1.2", "1.10", "2.1"]
        assert titles(connection, "album", album_artist="abba") == ["other"]


def test_a_genre_is_one_of_those_that_a_tag_names(connection: Connection) -> None:
    genres = ("Rock/Pop", "rock", "Pop; Folk", "Rockabilly", None)
    fill(connection, [{"title": str(genre), "genre": genre} for genre in genres])
    assert titles(connection, "title", genre="ROCK") == ["rock", "Rock/Pop"]
    assert titles(connection, "title", genre="pop") == ["Pop; Folk", "Rock/Pop"]
    assert titles(connection, "title", genre="rock/pop") == ["Rock/Pop"]


def test_what_was_heard_is_what_was_not_taken_back(connection: Connection) -> None:
    ids = fill(connection, [{"title": str(number)} for number in range(4)])
    ann, bob = new_account(connection), new_account(connection)
    add(connection, rating(ann, ids[0], "a"))
    add(connection, NewEvent(account=ann, key="b", kind="skip", song=ids[1], played_ms=1))
    taken_back = add(connection, rating(ann, ids[2], "c"))
    add(connection, NewEvent(account=ann, key="d", kind="retract", retracts=taken_back.seq))
    add(connection, rating(bob, ids[3], "a"))
    for account, is_heard, found in (
        (ann, True, ["0", "1"]), (ann, False, ["2", "3"]),
        (bob, True, ["3"]), (bob, False, ["0", "1", "2"]),
        ("0" * 16, True, []), ("0" * 16, False, ["0", "1", "2", "3"]),
    ):  # fmt: skip
        heard = Heard(account=account, is_heard=is_heard)
        assert titles(connection, "title", heard=heard) == found


SPELLINGS = ("Björk", "BJO\u0308RK", "bjork", "Straße", "STRASSE", "100%", "a_b", "a\\b", "'", None)


def fill_artists(connection: Connection, artists: Sequence[str | None]) -> list[str]:
    """Put a song of each artist into a store, and return their ids."""
    return fill(connection, [{"artist": name, "album": name} for name in artists])


def artists(connection: Connection, wanted: Filter) -> list[str | None]:
    return [song.tags.artist for song in song_pages.page(connection, wanted, after=None, limit=100)]


def test_a_name_is_the_same_however_it_is_spelt(connection: Connection) -> None:
    fill_artists(connection, SPELLINGS)
    for spelt in ("björk", "BJÖRK", "Bjo\u0308rk"):
        assert set(artists(connection, Filter(artist=spelt))) == {"Björk", "BJO\u0308RK"}
    assert set(artists(connection, Filter(album="strasse"))) == {"Straße", "STRASSE"}
    assert artists(connection, Filter(artist="björ")) == []


@pytest.mark.parametrize(
    ("text", "found"), [("%", "100%"), ("_", "a_b"), ("\\", "a\\b"), ("'", "'")]
)
def test_signs_of_the_database_are_letters(connection: Connection, text: str, found: str) -> None:
    fill_artists(connection, SPELLINGS)
    assert artists(connection, Filter(text=text)) == [found]
    assert artists(connection, Filter(artist=text)) == ([found] if text == found else [])


def test_all_words_must_be_there_but_anywhere(connection: Connection) -> None:
    some = analysis(1, artist="Nina", title="Feeling Good", album="Spell", genre="Jazz")
    other = analysis(2, artist="Nina", title="Sinnerman", album="Blues", genre="Soul")
    paths = (b"/music/first.ogg", b"/music/second.ogg")
    record_analyses(connection, list(zip(paths, (some, other), strict=True)), scan=1, now=1)
    for text, count in (
        ("nina", 2), ("good nina", 1), ("SPELL feel", 1), ("first", 1), ("first blues", 0),
        ("", 2), ("   ", 2), ("x" * 9_000, 0), ("\0", 0), ("\ud800", 0),
    ):  # fmt: skip
        assert len(artists(connection, Filter(text=text))) == count, text
    assert len(artists(connection, Filter(text="nina", genre="SOUL"))) == 1


WRITTEN = (None, "Björk", "BJO\u0308RK", "Rock", "rock ", "Rock/Pop", "Pop; Rock", "Straße", "100%")
name_tags = st.fixed_dictionaries(
    {name: st.sampled_from(WRITTEN) for name in ("artist", "album", "album_artist", "genre")}
)


def listed(connection: Connection, of: Of, text: str = "") -> list[tuple[str, str | None, int]]:
    return [(it.name, it.artist, it.songs) for it in names(connection, of, text=text)]


@some_examples
@given(st.lists(name_tags, max_size=10))
def test_songs_are_found_as_listed(shared: Store, songs: list[dict[str, str | None]]) -> None:
    with discarded(shared) as connection:
        fill(connection, songs)
        for of in song_pages.OF:
            for name in names(connection, of):
                wanted: dict[str, Any] = {of: name.name}
                if of == "album":
                    if name.artist is None:
                        continue  # nothing tells these from others of the name
                    wanted["album_artist"] = name.artist
                found = song_pages.durations(connection, Filter(**wanted))
                assert len(found) == name.songs, name


def test_names_are_in_their_order_and_each_has_a_key_of_its_own(store: Store) -> None:
    # One letter that becomes eighteen when it is folded.
    long = ["\ufdfa" * 500, "\ufdfa" * 499 + "x", "b", "A", "c" * 500]
    with store.writing() as connection:
        fill(connection, [{"artist": name, "album": name} for name in long])
        for of in ("artist", "album"):
            keys = [name.key for name in names(connection, of)]
            assert keys == sorted(set(keys))
            assert len(keys) == len(long)
            assert max(map(len, keys)) <= MAX_KEY_CHARS + 17


@pytest.mark.parametrize("text", ["", "  ", "%", "_", "\0", "\ud800", "x" * 9_000])
def test_any_text_may_be_looked_for(connection: Connection, text: str) -> None:
    fill(connection, [{"artist": "a"}])
    assert len(names(connection, "artist", text=text)) == (0 if text.strip() else 1)


def test_there_is_no_other_order_and_no_other_list_of_names(connection: Connection) -> None:
    with pytest.raises(InvalidInputError, match="artist, title"):
        song_pages.page(connection, Filter(), after=None, limit=1, order="best")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="artist, album"):
        names(connection, "year")  # type: ignore[arg-type]


def test_a_page_must_go_on_behind_a_song(connection: Connection) -> None:
    fill_artists(connection, ["a"])
    for after in ("0123456789abcdef", "", "\0", "\ud800"):
        with pytest.raises(NotFoundError):
            song_pages.page(connection, Filter(), after=after, limit=9)


def test_years_are_from_and_to(connection: Connection) -> None:
    fill(connection, [{"title": str(year), "year": year} for year in (1969, 1970, 1979, 1980)])
    fill(connection, [{"title": "unknown"}], now=2)
    found = titles(connection, "title", year_from=1970, year_to=1979)
    assert found == ["1970", "1979"]
    assert titles(connection, "title", year_from=1980) == ["1980"]
    assert titles(connection, "title", year_to=1969) == ["1969"]

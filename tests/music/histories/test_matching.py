"""A song that another program names is found under every spelling, and no other is taken for it."""

import math

import pytest

from bandstand.music.histories.matching import (
    NO_ARTIST,
    NO_SUCH_ARTIST,
    NO_SUCH_SONG,
    Library,
    Match,
    Wanted,
)
from bandstand.store.songs.songs import Facts

MBID = "f205627f-b70a-409d-adbe-66289b614e80"


def facts(number: int, title: str | None, artist: str | None, **more: object) -> Facts:
    names = ("album_artist", "album", "recording_mbid")
    album_artist, album, mbid = (more.get(name) for name in names)
    length = more.get("length", 200.0)
    return (f"{number:016x}", title, artist, album_artist, album, None, None, mbid, None, length)  # type: ignore[return-value]


SONGS = [
    facts(1, "Heroes", "David Bowie", album="Heroes", length=371.0),
    facts(2, "Heroes", "David Bowie", album="Best of Bowie", length=215.0),
    facts(3, "Jóga (Live)", "Björk", recording_mbid=MBID),
    facts(4, "Intro", "The xx", album_artist="Various Artists"),
    facts(5, "Duet", "Ann", album_artist="Bo"),
    facts(6, None, "Ann"),
]


@pytest.mark.parametrize(
    ("wanted", "song", "why"),
    [
        (Wanted("DAVID  BOWIE", "heroes"), 1, "name"),
        (Wanted("David Bowie", "Heroes - 2017 Remaster"), 1, "version"),
        (Wanted("David Bowie", "Heroes", length=214.2), 2, "name"),
        (Wanted("David Bowie", "Heroes", "Best Of Bowie"), 2, "name"),
        (Wanted("David Bowie", "Heroes", "Best Of Bowie", length=371.0), 1, "name"),
        (Wanted("Somebody", "Something", mbid=MBID.upper()), 3, "mbid"),
        (Wanted("bjork feat. Ann", "Joga"), 3, "version"),
        (Wanted("XX", "intro", mbid="unknown"), 4, "name"),
        (Wanted("bo", "Duet"), 5, "name"),
        (Wanted("David Bowie", "Ashes to Ashes"), None, NO_SUCH_SONG),
        (Wanted("Ann", "6"), None, NO_SUCH_SONG),
        (Wanted("Nobody", "Heroes"), None, NO_SUCH_ARTIST),
        (Wanted("", "Heroes"), None, NO_ARTIST),
    ],
)
def test_a_song_is_found_or_the_reason_is_given(wanted: Wanted, song: int | None, why: str) -> None:
    library = Library(SONGS)
    expected = Match(None if song is None else f"{song:016x}", why)
    assert library.find(wanted) == expected == library.find(wanted)


def test_the_order_of_the_library_does_not_matter() -> None:
    for wanted in (Wanted("David Bowie", "Heroes"), Wanted("David Bowie", "Heroes", "", "", 290)):
        assert Library(SONGS).find(wanted) == Library(SONGS[::-1]).find(wanted)


def test_what_is_not_known_is_not_compared() -> None:
    assert Library(SONGS).find(Wanted("Ann", "Duet", length=math.nan)).why == "name"

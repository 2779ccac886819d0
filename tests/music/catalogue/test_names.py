from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.catalogue.catalogue import catalogue_of
from bandstand.music.catalogue.names import (
    _plain,
    _without_versions,
    artist_keys,
    lead_artist,
    song_key,
)
from bandstand.store.songs.pages import genre_keys, genre_names, name_key
from bandstand.types import Tags
from tests.fixtures.radio.catalogues import record

VERSIONS = [
    ("Heroes", "Heroes - 2017 Remaster"),
    ("Heroes", "“Heroes” (Live at Wembley) [2017 Remastered Version]"),
    ("Come Together", "Come Together - Remastered 2009"),
    ("Come Together", "COME TOGETHER (Remastered 2009)"),
    ("Love Me Do", "Love Me Do - Mono / Remastered"),
    ("Love Me Do", "Love Me Do (Single Version, Andy White on drums)"),
    ("Creep", "Creep (Acoustic)"),
    ("Creep", "Creep - Radio Edit"),
    ("Creep", "Creep (Clean Version)"),
    ("About a Girl", "About a Girl (MTV Unplugged)"),
    ("About a Girl", "About A Girl - Live from MTV Unplugged, New York, 1993"),
    ("Hurt", "Hurt (Quiet Version)"),
    ("Umbrella", "Umbrella (feat. Jay-Z)"),
    ("Umbrella", "Umbrella feat. Jay-Z"),
    ("Umbrella", "Umbrella [ft. JAY-Z] (Radio Edit)"),
    ("Under Pressure", "Under Pressure (with David Bowie) - Remastered 2011"),
    ("Blue Monday", "Blue Monday '88 (12\" Version)".replace(" '88", "")),
    ("Don't Stop Me Now", "Don’t Stop Me Now - 2011 Mix"),
    ("Mr. Brightside", "Mr Brightside - Jacques Lu Cont's Thin White Duke Mix"),
    ("(I Can't Get No) Satisfaction", "(I Can't Get No) Satisfaction - Mono Version"),
    ("(I Can't Get No) Satisfaction", "(I Can’t Get No) Satisfaction (Live in Hyde Park)"),
    ("Live and Let Die", "Live and Let Die - Live at Glastonbury"),
    ("Live and Let Die", "Live And Let Die (Remastered)"),
    ("Long Live", "Long Live (Taylor's Version)"),
    ("All Too Well", "All Too Well (10 Minute Version) (Taylor's Version) [From the Vault]"),
    ("Hotel California", "Hotel California - Live On MTV, 1994"),
    ("Alive", "Alive (Live)"),
    ("Alive", "Alive – Live 1992"),
    ("Layla", "Layla [Acoustic; Live at MTV Unplugged]"),
    ("Clocks", "Clocks (Instrumental)"),
    ("Clocks", "Clocks (Karaoke Version)"),
    ("Strawberry Fields Forever", "Strawberry Fields Forever (Take 7)"),
    ("Yesterday", "Yesterday (Demo)"),
    ("Yesterday", "Yesterday [Bonus Track]"),
    ("Strobe", "Strobe (Club Edit)"),
    ("Strobe", "Strobe - Original Mix"),
    (
        "My Heart Will Go On",
        'My Heart Will Go On (Love Theme) [From "Titanic"]'.replace(" (Love Theme)", ""),
    ),
    ("Ne me quitte pas", "Ne me quitte pas (Remasterisé) [Stereo]".replace(" (Remasterisé)", "")),
    ("La Bamba", "La Bamba (En Vivo)"),
    ("Ignition", "Ignition (Remix)"),
]

DIFFERENT = [
    ("Live and Let Die", "Let Die"),
    ("Live and Let Die", "Live"),
    ("Remix to Ignition", "Ignition"),
    ("(I Can't Get No) Satisfaction", "Satisfaction"),
    ("Live Forever", "Forever"),
    ("Live to Tell", "Tell"),
    ("Demo", "Mono"),
    ("Demons", "Demo"),
    ("Another Brick in the Wall, Part 1", "Another Brick in the Wall, Part 2"),
    ("Another Brick in the Wall (Part 1)", "Another Brick in the Wall (Part 2)"),
    ("Shine On You Crazy Diamond (Parts I-V)", "Shine On You Crazy Diamond (Parts VI-IX)"),
    ("Sgt. Pepper's Lonely Hearts Club Band", "Sgt. Pepper's Lonely Hearts Club Band (Reprise)"),
    ("Take On Me", "On Me"),
    ("With or Without You", "Without You"),
    ("Born to Run", "Born to Run - Live to Die"),
    ("Live (For the One I'm With)", "Live (for Me)"),
    ("Days - This Time Tomorrow", "Days"),
    ("(Don't Fear) The Reaper", "The Reaper"),
    ("Feature", "Feat"),
    ("Edith", "Edit"),
    ("Mixed Emotions", "Emotions"),
    ("1999", "2000"),
    ("?", "!"),
]


@pytest.mark.parametrize(("one", "other"), VERSIONS)
def test_versions_of_a_song_have_one_key(one: str, other: str) -> None:
    assert song_key(one) == song_key(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_songs_keep_different_keys(one: str, other: str) -> None:
    assert song_key(one) != song_key(other)


@pytest.mark.parametrize(
    "title", ["(Live)", "[Remix]", "- Demo", "Live", "Remastered", "(feat. X)"]
)
def test_a_title_that_is_all_version_words_is_still_a_title(title: str) -> None:
    assert song_key(title)


@given(st.text(max_size=60))
def test_any_title_has_a_key_that_does_not_depend_on_case_or_space(title: str) -> None:
    key = song_key(title)
    assert key == song_key(f"  {title} ") == song_key(title.casefold())
    assert bool(key) == bool(name_key(title))


def test_long_titles_take_no_time() -> None:
    for piece in ("(", "(live) ", " - live", "[", "feat. ", "a - "):
        assert song_key(piece * 5_000) is not None


def test_artists_are_known_with_and_without_their_guests() -> None:
    assert lead_artist("Santana ft. Rob Thomas") == lead_artist("SANTANA")
    assert lead_artist("Left") == "left"
    assert lead_artist("feat. X") == "feat. x"
    assert artist_keys("AC/DC") == {"ac/dc"}
    assert artist_keys("Nina feat. X") == {"nina feat. x", "nina"}


@pytest.mark.parametrize(
    ("tag", "names"),
    [
        ("Rock; Pop", ("Rock", "Pop")),
        ("Rock/Pop", ("Rock", "Pop")),
        ("Pop, Folk | Jazz", ("Pop", "Folk", "Jazz")),
        ("Hip-Hop", ("Hip-Hop",)),
        ("R&B", ("R&B",)),
        ("Drum & Bass", ("Drum & Bass",)),
        ("; /", ()),
        (None, ()),
    ],
)
def test_a_genre_tag_may_name_several(tag: str | None, names: tuple[str, ...]) -> None:
    assert genre_names(tag) == names
    assert {name_key(name) for name in names} <= genre_keys(tag)


def versions(tags: list[Tags]) -> list[int]:
    """Return the recording of each of some songs."""
    catalogue = catalogue_of([record(row, **asdict(one)) for row, one in enumerate(tags)])
    return [int(code) for code in catalogue.recording_codes]


def test_songs_that_several_ways_join_are_one_recording() -> None:
    pairs = [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")]
    tags = [Tags(title=title, artist="X", recording_mbid=mbid) for title, mbid in pairs]
    assert versions(tags) == [0, 0, 0, 0]


def test_versions_are_found_by_name_and_by_number() -> None:
    codes = versions(
        [
            Tags(title="Creep", artist="Radiohead", recording_mbid="studio"),
            Tags(title="Creep (Live)", artist="Radiohead", recording_mbid="live"),
            Tags(title="Crawl", artist="radiohead", recording_mbid="live"),
            Tags(title="Creep", artist="TLC"),
            Tags(title="Creep"),
            Tags(title="Creep"),
            Tags(artist="Radiohead"),
            Tags(title="Creep", album_artist="RADIOHEAD feat. TLC"),
        ]
    )
    assert codes[0] == codes[1] == codes[2] == codes[7]
    assert len({codes[row] for row in (0, 3, 4, 5, 6)}) == 5
    assert versions([]) == []


parts = st.sampled_from(
    [
        "heroes",
        "(live)",
        "[2017 remaster]",
        " - ",
        "–",
        "-",
        "feat. ann",
        " ft ",
        "after",
        "<b>",
        "{",
    ]
)


@given(st.lists(parts | st.text(max_size=5)).map(" ".join))
def test_a_title_that_is_not_looked_at_closely_would_stay_as_it_is(title: str) -> None:
    whole = name_key(title)
    closely = _plain(_without_versions(whole)) or _plain(whole) or whole
    assert song_key(title[:500]) == closely or len(title) > 500

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.catalogue.catalogue import catalogue_of
from bandstand.music.catalogue.names import (
    _plain,
    _without_versions,
    song_key,
)
from bandstand.store.songs.pages import name_key
from bandstand.types import Tags
from tests.fixtures.radio.catalogues import record

VERSIONS = {
    "Heroes": ["Heroes - 2017 Remaster", "“Heroes” (Live at Wembley) [2017 Remastered Version]"],
    "Come Together": ["COME TOGETHER (Remastered 2009)", "Come Together - Remastered 2009"],
    "Love Me Do": ["Love Me Do - Mono / Remastered", "Love Me Do (Single Version, Andy on drums)"],
    "Creep": ["Creep (Acoustic)", "Creep - Radio Edit", "Creep (Clean Version)"],
    "About a Girl": ["About A Girl - Live from MTV Unplugged, New York, 1993"],
    "Umbrella": ["Umbrella (feat. Jay-Z)", "Umbrella feat. Jay-Z", "Umbrella [ft. JAY-Z] (Edit)"],
    "Under Pressure": ["Under Pressure (with David Bowie) - Remastered 2011"],
    "Don't Stop Me Now": ["Don’t Stop Me Now - 2011 Mix"],
    "Mr. Brightside": ["Mr Brightside - Jacques Lu Cont's Thin White Duke Mix"],
    "(I Can't Get No) Satisfaction": [
        "(I Can't Get No) Satisfaction - Mono Version",
        "(I Can’t Get No) Satisfaction (Live in Hyde Park)",
    ],
    "Live and Let Die": ["Live and Let Die - Live at Glastonbury"],
    "All Too Well": ["All Too Well (10 Minute Version) (Taylor's Version) [From the Vault]"],
    "Alive": ["Alive (Live)", "Alive – Live 1992"],
    "Layla": ["Layla [Acoustic; Live at MTV Unplugged]"],
    "Clocks": ["Clocks (Instrumental)", "Clocks (Karaoke Version)"],
    "Strawberry Fields": ["Strawberry Fields (Take 7)"],
    "Yesterday": ["Yesterday (Demo)", "Yesterday [Bonus Track]"],
    "Strobe": ["Strobe (Club Edit)", "Strobe - Original Mix"],
    "La Bamba": ["La Bamba (En Vivo)"],
}
DIFFERENT = {
    "Live and Let Die": ["Let Die", "Live"],
    "Remix to Ignition": ["Ignition"],
    "(I Can't Get No) Satisfaction": ["Satisfaction"],
    "Live Forever": ["Forever"],
    "Demo": ["Mono", "Demons"],
    "Another Brick in the Wall (Part 1)": ["Another Brick in the Wall (Part 2)"],
    "Shine On You Crazy Diamond (Parts I-V)": ["Shine On You Crazy Diamond (Parts VI-IX)"],
    "Sgt. Pepper's": ["Sgt. Pepper's (Reprise)"],
    "With or Without You": ["Without You"],
    "Born to Run": ["Born to Run - Live to Die"],
    "Live (For the One I'm With)": ["Live (for Me)"],
    "Days - This Time Tomorrow": ["Days"],
    "(Don't Fear) The Reaper": ["The Reaper"],
    "Edith": ["Edit"],
    "Mixed Emotions": ["Emotions"],
    "?": ["!"],
}


@pytest.mark.parametrize("title", VERSIONS)
def test_versions_of_a_song_have_one_key(title: str) -> None:
    assert {song_key(version) for version in VERSIONS[title]} == {song_key(title)}


@pytest.mark.parametrize("title", DIFFERENT)
def test_different_songs_keep_different_keys(title: str) -> None:
    assert song_key(title) not in {song_key(other) for other in DIFFERENT[title]}


@given(st.text(max_size=60))
def test_any_title_has_a_key_that_does_not_depend_on_case_or_space(title: str) -> None:
    key = song_key(title)
    assert key == song_key(f"  {title} ") == song_key(title.casefold())
    assert bool(key) == bool(name_key(title))


@pytest.mark.parametrize("piece", ["(", "(live) ", " - live", "[", "feat. ", "a - "])
def test_a_long_title_has_a_short_key(piece: str) -> None:
    assert 0 < len(song_key(piece * 5_000)) <= 500


def versions(tags: list[Tags]) -> list[int]:
    """Return the recording of each of some songs."""
    catalogue = catalogue_of([record(row, **asdict(one)) for row, one in enumerate(tags)])
    return [int(code) for code in catalogue.recording_codes]


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


PARTS = ["heroes", "(live)", "[2017 remaster]", " - ", "–", "-", "feat. ann", " ft ", "<b>", "{"]
parts = st.sampled_from(PARTS)


@given(st.lists(parts | st.text(max_size=5)).map(" ".join))
def test_a_title_that_is_not_looked_at_closely_would_stay_as_it_is(title: str) -> None:
    whole = name_key(title)
    closely = _plain(_without_versions(whole)) or _plain(whole) or whole
    assert song_key(title[:500]) == closely or len(title) > 500


def test_songs_that_several_ways_join_are_one_recording() -> None:
    pairs = [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")]
    tags = [Tags(title=title, artist="X", recording_mbid=mbid) for title, mbid in pairs]
    assert versions(tags) == [0, 0, 0, 0]

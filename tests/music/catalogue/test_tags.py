"""What tags say to the model: spellings of a name are one, and other texts are no names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.catalogue.tags import MAX_TAGS, album_name, artist_name, identity, tags_of

texts = st.text(max_size=60) | st.text("abcÄé& /;,-'()<>", max_size=30)


@pytest.mark.parametrize(
    ("genre", "tags"),
    [
        ("Hip-Hop/Rap", ("hip hop", "rap")),
        ("Hip Hop;hiphop;HIP-HOP", ("hip hop",)),
        ("R&B/Soul", ("r and b", "soul")),
        ("Rhythm & Blues", ("r and b",)),
        ("Rock & Roll", ("rock and roll",)),
        ("Rock 'n' Roll, rock n roll, Rock'n'Roll", ("rock and roll",)),
        ("Drum & Bass | Drum'n'Bass | DnB", ("drum and bass",)),
        ("Chanson française", ("chanson francaise",)),
        ("D&B; DnB", ("drum and bass",)),
        ("Electronica", ("electronica",)),
        ("Folk, World, & Country", ("folk", "world", "country")),
        ("80s; 1980's; The 80s", ("1980s",)),
        ("00s", ("2000s",)),
        ("ジャズ; ｼﾞｬｽﾞ", ("ジャズ",)),
        ("हिन्दी", ("हिन्दी",)),
        ("Йога", ("йога",)),
        ("Λαϊκά; ΛΑΙΚΑ", ("λαικα",)),
        ("N/A", ()),
        ("n/a; Jazz", ("jazz",)),
        ("Rock\0Pop", ("rock", "pop")),
        ("(None)", ()),
        ("<Unknown>", ()),
        ("Other", ()),
        ("http://music.example.com", ()),
        ("www.example.org; Jazz", ("jazz",)),
        ("name@example.net", ()),
        ("Free music at example.com", ()),
        ("Rock [www.example.com]", ("rock",)),
        ("17", ()),
        ("", ()),
        (None, ()),
        ("x" * 10_000, ()),
    ],
)
def test_genres_are_split_folded_and_cleaned(genre: str | None, tags: tuple[str, ...]) -> None:
    assert tags_of(genre) == tags


@pytest.mark.parametrize(
    ("year", "tags"),
    [
        (1969, ("1960s",)),
        (2000, ("2000s",)),
        (1901, ("1900s",)),
        (1900, ()),
        (0, ()),
        (9999, ()),
        (None, ()),
    ],
)
def test_a_year_is_its_decade(year: int | None, tags: tuple[str, ...]) -> None:
    assert tags_of(None, year) == tags


def test_a_decade_that_is_named_twice_is_one_tag() -> None:
    assert tags_of("1980s; 80s", 1985) == ("1980s",)


@pytest.mark.parametrize(
    "spellings",
    [
        ["The Beatles", "Beatles", "BEATLES, The", "the  beatles", "Beatles feat. Billy Preston"],
        ["Àlex Almarza", "Alex Almarza"],
        ["Björk", "Bjo\u0308rk", "BJORK", "Björk; Antony", "Björk Feat.Antony"],
        ["N.W.A.", "N.W.A", "NWA"],
        ["J.J. Cale", "J. J. Cale", "JJ Cale"],
        ["DJ Tiësto [www.example.ru]", "DJ Tiësto http://example.com/x", "DJ Tiësto"],
        ["Simon & Garfunkel", "Simon and Garfunkel"],
        ["Guns N' Roses", "Guns N’ Roses"],
        ["AC/DC", "AC-DC"],
    ],
)
def test_spellings_of_one_artist_are_one(spellings: list[str]) -> None:
    assert len({artist_name(text) for text in spellings}) == 1


@pytest.mark.parametrize(
    "artists",
    [
        ["The The", "The Who", "Who Is She"],
        ["!!!", "†††", "Sigur Rós"],
        ["Nina; Simone", "Simone"],
        ["Earth", "Earth, Wind & Fire"],
        ["M", "MM", "Ñ"],
        ["坂本龍一", "久石譲"],
        ["バンド", "ハント"],
        ["Хой", "Хои"],
        ["Simon & Garfunkel", "Simon"],
        ["L@R", "Disco.com", "Will.i.am", "Anonymous 4"],
    ],
)
def test_different_artists_stay_apart(artists: list[str]) -> None:
    names = {artist_name(text) for text in artists}
    assert len(names) == len(artists)
    assert None not in names


@pytest.mark.parametrize(
    "text",
    [
        *("<Unknown>", "Various Artists", "VA", "[unknown]", "(None)", "", None, "  "),
        *("???", "---", "http://example.com", "www.example.com", "a.name@example.com"),
        *("V.A.", "Compilation", "Sampler", "Soundtrack", "Unknown Artist 1"),
    ],
)
def test_texts_that_are_no_artist_are_none(text: str | None) -> None:
    assert artist_name(text) is None


@pytest.mark.parametrize("text", ["none", "non", "Unknown Album", "[untitled]", "", None])
def test_texts_that_are_no_album_are_none(text: str | None) -> None:
    assert album_name(text) is None


def test_editions_of_an_album_are_one_and_titles_are_not() -> None:
    editions = ["Blue", "Blue (Deluxe Edition)", "BLUE [Remastered]", "Blue (2011 Remaster)"]
    assert {album_name(text) for text in editions} == {"blue"}
    assert album_name("Blue Train") == "blue train"
    assert album_name("Live @ Wembley") == "live wembley"


def test_the_discs_of_an_album_are_one_album() -> None:
    discs = ["Blue", "Blue (Disc 1)", "Blue CD1", "Blue, Disc 2", "Blue [CD 2: Night] (Deluxe)"]
    assert {album_name(text) for text in discs} == {"blue"}
    assert album_name("CD1") == "cd1"


@given(texts, st.none() | st.integers(-(10**6), 10**6))
def test_any_text_gives_few_short_plain_tags(genre: str, year: int | None) -> None:
    tags = tags_of(genre, year)
    assert len(tags) <= MAX_TAGS + 1
    assert len(set(tags)) == len(tags)
    assert all(0 < len(tag) <= 40 and tag == " ".join(tag.split()) for tag in tags)
    assert tags_of("; ".join(tags_of(genre))) == tags_of(genre)


@given(texts)
def test_spaces_around_a_name_do_not_matter_and_no_name_is_empty(text: str) -> None:
    for name_of in (artist_name, album_name):
        name = name_of(text)
        assert name is None or name_of(f"  {text} ") == name != ""


@given(st.sets(st.text(max_size=20), max_size=50))
def test_identities_of_different_names_differ(names: set[str]) -> None:
    numbers = {identity(name) for name in names}
    assert len(numbers) == len(names)
    assert all(0 <= number < 2**63 for number in numbers)


def test_an_identity_never_changes() -> None:
    assert identity("bjork") == 2438468605645555244

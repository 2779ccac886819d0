"""What the tags of a song say to the model: clean tags, and which artist and album it is of.

    genre "Hip-Hop/Rap", year 1994       "hip hop", "rap", "1990s"
    artist "The Beatles feat. Guest"     the same artist as "BEATLES"
    artist "<Unknown>", genre "(None)"   nothing

`names` finds the songs of a ban and may put too many together. Here two artists who are not the
same must stay apart, since what one of them is given would count for the other. Everything is a
function of the text alone, so that an identity stays the same when songs come and go; `artists`
adds what MusicBrainz says.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np

from bandstand.core.model.song_groups import UNKNOWN
from bandstand.music.catalogue.names import lead_artist, song_key
from bandstand.store.songs.pages import genre_names, name_key
from bandstand.types import AnyArray

# A text that names more genres, or longer ones, is no list of genres.
MAX_TAGS: Final = 8
_MAX_TAG_LENGTH: Final = 40
# What is read of a text; no real name is longer.
_MAX_TEXT_LENGTH: Final = 500
# Most libraries have fewer names than this.
_CACHED_NAMES: Final = 1 << 16
# Programs write 1900 or less where they know no year.
_FIRST_YEAR, _LAST_YEAR = 1901, 2100


def _texts(listed: str) -> frozenset[str]:
    return frozenset(" ".join(text.split()) for text in listed.split(";"))


# What programs and people write where they know nothing, in the form of `_words`.
_NO_GENRES: Final = _texts("""
    unknown; unknown genre; none; non; no genre; not set; not available; na; n a; nil; null;
    undefined; unclassifiable; other; others; misc; miscellaneous; various; default; genre;
    general; blank
""")
_NO_ARTISTS: Final = _texts("""
    unknown; unknown artist; unknown artists; unbekannt; unbekannter interpret;
    unbekannter kunstler; artiste inconnu; various; various artist; various artists; va;
    verschiedene; verschiedene interpreten; verschiedene kunstler; artistes divers;
    varios artistas; artisti vari; artist; no artist; none; non; n a; anonymous;
    compilation; compilations; sampler; soundtrack; original soundtrack; ost
""")
_NO_ALBUMS: Final = _texts("""
    unknown; unknown album; unbekannt; unbekanntes album; album inconnu; album; no album; none;
    non; n a; untitled; untitled album; singles; misc
""")
_ADDRESS: Final = re.compile(
    r"""[(\[<{]?\s* (?: \w+://[^\s)\]>}]+ | \bwww\.[^\s)\]>}]+
    | [^\s@(\[<{]+@[^\s@.]+\.[^\s@)\]>}]+ ) \s*[)\]>}]?""",
    re.IGNORECASE | re.VERBOSE,
)
# A genre that ends like the name of a server is its advertisement; an artist may be "Disco.com".
_SERVER: Final = re.compile(r"\.(?:com|net|org|info|ru|de|fm)\b", re.IGNORECASE)
_LISTED: Final = re.compile(r"[;,|\0]")
_AND: Final = re.compile(r"&|\+|(?<=\w)['’‘`´]n['’‘`´](?=\w)")
_LEADING_AND: Final = re.compile(r"^(?:and )+")
_APOSTROPHES: Final = re.compile(r"['’‘`´ʼ]")
# Letters with marks above or below them that other spellings leave out; elsewhere, as in "й" or
# "ズ", a mark makes another letter.
_MARKED: Final = re.compile(r"([a-z\u0370-\u03ff])[\u0300-\u036f]+")
_INITIALS: Final = re.compile(r"(?<!\w)[^\W\d_](?:\.\s?[^\W\d_](?!\w))+\.?")
_ARTICLE: Final = re.compile(r"^the (?=.)|(?<=.),? the$")
_NUMBERED: Final = re.compile(r"(?<=^unknown artist) \d+$")
_DISC: Final = re.compile(r"[(\[]\s*(?:cd|dis[ck])\s*\d+[^)\]]*[)\]]", re.IGNORECASE)
_DISC_WORDS: Final = re.compile(r" (?:cd|dis[ck]) ?\d+(?: of \d+)?$")
_DECADE: Final = re.compile(r"(?:the )?(19|20)?(\d)0s")
# One genre in several spellings that differ by more than signs.
_SPELLINGS: Final = {
    "hiphop": "hip hop",
    "triphop": "trip hop",
    "rnb": "r and b",
    "rhythm and blues": "r and b",
    "synth pop": "synthpop",
    "electro pop": "electropop",
    "dnb": "drum and bass",
    "d and b": "drum and bass",
    "lofi": "lo fi",
    "kpop": "k pop",
    "jpop": "j pop",
    "avantgarde": "avant garde",
}


def tags_of(genre: str | None, year: int | None = None) -> tuple[str, ...]:
    """Return the tags of a song, each once: its genres as plain words, and its decade.

    >>> tags_of("Hip-Hop/Rap; R&B", 1994), tags_of("(None)"), tags_of("HipHop, hip hop")
    (('hip hop', 'rap', 'r and b', '1990s'), (), ('hip hop',))
    """
    tags = list(spelled_tags(genre))[:MAX_TAGS]
    if year is not None and _FIRST_YEAR <= year <= _LAST_YEAR:
        tags.append(f"{year // 10 * 10}s")
    return tuple(dict.fromkeys(tags))


def spelled_tags(genre: str | None) -> dict[str, str]:
    """Return the genres of a song, each with its spelling: that which comes first.

    >>> spelled_tags("R&B; Hip-Hop, hiphop"), spelled_tags("N/A")
    ({'r and b': 'R&B', 'hip hop': 'Hip-Hop'}, {})
    """
    found: dict[str, str] = {}
    for text in _LISTED.split(_ADDRESS.sub(" ", (genre or "")[:_MAX_TEXT_LENGTH])):
        if _words(text) in _NO_GENRES or _SERVER.search(text):
            continue
        for name in genre_names(text):
            tag = _genre(name)
            if tag is not None:
                found.setdefault(tag, tag if _DECADE.fullmatch(tag) else name)
    return found


def usual(spellings: Counter[str]) -> str:
    """Return the spelling that most songs have; of several the first by its letters."""
    return min(spellings, key=lambda name: (-spellings[name], name))


@lru_cache(maxsize=_CACHED_NAMES)
def artist_name(artist: str | None) -> str | None:
    """Return what all spellings of an artist have in common, without guests; None for no name.

    >>> artist_name("The Beatles"), artist_name("Björk feat. Antony"), artist_name("<Unknown>")
    ('beatles', 'bjork', None)
    """
    first = re.split("[;\0]", _ADDRESS.sub(" ", (artist or "")[:_MAX_TEXT_LENGTH]))[0]
    whole = _words(lead_artist(first)) if first.strip() else ""
    return _name(first, _NUMBERED.sub("", _ARTICLE.sub("", whole)), _NO_ARTISTS)


@lru_cache(maxsize=_CACHED_NAMES)
def album_name(album: str | None) -> str | None:
    """Return what all editions and discs of an album have in common; None for no name.

    >>> album_name("Blue (Deluxe Edition) CD2"), album_name("none")
    ('blue', None)
    """
    text = _ADDRESS.sub(" ", (album or "")[:_MAX_TEXT_LENGTH])
    without_disc = _DISC.sub(" ", text)
    whole = _words(song_key(without_disc if _words(without_disc) else text))
    return _name(text, _DISC_WORDS.sub("", whole), _NO_ALBUMS)


def title_names(title: str) -> tuple[str, str]:
    """Return what all spellings of a title have in common, and what those of all versions have.

    >>> title_names("Jóga (Live)"), title_names("???")
    (('joga live', 'joga'), ('???', '???'))
    """
    text = title[:_MAX_TEXT_LENGTH]
    return _words(text) or name_key(text), _words(song_key(text)) or name_key(text)


@lru_cache(maxsize=_CACHED_NAMES)
def identity(name: str) -> int:
    """Return a number from 0 to 2⁶³ − 1 for a name: the same everywhere and always.

    >>> identity("bjork") == identity("bjork") != identity("beatles")
    True
    """
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def identities(spellings: Iterable[str], name_of: Callable[[str | None], str | None]) -> AnyArray:
    """Return the identity of each spelling, and at the end `UNKNOWN`, for `NOTHING`."""
    named = (name_of(text) for text in spellings)
    found = [UNKNOWN if name is None else identity(name) for name in named]
    return np.array([*found, UNKNOWN], dtype=np.int64)


def _genre(text: str) -> str | None:
    words = _LEADING_AND.sub("", _words(text))  # "Folk, World, & Country"
    if (
        words in _NO_GENRES
        or len(words) > _MAX_TAG_LENGTH
        or not any(letter.isalpha() for letter in words)
    ):
        return None
    decade = _DECADE.fullmatch(words)
    if decade:
        century = decade[1] or ("20" if decade[2] in "01" else "19")
        return f"{century}{decade[2]}0s"
    return _SPELLINGS.get(words, words)


def _name(text: str, words: str, no_names: frozenset[str]) -> str | None:
    """Return the words of a name, or its signs where it has no words ("!!!")."""
    if words in no_names:
        return None
    signs = name_key(text).strip(" ?-_.")
    return words or signs or None


def _words(text: str) -> str:
    """Return the words of a text without case and signs, and without accents on Latin and Greek.

    >>> _words("Rock 'n' Roll"), _words("Sigur Rós"), _words("N.W.A."), _words("ｼﾞｬｽﾞ")
    ('rock and roll', 'sigur ros', 'nwa', 'ジャズ')
    """
    letters = _MARKED.sub(r"\1", unicodedata.normalize("NFD", name_key(text)))
    plain = unicodedata.normalize("NFKC", letters)
    joined = _INITIALS.sub(lambda found: re.sub(r"[.\s]", "", found[0]), plain)
    spaced = _APOSTROPHES.sub("", _AND.sub(" and ", joined))
    words = "".join(sign if _is_part_of_word(sign) else " " for sign in spaced).split()
    inner = ("and" if word == "n" else word for word in words[1:-1])
    return " ".join([*words[:1], *inner, *words[1:][-1:]])


def _is_part_of_word(sign: str) -> bool:
    """Return whether that is a letter, a digit or a mark, such as the vowels of Hindi."""
    return sign.isalnum() or unicodedata.category(sign).startswith("M")

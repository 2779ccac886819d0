"""What the tags of a song say to the model: clean tags, and which artist and album it is of.

    genre "Hip-Hop/Rap", year 1994       "hip hop", "rap", "1990s"
    artist "The Beatles feat. Guest"     the same artist as "BEATLES"
    artist "<Unknown>", genre "(None)"   nothing

`names` finds the songs of a ban and may put too many together. Here two artists who are not the
same must stay apart, since what one of them is given would count for the other. Everything is a
function of the text alone, so that an identity stays the same when songs come and go; `artists`
adds what MusicBrainz says.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.song_groups import UNKNOWN
from bandstand.music.catalogue.names import lead_artist, song_key
from bandstand.store.songs.pages import genre_names, name_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
    varios artistas; artisti vari; artist; no artist; none; non; n a; anonymous
""")
_NO_ALBUMS: Final = _texts("""
    unknown; unknown album; unbekannt; unbekanntes album; album inconnu; album; no album; none;
    non; n a; untitled; untitled album; singles; misc
""")
_ADDRESS: Final = re.compile(r"://|\bwww\.|@|\.(?:com|net|org|info|ru|de|fm)\b", re.IGNORECASE)
_LISTED: Final = re.compile(r"[;,|\0]")
_AND: Final = re.compile(r"&|\+|(?<=\w)['’‘`´]n['’‘`´](?=\w)")
_APOSTROPHES: Final = re.compile(r"['’‘`´ʼ]")
_WORD: Final = re.compile(r"[^\W_]+")
_LETTER: Final = re.compile(r"[^\W\d_]")
_ARTICLE: Final = re.compile(r"^the (?=.)|(?<=.),? the$")
# One genre in several spellings that differ by more than signs.
_SPELLINGS: Final = {
    "hiphop": "hip hop",
    "triphop": "trip hop",
    "rnb": "r and b",
    "rhythm and blues": "r and b",
    "synth pop": "synthpop",
    "electro pop": "electropop",
    "dnb": "drum and bass",
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
    listed = _LISTED.split((genre or "")[:_MAX_TEXT_LENGTH])
    texts = (name for text in listed if not _ADDRESS.search(text) for name in genre_names(text))
    genres = list(dict.fromkeys(name for name in map(_genre, texts) if name))[:MAX_TAGS]
    if year is not None and _FIRST_YEAR <= year <= _LAST_YEAR:
        genres.append(f"{year // 10 * 10}s")
    return tuple(genres)


@lru_cache(maxsize=_CACHED_NAMES)
def artist_name(artist: str | None) -> str | None:
    """Return what all spellings of an artist have in common, without guests; None for no name.

    >>> artist_name("The Beatles"), artist_name("Björk feat. Antony"), artist_name("<Unknown>")
    ('beatles', 'bjork', None)
    """
    first = re.split("[;\0]", (artist or "")[:_MAX_TEXT_LENGTH])[0]
    whole = _words(lead_artist(first)) if first.strip() else ""
    return _name(first, _ARTICLE.sub("", whole), _NO_ARTISTS)


@lru_cache(maxsize=_CACHED_NAMES)
def album_name(album: str | None) -> str | None:
    """Return what all editions of an album have in common; None for no name.

    >>> album_name("Blue (Deluxe Edition)"), album_name("none")
    ('blue', None)
    """
    text = (album or "")[:_MAX_TEXT_LENGTH]
    return _name(text, _words(song_key(text)), _NO_ALBUMS)


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
    words = _words(text)
    if (
        words in _NO_GENRES
        or len(words) > _MAX_TAG_LENGTH
        or not any(letter.isalpha() for letter in words)
    ):
        return None
    return _SPELLINGS.get(words, words)


def _name(text: str, words: str, no_names: frozenset[str]) -> str | None:
    """Return the words of a name, or its signs where it has no words ("!!!")."""
    if words in no_names or _ADDRESS.search(text):
        return None
    signs = name_key(text).strip(" ?-_.")
    return words or signs or None


def _words(text: str) -> str:
    """Return the words of a text without case, accents and signs.

    >>> _words("Rock 'n' Roll"), _words("Sigur Rós")
    ('rock and roll', 'sigur ros')
    """
    plain = unicodedata.normalize("NFKD", name_key(text))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = _WORD.findall(_APOSTROPHES.sub("", _AND.sub(" and ", letters)))
    inner = ("and" if word == "n" else word for word in words[1:-1])
    return " ".join([*words[:1], *inner, *words[1:][-1:]])

"""Names as people mean them: artists, genres, and titles without the version.

Two spellings of one name are the same name, and a live take, a remaster or a radio edit is the
same song in another version. This keeps versions and artists apart in time and finds the songs of
a ban, so it may now and then put two songs together that are not the same; it never decides what
a song is worth.

A library has far fewer names than songs. So each spelling is folded once, when it is first met,
and a song keeps a small number instead of a text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from bandstand.store.songs.pages import genre_keys, name_key
from bandstand.types import AnyArray

NOTHING: Final = -1  # the code of a text that is missing

# Words that say "the same song in another version", wherever they stand among others.
_VERSION_WORDS: Final = r"""
    remaster(ed)? | re-?master(ed)? | re-?mix(ed)? | mix | mixed | edit | edited | version | ver\.?
    | acoustic | unplugged | demo | mono | stereo | instrumental | karaoke | a\ ?cap+ella
    | extended | explicit | clean | uncensored | re-?recorded | re-?recording
    | single | bonus | outtake | rehearsal | alternate | alternative\ take | soundtrack
    | motion\ picture | sped\ up | slowed | bootleg | rework | re-?edit | sessions? | dub
    | orchestral | stripped | radio\ edit | from\ the\ vault | deluxe | anniversary | rmx
"""
# Words that say so only in some phrases: "Live to Tell", "Take On Me" and "With You" do not.
_VERSION_PHRASES: Final = r"""
    ^(recorded\ )?live$
    | ^(recorded\ )?live[,:]?\ (at|in|from|on|@|aus|dans|with|und|\d)
    | \b(recorded|mtv|bbc|radio|tour|concert|session|studio)\b.*\blive$ | \d{4}\ live$
    | ^live\b.*\b\d{4}$ | ^en\ (vivo|directo|concert)\b | ^ao\ vivo\b | ^(im|in)\ concert\b
    | ^take\ \d+ | ^alt(ernate)?\.?\ take | ^\d{4}$ | ^original$
    | ^(feat|ft|featuring)\b | ^(w/|with)\ | ^(taken\ )?from\ ["'“‘«]
"""
_VERSION: Final = re.compile(
    rf"(?<![\w'’])(?:{_VERSION_WORDS})(?![\w'’]) | {_VERSION_PHRASES}", re.VERBOSE
)
_BRACKETED: Final = re.compile(r"\s*[(\[{<]([^()\[\]{}<>]*)[)\]}>]")
# A dash between spaces, of any length; hyphens inside words stay.
_DASHED: Final = re.compile(r"\s+[-‐‑‒–—―]+\s+(?=[^-‐‑‒–—―]*$)")
_GUEST: Final = re.compile(r"\s+[(\[]?(?:feat|ft|featuring)(?![\w'’])(?:\.\s*|\s+)\S.*$")
# Every ending that could be left out contains one of these.
_MAY_NAME_VERSION: Final = re.compile(r"[(\[{<‐‑‒–—―-]|feat|ft")
_WORDS: Final = re.compile(r"\w+")
_APOSTROPHES: Final = re.compile(r"[\'’‘`´ʼ]")
# No real title is longer or names more versions.
_MAX_TITLE_LENGTH: Final = 500
_MAX_VERSION_NAMES: Final = 8
_ARTISTS: Final = re.compile(r"[;\0]")


def song_key(title: str) -> str:
    """Return what the titles of all versions of a song have in common.

    >>> song_key("Heroes (Live at Wembley) - 2017 Remaster"), song_key("Live and Let Die")
    ('heroes', 'live and let die')
    """
    whole = name_key(title[:_MAX_TITLE_LENGTH])
    # Most titles say nothing of a version, and there may be a million of them.
    short = _without_versions(whole) if _MAY_NAME_VERSION.search(whole) else whole
    return _plain(short) or _plain(whole) or whole


def lead_artist(artist: str) -> str:
    """Return the artist without guests.

    >>> lead_artist("Rihanna feat. Jay-Z")
    'rihanna'
    """
    whole = name_key(artist)
    return _GUEST.sub("", whole) or whole


def artist_keys(artist: str) -> frozenset[str]:
    """Return all names under which an artist is known: with guests, without, each of many.

    >>> sorted(artist_keys("Nina; Simone"))
    ['nina', 'nina; simone', 'simone']
    """
    several = [one for one in _ARTISTS.split(artist) if one.strip()]
    return frozenset([name_key(artist), *map(name_key, several), *map(lead_artist, several)])


def _without_versions(title: str) -> str:
    """Return a folded title without brackets and endings that name a version."""
    for _ in range(_MAX_VERSION_NAMES):
        before = title
        title = _GUEST.sub("", _BRACKETED.sub(_kept_bracket, title).strip())
        dash = _DASHED.search(title)
        if dash and _VERSION.search(title[dash.end() :].strip()):
            title = title[: dash.start()]
        if title == before:
            break
    return title


def _kept_bracket(found: re.Match[str]) -> str:
    return "" if _VERSION.search(found[1].strip()) else found[0]


def _plain(text: str) -> str:
    """Return the words alone, so that no sign between them matters."""
    return " ".join(_WORDS.findall(_APOSTROPHES.sub("", text)))


class Spellings:
    """A growing list of different texts. Codes never change, so catalogues may share it."""

    def __init__(self, keys_of: Callable[[str], Iterable[str]]) -> None:
        self._keys_of = keys_of
        self._texts: list[str] = []
        self._codes: dict[str, int] = {}
        # Most names have one spelling: a tuple of one is half of a list.
        self._by_key: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, code: int) -> str | None:
        return None if code == NOTHING else self._texts[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def code(self, text: str | None) -> int:
        """Return the code of a text, a new one for a new text."""
        if text is None:
            return NOTHING
        found = self._codes.get(text)
        if found is None:
            keys = tuple(self._keys_of(text))
            found = len(self._texts)
            self._texts.append(text)
            for key in keys:
                self._by_key[key] = (*self._by_key.get(key, ()), found)
            self._codes[text] = found  # last: other threads then see all of it
        return found

    def known_as(self, key: str) -> Sequence[int]:
        """Return the codes of all spellings of a folded name."""
        return self._by_key.get(key, ())


class Artists(Spellings):
    """Spellings of artists, each with a code for the lead artist without guests."""

    def __init__(self) -> None:
        super().__init__(artist_keys)
        self._leads: dict[str, int] = {}
        self._lead_of: list[int] = []

    def code(self, text: str | None) -> int:
        """Return the code of a text, a new one for a new text."""
        found = super().code(text)
        if text is not None and found == len(self._lead_of):
            self._lead_of.append(self._leads.setdefault(lead_artist(text), len(self._leads)))
        return found

    def leads(self) -> AnyArray:
        """Return the code of the lead artist of each spelling, and at the end `NOTHING`."""
        return np.array([*self._lead_of, NOTHING], dtype=np.int32)


class Names:
    """The names of a library's artists, albums and genres."""

    def __init__(self) -> None:
        self.artists: Final = Artists()
        self.albums: Final = Spellings(lambda text: {name_key(text)} - {""})
        self.genres: Final = Spellings(genre_keys)

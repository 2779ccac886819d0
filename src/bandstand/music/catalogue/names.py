"""Names as people mean them: which artist, which genres, which recording.

Two spellings of one name are the same name, and a live take, a remaster or a radio edit is the
same song in another version. This is used to keep versions and artists apart in time and to
find what a ban means, so it may now and then put two songs together that are not the same;
it never decides what a song is worth.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bandstand.store.songs.pages import genre_keys, genre_names, name_key

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["artist_keys", "genre_keys", "genre_names", "lead_artist", "name_key", "song_key"]

# Words that say "the same song in another version", wherever they stand among others.
_VERSION_WORDS: Final = r"""
    remaster(ed)? | re-?master(ed)? | re-?mix(ed)? | mix | mixed | edit | edited | version | ver\.?
    | acoustic | unplugged | demo | mono | stereo | instrumental | karaoke | a\ ?cap+ella
    | extended | explicit | clean | uncensored | re-?recorded | re-?recording
    | single | bonus | outtake | rehearsal | alternate | alternative\ take | soundtrack
    | motion\ picture | sped\ up | slowed | bootleg | rework | re-?edit | sessions? | dub
    | orchestral | stripped | radio\ edit | from\ the\ vault | deluxe | anniversary | rmx
"""
# Words that say so only in certain company: "Live to Tell", "Take On Me" and "With You" do not.
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
_GUEST: Final = re.compile(r"\s+[(\[]?(?:feat|ft|featuring)(?![\w'’])\.?\s.*$")
# What every ending that could be left out has in it.
_MAY_SAY_MORE: Final = re.compile(r"[(\[{<‐‑‒–—―-]|feat|ft")
_WORDS: Final = re.compile(r"\w+")
_APOSTROPHES: Final = re.compile(r"[\'’‘`´ʼ]")
# No real title is longer or has more said about its version.
_LONGEST: Final = 500
_MOST_ADDITIONS: Final = 8
_ARTISTS: Final = re.compile(r"[;\0]")


def song_key(title: str) -> str:
    """Return what the titles of all versions of a song have in common.

    >>> song_key("Heroes (Live at Wembley) - 2017 Remaster"), song_key("Live and Let Die")
    ('heroes', 'live and let die')
    """
    whole = name_key(title[:_LONGEST])
    # Most titles say nothing of a version, and there may be a million of them.
    short = _without_versions(whole) if _MAY_SAY_MORE.search(whole) else whole
    return _plain(short) or _plain(whole) or whole


def lead_artist(artist: str) -> str:
    """Return the artist without guests.

    >>> lead_artist("Rihanna feat. Jay-Z")
    'rihanna'
    """
    whole = name_key(artist)
    return _GUEST.sub("", whole) or whole


def artist_keys(artist: str | None, album_artist: str | None) -> frozenset[str]:
    """Return all names under which a song's artist is known: with guests, without, each of many.

    >>> sorted(artist_keys("Nina; Simone", None))
    ['nina', 'nina; simone', 'simone']
    """
    return frozenset(_artist_keys(artist)) | frozenset(_artist_keys(album_artist))


def _artist_keys(artist: str | None) -> Iterator[str]:
    if artist is None:
        return
    yield name_key(artist)
    for one in _ARTISTS.split(artist):
        if one.strip():
            yield name_key(one)
            yield lead_artist(one)


def _without_versions(title: str) -> str:
    """Return a folded title without brackets and endings that name a version."""
    for _ in range(_MOST_ADDITIONS):
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

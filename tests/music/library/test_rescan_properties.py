"""Whatever people do to their files between two scans, songs follow their content."""

from __future__ import annotations

import os
from collections import Counter
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.music.scanned_library import Scan, ScannedFolder, song

BROKEN = -1
PLACES = ("a.wav", "b.wav", "c.wav", "d/a.wav", "d/e.wav")
DEEDS = ("add", "remove", "rename", "swap", "change", "copy", "touch", "break", "restore")

deeds = st.tuples(st.sampled_from(DEEDS), st.sampled_from(PLACES), st.sampled_from(PLACES))
stories = st.lists(st.lists(deeds, min_size=1, max_size=3), min_size=1, max_size=5)


class Owner:
    """A user who changes the files of a library, and knows what is where."""

    def __init__(self, shelf: ScannedFolder) -> None:
        self.shelf = shelf
        self.there: dict[str, int] = {}  # place: number of the song, or BROKEN
        self._lost: list[int] = []
        self._fresh = count(1)

    def do(self, deed: str, place: str, other: str) -> None:
        """Do something if it can be done, and nothing otherwise."""
        if deed == "add" and place not in self.there:
            self._put(place, next(self._fresh))
        elif deed == "restore" and place not in self.there and self._lost:
            self._put(place, self._lost.pop())
        elif place in self.there:
            getattr(self, f"_{deed}", lambda *_: None)(place, other)

    def _put(self, place: str, number: int) -> None:
        self.shelf.put(place, b"broken" if number == BROKEN else song(number))
        self.there[place] = number

    def _remove(self, place: str, _: str) -> None:
        self._path(place).unlink()
        self._lost.append(self.there.pop(place))

    def _rename(self, place: str, other: str) -> None:
        """Give a file another name, even one that another file has."""
        if place != other:
            self._path(other).parent.mkdir(exist_ok=True)
            self._path(place).rename(self._path(other))
            self.there[other] = self.there.pop(place)

    def _swap(self, place: str, other: str) -> None:
        if other in self.there and place != other:
            aside = self.shelf.library / "aside"
            self._path(place).rename(aside)
            self._path(other).rename(self._path(place))
            aside.rename(self._path(other))
            self.there[place], self.there[other] = self.there[other], self.there[place]

    def _change(self, place: str, _: str) -> None:
        self._put(place, next(self._fresh))

    def _copy(self, place: str, other: str) -> None:
        self._put(other, self.there[place])

    def _touch(self, place: str, _: str) -> None:
        self._put(place, self.there[place])

    def _break(self, place: str, _: str) -> None:
        self._put(place, BROKEN)

    def _path(self, place: str) -> Path:
        return self.shelf.library / place

    @property
    def songs(self) -> dict[bytes, int]:
        """The number of the song at each path."""
        return {
            os.fsencode(self._path(place)): number
            for place, number in self.there.items()
            if number != BROKEN
        }


@given(stories)
@settings(max_examples=30)
def test_songs_follow_their_content(story: list[list[tuple[str, str, str]]]) -> None:
    _assert_songs_follow(story)


@pytest.mark.long
@given(stories)
@settings(max_examples=1_000)
def test_songs_follow_their_content_through_many_stories(
    story: list[list[tuple[str, str, str]]],
) -> None:
    _assert_songs_follow(story)


def _assert_songs_follow(story: list[list[tuple[str, str, str]]]) -> None:
    with TemporaryDirectory() as folder:
        owner = Owner(ScannedFolder(Path(folder)))
        ids: dict[int, str] = {}  # of songs that were somewhere, and only there
        known: frozenset[str] = frozenset()
        for chapter in story:
            for deed in chapter:
                owner.do(*deed)
            scan = owner.shelf.scan()
            _assert_told_all(owner, scan)
            assert known <= scan.contents.known, "a song was forgotten"
            known = scan.contents.known
            ids = _followed(owner, scan, ids)
            _assert_settled(owner, scan)


def _assert_told_all(owner: Owner, scan: Scan) -> None:
    assert scan.ids.keys() == owner.songs.keys()
    assert len(set(scan.ids.values())) == len(scan.ids)
    assert len(scan.contents.problems) == len(owner.there) - len(owner.songs)


def _followed(owner: Owner, scan: Scan, before: dict[int, str]) -> dict[int, str]:
    """Check that each song that is somewhere has the id it had; return whose id is whose now."""
    copies = Counter(owner.songs.values())
    now = {song: scan.ids[path] for path, song in owner.songs.items() if copies[song] == 1}
    for number, id_ in now.items():
        assert before.get(number, id_) == id_, f"song {number} has become another"
    # What is gone is remembered, unless a file in its place has got its id.
    taken = set(scan.ids.values())
    gone = {song: id_ for song, id_ in before.items() if song not in copies and id_ not in taken}
    return {**gone, **now}


def _assert_settled(owner: Owner, scan: Scan) -> None:
    again = owner.shelf.scan()
    assert again.asked == []
    assert again.changes == {}
    assert again.contents.facts == scan.contents.facts

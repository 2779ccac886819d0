"""A library whose files name nothing, numbers, or pages of text: all of it plays and is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bandstand.music.catalogue.refresh import refreshed
from bandstand.music.library.analysers import LocalAnalyser
from bandstand.music.library.scan import scan
from bandstand.music.library.walk import library_roots
from bandstand.radio.explain.why import as_json
from bandstand.radio.service import Radio
from bandstand.store import accounts
from bandstand.store.events.events import NewEvent
from tests.fixtures.music.audio_files import make
from tests.radio.test_service import Clock

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.store.database.connection import Store

ID = "0383dadf-2a4e-4d10-a46a-e9e041da8eb3"
NAMES: tuple[dict[str, str], ...] = (
    {"artist": "12345", "album": "1", "genre": "17", "date": "1984"},
    {"artist": "", "album": " ", "genre": ""},
    {"artist": "<Unknown>", "genre": "(None); http://example.com; Jazz"},
    {"artist": "x" * 10_240, "album": "y" * 10_240, "genre": "; ".join(["z" * 99] * 110)},
    {"artist": "Björk", "genre": "Hip-Hop/Rap", "MUSICBRAINZ_ARTISTID": ID},
    {"artist": "Ólafur", "genre": "Ambient;Classical", "MUSICBRAINZ_ARTISTID": ID},
    {"artist": "BJORK feat. Antony", "genre": "R&B", "date": "0000"},
    {},
)


@pytest.fixture
def radio(store: Store, tmp_path: Path) -> Radio:
    folder = tmp_path / "music"
    folder.mkdir()
    for number, tags in enumerate(NAMES):
        make(folder / f"{number}.flac", seconds=2 + number / 10, tags=tags)
    clock = Clock()
    with LocalAnalyser() as analyser:
        scan(store, library_roots([folder]), analyser, now=clock)
    refreshed(store, now=clock())
    return Radio(store, clock=clock)


def test_songs_of_any_names_are_learned_and_explained(radio: Radio, store: Store) -> None:
    with store.writing() as connection:
        ann = accounts.create(
            connection, name="Ann", role="listener", password_hash=None, now=radio.clock()
        ).id
    songs = radio.catalogue
    assert songs.named is not None
    assert songs.design is not None
    assert len(songs) == len(NAMES)
    assert {"rock", "jazz", "hip hop", "rap", "r and b", "1980s"} <= {*songs.design.tags}
    for number, song in enumerate(songs.ids):
        event = NewEvent(account=ann, key=f"{number}", kind="rating", song=song, stars=5)
        assert radio.submit(event).result() is not None
        why = as_json(radio.next(ann).why)
        if why["liking"] is not None:
            together = why["base"] + sum(why["groups"].values())
            assert together == pytest.approx(why["liking"], abs=1e-9)
    assert radio.taste(ann).counts.ratings == len(NAMES)
    groups = songs.named.song_features.groups
    assert groups is not None
    assert len({*groups.artist.tolist()}) == len(NAMES) - 2  # three songs are by one artist
    radio.close()

"""Whose song it is: MusicBrainz joins spellings and parts namesakes, names do the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.song_groups import UNKNOWN
from bandstand.music.catalogue.artists import ArtistIds, artists_of
from bandstand.music.catalogue.columns import SongColumns
from bandstand.music.catalogue.design_view import groups_of
from bandstand.store.songs import songs
from tests.fixtures.radio.catalogues import record

if TYPE_CHECKING:
    from collections.abc import Sequence

ONE, OTHER = "0383dadf-2a4e-4d10-a46a-e9e041da8eb3", "65f4f0c5-ef9e-490c-aee3-909e7ae6b2ab"

tags = st.tuples(
    st.sampled_from(["Prince", "prince", "Ƭ̵̬̊", "The Symbol", "", None, "<Unknown>"]),
    st.sampled_from([ONE, OTHER, None]),
)


def columns_of(tagged: Sequence[tuple[str | None, str | None]], **more: Any) -> SongColumns:
    """Return the columns of songs of these artists and MusicBrainz ids."""
    records = [
        record(row, artist=artist, artist_mbid=mbid, **more)
        for row, (artist, mbid) in enumerate(tagged)
    ]
    return SongColumns.of(map(songs.facts_of, records))


def artists(tagged: Sequence[tuple[str | None, str | None]], **more: Any) -> list[int]:
    columns = columns_of(tagged, **more)
    return list(artists_of(columns, ArtistIds.of(columns)).tolist())


def test_one_id_is_one_artist_whatever_the_name() -> None:
    first, second, third = artists([("Prince", ONE), ("The Symbol", ONE), ("Madonna", OTHER)])
    assert first == second != third


def test_files_without_an_id_belong_to_the_only_one_of_their_name() -> None:
    tagged, bare, guest = artists([("Björk", ONE), ("BJORK", None), ("Björk feat. Antony", None)])
    assert tagged == bare == guest


def test_namesakes_are_parted_by_their_ids() -> None:
    composer, guitarist, either = artists(
        [("John Williams", ONE), ("John Williams", OTHER), ("John Williams", None)]
    )
    assert len({composer, guitarist, either}) == 3


@pytest.mark.parametrize("name", ["Various Artists", "[unknown]", "", None])
def test_an_id_without_a_name_says_nothing(name: str | None) -> None:
    assert artists([(name, ONE), (name, ONE)]) == [UNKNOWN, UNKNOWN]
    found = artists([(name, OTHER), ("Nina", ONE)], album_artist="Nina")
    assert found[0] == found[1]  # the artist of its album, who has an id


def test_without_ids_names_decide_as_they_always_did() -> None:
    tagged = [("The Beatles", None), ("BEATLES", None), ("Nina", None), (None, None)]
    first, second, third, none = artists(tagged)
    assert first == second != third
    assert none == UNKNOWN


@given(st.lists(tags, max_size=30))
def test_a_song_alone_is_by_whom_it_is_in_its_library(
    tagged: list[tuple[str | None, str | None]],
) -> None:
    """What a listener said of a song whose file is gone counts for its artist."""
    columns = columns_of(tagged)
    together = groups_of(columns).artist.tolist()
    alone = [
        groups_of(columns_of([one]), ArtistIds.of(columns)).artist.tolist()[0] for one in tagged
    ]
    named = [row for row, artist in enumerate(artists(tagged)) if artist != UNKNOWN]
    assert [alone[row] for row in named] == [together[row] for row in named]

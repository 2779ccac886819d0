"""The artists and genres that should please, with the names and numbers of the list of songs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.catalogue.catalogue import catalogue_of
from bandstand.radio.explain.profile import (
    Favourites,
    favourites,
    groups_by_tag,
    groups_of,
)
from bandstand.store.database.connection import open_store
from bandstand.store.songs import pages as song_pages
from bandstand.store.songs import songs
from bandstand.store.songs.pages import OF, Filter, names
from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.radio.catalogues import record
from tests.fixtures.store.examples import analysis, discarded, some_examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.explain.profile import Groups
    from bandstand.store.database.connection import Store

ARTISTS = (None, "Rihanna", "RIHANNA", " rihanna", "Rihanna feat. Jay-Z", "Jay-Z", "various", " ")
GENRES = (None, "Pop/pop", "POP", "Rock; Pop", "pop - Folk", "Folk", "folk|Folk|FOLK", "/", "R&B")
tags = st.fixed_dictionaries(
    {
        "artist": st.sampled_from(ARTISTS),
        "album_artist": st.sampled_from((None, "various", "Rihanna")),
        "genre": st.sampled_from(GENRES),
    }
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that is empty again after every example."""
    place = tmp_path_factory.mktemp("store") / "bandstand.sqlite"
    with open_store(f"sqlite:///{place}", now=1) as opened:
        yield opened


def groups(shelf: Catalogue, of: str) -> Groups:
    by_artist, by_genre = groups_of(shelf)
    return by_genre if of == "genre" else by_artist


def each_by_itself(written: Sequence[Sequence[str]]) -> Groups:
    """Return the groups of songs that share no tag, each with the names that are written in it."""
    return groups_by_tag(np.arange(len(written)), lambda row: by_key(written[row]))


def by_key(written: Sequence[str]) -> dict[str, str]:
    return {name.casefold(): name for name in reversed(written) if name}


def same_groups(one: Groups, other: Groups) -> bool:
    pairs = [
        sorted(zip(each.songs.tolist(), each.codes.tolist(), strict=True)) for each in (one, other)
    ]
    return one.names == other.names and pairs[0] == pairs[1]


def numbers(found: Groups) -> dict[str, int]:
    counts = np.bincount(found.codes, minlength=len(found.names)).tolist()
    return dict(zip(found.names, counts, strict=True))


@some_examples
@given(given_tags=st.lists(tags, max_size=12))
def test_names_and_numbers_are_those_of_the_list_of_songs(
    shared: Store, given_tags: list[dict[str, str | None]]
) -> None:
    found = [
        (f"/music/{number}.ogg".encode(), analysis(number, **one))
        for number, one in enumerate(given_tags)
    ]
    with discarded(shared) as connection:
        record_analyses(connection, found, scan=1, now=1)
        shelf = catalogue_of(songs.present(connection))
        for of in OF:
            if of == "album":
                continue
            listed = {each.name: each.songs for each in names(connection, of)}
            listed.pop("various", None)  # no name
            assert numbers(groups(shelf, of)) == listed
            for name, count in listed.items():
                assert song_pages.size(connection, Filter(**{of: name}))[0] == count  # type: ignore[arg-type]


def test_spellings_of_a_genre_are_one_and_the_usual_one_is_shown() -> None:
    genres = ("R&B", "Rhythm & Blues", "R&B", "Hip Hop", "Hip-Hop", "Hip-Hop")
    shelf = catalogue_of(record(row, genre=genre) for row, genre in enumerate(genres))
    assert numbers(groups(shelf, "genre")) == {"R&B": 3, "Hip-Hop": 3}
    assert shelf.tag_spellings == {"r and b": "R&B", "hip hop": "Hip-Hop"}


def test_names_with_enough_songs_are_ranked_and_none_is_both_best_and_worst() -> None:
    written = [[f"name {number // 3}"] for number in range(36)]
    written += [[], ["name 12"], ["name 12"]]  # one song of nobody, and two of somebody
    values = np.append(np.repeat(np.arange(12.0), 3), [99.0, 50.0, 50.0])
    found = favourites(values, each_by_itself(written))
    assert [each.name for each in found.most] == [f"name {number}" for number in (11, 10, 9, 8, 7)]
    assert [each.name for each in found.least] == [f"name {number}" for number in range(5)]
    assert [each.expected for each in found.least] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert {each.songs for each in (*found.most, *found.least)} == {3}


@pytest.mark.parametrize("count", range(8))
def test_few_names_are_shared_out(count: int) -> None:
    written = [[f"name {number // 3}"] for number in range(3 * count)]
    found = favourites(np.repeat(np.arange(float(count)), 3), each_by_itself(written))
    assert len(found.most) + len(found.least) == count
    assert len(found.most) - len(found.least) in {0, 1}


def test_songs_of_which_nothing_is_known_count_but_do_not_matter() -> None:
    values = np.array([3.0, 4.0, 5.0, np.nan, np.nan, 1.0, 2.0])
    some = each_by_itself([["A"], ["a"], ["A"], ["A"], ["b"], ["b"], ["b"]])
    with np.errstate(all="raise"):
        found = favourites(values, some)
        nothing = favourites(np.full(7, np.nan), some)
    assert [(each.name, each.songs, each.expected) for each in found.most] == [("A", 4, 4.0)]
    assert found.least == ()
    assert nothing == Favourites()
    assert favourites(np.array([]), each_by_itself([])) == Favourites()


@given(
    kinds=st.lists(
        st.lists(st.sampled_from(["Pop", "pop", "Rock", "", "Folk"]), max_size=3), min_size=1
    ),
    data=st.data(),
)
def test_groups_by_shared_tags_are_those_song_by_song(
    kinds: list[list[str]], data: st.DataObject
) -> None:
    tags = data.draw(st.lists(st.integers(-1, len(kinds) - 1), max_size=30))
    written = [() if tag < 0 else tuple(kinds[tag]) for tag in tags]
    found = groups_by_tag(np.array(tags, dtype=np.int32), lambda tag: by_key(kinds[tag]))
    assert same_groups(found, each_by_itself(written))

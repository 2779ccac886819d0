"""The columns of songs: where each comes from, and what was stored comes back."""

import io
import zipfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand._util.array_archive import packed, unpacked
from bandstand.core.model.curved_columns import COLUMNS, curved_columns
from bandstand.errors import InvalidInputError
from bandstand.music.audio.projection import fit
from bandstand.music.catalogue.design import Columns, Design
from bandstand.store.songs.songs import Described
from tests.fixtures.music.descriptor_tables import library, seeds

TABLE = library(1, 30)
GENRES = ("Hip-Hop/Rap", "Rock; live", None)


def songs() -> list[Described]:
    return [
        Described(f"{row:016x}", vector, GENRES[row % 3], 1994 if row % 2 else None)
        for row, vector in enumerate(TABLE)
    ]


def design() -> Design:
    return Design(projection=fit(TABLE)).with_tags((song.genre, song.year) for song in songs())


def test_the_columns_are_curved_likings_tags_and_sound() -> None:
    found = design()
    assert found.tags == ("1990s", "hip hop", "live", "rap", "rock")
    assert found.tagged_songs == 30
    assert found.meaning == Columns(found.projection, COLUMNS, found.tags)
    rows = found.rows(songs())
    curved, tags, sound = np.split(rows, [COLUMNS, COLUMNS + 5], axis=1)
    assert (sound == found.projection.apply(TABLE)).all()
    assert np.square(sound).sum(axis=1).mean() == pytest.approx(found.sound_square)
    scaled = sound / found.sound_square**0.5
    assert curved == pytest.approx(curved_columns(scaled), abs=1e-6)
    assert tags[1] == pytest.approx(np.array([1, 0, 1, 0, 1]) / 3**0.5)
    assert tags[2].tolist() == [0] * 5
    assert found.rows(songs()[4:5])[0] == pytest.approx(rows[4])
    assert found.rows([]).shape == (0, found.columns)


def test_songs_that_all_sound_the_same_have_columns_too() -> None:
    alone = Design(projection=fit(TABLE[:1]))
    assert np.isfinite(alone.rows(songs()[:1])).all()
    assert alone.sound_square == 1


# ── Stored ───────────────────────────────────────────────────────────────────────────────


TAGS = ("rock", "hip hop", "1990s", "电子")
STORED = Design(projection=fit(library(1, 12)), tags=TAGS, tagged_songs=12).to_bytes()
REFUSED = "expected a stored projection and its tags, got "


@given(seed=seeds, songs=st.integers(1, 30), tags=st.lists(st.sampled_from(TAGS), unique=True))
def test_what_was_stored_comes_back(seed: int, songs: int, tags: list[str]) -> None:
    table = library(seed, songs)
    design = Design(projection=fit(table, version=3), tags=tuple(tags), tagged_songs=songs)
    data = design.to_bytes()
    back = Design.from_bytes(data)
    assert back.to_bytes() == data
    assert (back.projection.songs, back.projection.descriptor_version) == (songs, 3)
    assert (back.tags, back.tagged_songs) == (tuple(tags), songs)
    assert back.columns == design.columns
    features = design.projection.apply(table, version=3)
    assert (back.projection.apply(table, version=3) == features).all()
    assert not back.projection.components.flags.writeable


def test_a_projection_of_an_older_version_has_no_tags_yet() -> None:
    arrays = fit(library(1, 12)).arrays()
    old = {**arrays, "feature_map": np.asarray("fourier"), "map_amplitude": np.asarray(1.0)}
    found = Design.from_bytes(packed(old))
    assert (found.tags, found.tagged_songs) == ((), 0)
    assert (found.projection.components == arrays["components"]).all()


@given(cut=st.integers(0, len(STORED) - 1))
def test_truncated_bytes_are_refused(cut: int) -> None:
    with pytest.raises(InvalidInputError, match=REFUSED):
        Design.from_bytes(STORED[:cut])


@given(
    data=st.binary(max_size=200), prefix=st.sampled_from([b"", b"PK\x03\x04", b"\x93NUMPY\x01\0"])
)
def test_alien_bytes_are_refused(data: bytes, prefix: bytes) -> None:
    with pytest.raises(InvalidInputError, match=REFUSED):
        Design.from_bytes(prefix + data)


@given(place=st.integers(0, len(STORED) - 1), value=st.integers(1, 255))
def test_a_changed_byte_is_refused_or_without_effect(place: int, value: int) -> None:
    data = bytearray(STORED)
    data[place] ^= value
    try:
        back = Design.from_bytes(bytes(data))
    except InvalidInputError:
        return
    # Zip files have bytes that mean nothing, such as the date of a member.
    assert back.to_bytes() == STORED


MISFITS: dict[str, list[Any]] = {
    "format": [2, "1", [1]],
    "songs": [0, 2.5],
    "descriptor_version": [-1],
    "tags": [
        np.array("rock"),
        np.zeros(2),
        ["a", "a"],
        [""],
        ["x" * 101],
        np.arange(65).astype("U"),
    ],
    "tagged_songs": [-1, 1.5, [1]],
    "mean": [np.zeros(158), np.zeros(159, dtype=np.int64), np.full(159, np.nan)],
    "standard_deviation": [np.full(159, -1.0)],
    "components": [np.zeros(159), np.zeros((0, 159))],
    "variances": [np.zeros(1000), 1.0],
    "limit": [np.full((159, 1), 10.0)],
}


@pytest.mark.parametrize("name", MISFITS)
def test_parts_that_do_not_fit_together_are_refused(name: str) -> None:
    arrays = unpacked(STORED)
    for value in MISFITS[name]:
        with pytest.raises(InvalidInputError, match=REFUSED):
            Design.from_bytes(packed(arrays | {name: np.asarray(value)}))


@pytest.mark.parametrize("name", sorted(unpacked(STORED).keys() - {"tags"}))
def test_a_missing_part_is_refused(name: str) -> None:
    arrays = unpacked(STORED)
    del arrays[name]
    with pytest.raises(InvalidInputError, match=f"{REFUSED}KeyError"):
        Design.from_bytes(packed(arrays))


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def npy(description: str) -> bytes:
    text = description.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "member",
    [
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + b"\x80\x04K\x01.",
        npy("{'descr': '<f8', 'fortran_order': True, 'shape': (0, 2), }"),
        npy("{'descr': '<f8'"),
        npy("((((((("),
        npy("'''"),
        b"\x93NUMPY\x02\x00",
        b"",
    ],
)
def test_an_array_that_lies_about_itself_is_refused(member: bytes) -> None:
    with pytest.raises(InvalidInputError, match=REFUSED):
        Design.from_bytes(zipped({"format.npy": member}))


def test_members_that_grow_when_they_are_read_are_refused() -> None:
    bomb = zipped({"format.npy": bytes(10**7)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(InvalidInputError, match="without compression"):
        Design.from_bytes(bomb)

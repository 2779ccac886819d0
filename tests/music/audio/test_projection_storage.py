"""A stored projection comes back as it was, or not at all."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand._util.array_archive import packed, unpacked
from bandstand.errors import InvalidInputError
from bandstand.music.audio.feature_maps import Fourier
from bandstand.music.audio.projection import Projection, fit
from tests.fixtures.music.descriptor_tables import library, seeds

if TYPE_CHECKING:
    from bandstand.types import AnyArray

MAPS = ("identity", "fourier")
STORED = {name: fit(library(1, 12), feature_map=name).to_bytes() for name in MAPS}
REFUSED = "expected a stored projection of format 1, got "


@given(seed=seeds, songs=st.integers(1, 30), name=st.sampled_from(MAPS))
def test_what_was_stored_comes_back(seed: int, songs: int, name: str) -> None:
    table = library(seed, songs)
    projection = fit(table, feature_map=name, version=3)
    data = projection.to_bytes()
    back = Projection.from_bytes(data)
    assert back.to_bytes() == data
    assert (back.songs, back.descriptor_version) == (songs, 3)
    assert back.columns == projection.columns
    assert (back.apply(table, version=3) == projection.apply(table, version=3)).all()
    assert not back.components.flags.writeable


def test_the_bytes_are_an_npz_file_that_numpy_reads_without_pickle() -> None:
    with np.load(io.BytesIO(STORED["fourier"]), allow_pickle=False) as file:
        assert {"mean", "standard_deviation", "components", "variances"} < set(file.files)
        assert str(file["feature_map"]) == "fourier"


@given(cut=st.integers(0, len(STORED["identity"]) - 1))
def test_truncated_bytes_are_refused(cut: int) -> None:
    with pytest.raises(InvalidInputError, match=REFUSED):
        Projection.from_bytes(STORED["identity"][:cut])


@given(
    data=st.binary(max_size=200), prefix=st.sampled_from([b"", b"PK\x03\x04", b"\x93NUMPY\x01\0"])
)
def test_alien_bytes_are_refused(data: bytes, prefix: bytes) -> None:
    with pytest.raises(InvalidInputError, match=REFUSED):
        Projection.from_bytes(prefix + data)


@given(place=st.integers(0, len(STORED["fourier"]) - 1), value=st.integers(1, 255))
def test_a_changed_byte_is_refused_or_without_effect(place: int, value: int) -> None:
    data = bytearray(STORED["fourier"])
    data[place] ^= value
    try:
        back = Projection.from_bytes(bytes(data))
    except InvalidInputError:
        return
    # Zip files have bytes that mean nothing, such as the date of a member.
    assert back.to_bytes() == STORED["fourier"]


@pytest.mark.parametrize(
    "change",
    [
        {"format": np.asarray(2)},
        {"format": np.asarray("1")},
        {"format": np.asarray([1])},
        {"songs": np.asarray(0)},
        {"songs": np.asarray(2.5)},
        {"descriptor_version": np.asarray(-1)},
        {"feature_map": np.asarray("magic")},
        {"mean": np.zeros(158)},
        {"mean": np.zeros(159, dtype=np.int64)},
        {"mean": np.full(159, np.nan)},
        {"standard_deviation": np.full(159, -1.0)},
        {"components": np.zeros(159)},
        {"components": np.zeros((0, 159))},
        {"variances": np.zeros(1000)},
        {"variances": np.full((), 1.0)},
        {"limit": np.full((159, 1), 10.0)},
        {"map_frequencies": np.zeros((7, 99))},
        {"map_frequencies": np.zeros(4)},
        {"map_frequencies": np.full((11, 4), np.inf)},
        {"map_amplitude": np.asarray(np.nan)},
        {"map_amplitude": np.zeros(3)},
    ],
)
def test_parts_that_do_not_fit_together_are_refused(change: dict[str, AnyArray]) -> None:
    arrays = unpacked(STORED["fourier"])
    with pytest.raises(InvalidInputError, match=REFUSED):
        Projection.from_bytes(packed(arrays | change))


@pytest.mark.parametrize("name", [*unpacked(STORED["fourier"])])
def test_a_missing_part_is_refused(name: str) -> None:
    arrays = unpacked(STORED["fourier"])
    del arrays[name]
    with pytest.raises(InvalidInputError, match=f"{REFUSED}KeyError"):
        Projection.from_bytes(packed(arrays))


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
        Projection.from_bytes(zipped({"format.npy": member}))


def test_members_that_grow_when_they_are_read_are_refused() -> None:
    bomb = zipped({"format.npy": bytes(10**7)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(InvalidInputError, match="without compression"):
        Projection.from_bytes(bomb)


def test_the_parameters_of_the_map_are_part_of_it() -> None:
    projection = fit(library(1, 12), feature_map="fourier", seed=5)
    other = fit(library(1, 12), feature_map="fourier", seed=6)
    assert projection.to_bytes() == fit(library(1, 12), feature_map="fourier", seed=5).to_bytes()
    assert projection.to_bytes() != other.to_bytes()
    assert isinstance(Projection.from_bytes(projection.to_bytes()).feature_map, Fourier)
    assert replace(projection, feature_map=other.feature_map).to_bytes() == other.to_bytes()

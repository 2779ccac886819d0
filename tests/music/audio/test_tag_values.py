"""Values of single tags, and text fit to be kept and shown."""

from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.audio.tags import (
    GENRES,
    MAX_TEXT_LENGTH,
    clean,
    gain_of,
    genre_named,
    genre_of,
    identifier_of,
    peak_of,
    position_of,
    r128_gain_of,
    year_of,
)

ONE = "f205627f-b70a-409d-adbe-66289b614e80"
OTHER = "0383dadf-2a4e-4d10-a46a-e9e041da8eb3"
texts = st.one_of(st.text(max_size=40), st.text("0123456789-+./,() dB", max_size=20))


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("2003", 2003),
        ("2003-05-01", 2003),
        ("2003-05-01T12:00:00Z", 2003),
        ("01.05.2003", 2003),
        ("(P) 1999", 1999),
        ("20030501", 2003),
        ("1969/1994", 1969),
        ("c. 1787", 1787),
        ("2200", 2200),
        ("2201", None),
        ("0999", None),
        ("0000", None),
        ("12345", None),
        ("99999999", None),
        ("99", None),
        ("nonsense", None),
        ("٢٠٠٣", None),
        ("", None),
        (None, None),
    ],
)
def test_years_are_found_in_dates_of_all_kinds(text: str | None, year: int | None) -> None:
    assert year_of(text) == year


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("3", 3),
        ("03", 3),
        ("3/12", 3),
        ("3 / 12", 3),
        ("3/", 3),
        ("3 of 12", 3),
        ("1001", 1001),
        ("0", None),
        ("0/0", None),
        ("A1", None),
        ("-3", None),
        ("3.5", None),
        ("99999", None),
        ("/12", None),
        ("", None),
        (None, None),
    ],
)
def test_positions_may_come_with_how_many_there_are(text: str | None, position: int | None) -> None:
    assert position_of(text) == position


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        (ONE, ONE),
        (ONE.upper(), ONE),
        (f"{ONE};{OTHER}", ONE),
        (f"{ONE}/{OTHER}", ONE),
        (f"{ONE}\0{OTHER}", ONE),
        (f"https://musicbrainz.org/recording/{OTHER}", OTHER),
        (ONE[:-1], None),
        (f"{ONE}0", None),
        (ONE.replace("-", ""), None),
        (ONE.replace("f", "g"), None),
        ("<script>", None),
        ("", None),
        (None, None),
    ],
)
def test_identifiers_are_uuids(text: str | None, identifier: str | None) -> None:
    assert identifier_of(text) == identifier


@pytest.mark.parametrize(
    ("text", "gain"),
    [
        ("-7.32 dB", -7.32),
        ("-7.32dB", -7.32),
        ("+3.5 db", 3.5),
        ("-7,32 dB", -7.32),
        (".5", 0.5),
        ("0", 0.0),
        ("60 dB", 60.0),
        ("-60.01 dB", None),
        ("1e3", None),
        ("nan dB", None),
        ("inf", None),
        ("-", None),
        ("1_0", None),
        ("loud", None),
        ("", None),
        (None, None),
    ],
)
def test_gains_are_decibels(text: str | None, gain: float | None) -> None:
    assert gain_of(text) == gain


@pytest.mark.parametrize(
    ("text", "gain"),
    [("0", 5.0), ("-1280", 0.0), ("+256", 6.0), ("-32768", None), ("1.5", None), ("x", None)],
)
def test_opus_gains_aim_five_decibels_lower(text: str, gain: float | None) -> None:
    assert r128_gain_of(text) == gain


@pytest.mark.parametrize(
    ("text", "peak"),
    [("0.988547", 0.988547), ("1", 1.0), ("100", 100.0), ("101", None), ("-0.1", None), ("", None)],
)
def test_peaks_are_not_negative(text: str, peak: float | None) -> None:
    assert peak_of(text) == peak


@pytest.mark.parametrize(
    ("text", "genre"),
    [
        ("Jazz", "Jazz"),
        ("(17)", "Rock"),
        ("17", "Rock"),
        ("(0)", "Blues"),
        ("(147)", "Synthpop"),
        ("(17)(21)", "Rock"),
        ("(4)Eurodisco", "Eurodisco"),
        ("(255)", "(255)"),
        ("80s", "80s"),
        ("R&B/Soul", "R&B/Soul"),
        ("Folk, World, & Country", "Folk, World, & Country"),
        ("Rock;Pop", "Rock"),
        ("Rock\0Pop", "Rock"),
        (";;Pop", "Pop"),
        (" ; ", None),
        ("", None),
        (None, None),
    ],
)
def test_the_first_genre_is_kept_by_name(text: str | None, genre: str | None) -> None:
    assert genre_of(text) == genre


def test_every_genre_that_has_a_number_has_a_name_of_its_own() -> None:
    assert len(GENRES) == len(set(GENRES)) == 148
    assert all(genre_named(str(number)) == name for number, name in enumerate(GENRES))


@given(texts)
def test_any_text_means_something_in_its_range_or_nothing(text: str) -> None:
    year, position = year_of(text), position_of(text)
    assert year is None or 1000 <= year <= 2200
    assert position is None or 1 <= position <= 9999
    for gain in (gain_of(text), r128_gain_of(text)):
        assert gain is None or (math.isfinite(gain) and abs(gain) <= 60)
    peak = peak_of(text)
    assert peak is None or 0 <= peak <= 100
    assert identifier_of(text) is None or len(str(identifier_of(text))) == 36
    assert genre_of(text) != ""


anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=600)


@given(anything)
def test_clean_text_can_be_kept_and_shown(text: str) -> None:
    found = clean(text)
    if found is not None:
        assert 0 < len(found) <= MAX_TEXT_LENGTH
        assert found == found.strip()
        assert found == " ".join(found.split())
        assert unicodedata.is_normalized("NFC", found)
        assert not {unicodedata.category(letter) for letter in found} & {"Cc", "Cs"}
        found.encode("utf-8")


@given(anything)
def test_clean_text_stays_as_it_is(text: str) -> None:
    found = clean(text)
    assert clean(found) == found


@given(st.binary(max_size=100))
def test_any_bytes_become_text(data: bytes) -> None:
    found = clean(data.decode("utf-8", "surrogateescape"))
    assert found is None or found.encode("utf-8")  # no lone surrogate is left


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("", None),
        (" \t\r\n", None),
        ("\0\x01\x7f\x9f", None),
        ("\ufeffTitle\0\0", "Title"),
        ("a\r\n\tb   c", "a b c"),
        ("cafe\u0301", "café"),
        ("e\0\u0301", "é"),
        ("evil\u202egnp.exe\u202c", "evilgnp.exe"),
        ("a \u200f b", "a b"),
        ("👩\u200d🎤", "👩\u200d🎤"),
        ("half \ud83d a letter", "half a letter"),
        ("\uffff\ufdd0x", "x"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("x" * 501, "x" * 500),
        ("x" * 499 + " y", "x" * 499),
        ("x" * 10_000_000, "x" * 500),
    ],
)
def test_what_becomes_of_odd_text(text: str | None, expected: str | None) -> None:
    assert clean(text) == expected


def test_megabytes_of_combining_marks_are_no_work() -> None:
    found = clean("e" + "\u0301\u0316" * 5_000_000)
    assert found is not None
    assert len(found) == MAX_TEXT_LENGTH


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_bytes_that_are_no_utf_8_are_read_as_the_old_tags_were_written(encoding: str) -> None:
    old = "Motörhead, Ça va".encode(encoding).decode("utf-8", "surrogateescape")
    assert clean(old) == "Motörhead, Ça va"

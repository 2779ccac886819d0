from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.audio.tags import MAX_TEXT_LENGTH, clean

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

"""Broken, hostile and merely odd JSON (PROMISES C2)."""

from __future__ import annotations

import json
import time
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.web.http.problems import Problem
from bandstand.web.http.request_input import MAX_DEPTH, parse

BROKEN = {
    "nothing": b"",
    "a word": b"hello",
    "half an object": b'{"stars": 5',
    "two values": b"{} {}",
    "single quotes": b"{'stars': 5}",
    "a comma too many": b'{"stars": 5,}',
    "a comment": b'{"stars": 5} // five',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"stars": 5}'.encode("utf-16"),
    "Latin-1": '{"name": "Bj\xf6rk"}'.encode("latin-1"),
    "the same key twice": b'{"stars": 1, "stars": 5}',
    "the same key twice, further down": b'[{"a": {"stars": 1, "st\\u0061rs": 5}}]',
    "a line break in text": b'{"name": "a\nb"}',
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xab\xae\x05\x00",
    "lists a hundred thousand deep": b"[" * 100_000 + b"]" * 100_000,
    "lists that never end": b"[" * 60_000,
    "objects a hundred thousand deep": b'{"a":' * 100_000,
    "a text that never ends": b'"' + b'\\"' * 50_000,
    "a text that never ends, further down": b'{"name": "' + b'\\"' * 50_000,
    "quotes in no text": b'\\"' * 50_000,
    "one level too many": b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
}
UNUSABLE = {
    "NaN": b'{"stars": NaN}',
    "Infinity": b'{"stars": Infinity}',
    "minus Infinity": b'{"stars": -Infinity}',
    "1e400": b'{"stars": 1e400}',
    "minus 1e400": b'{"stars": -1e400}',
    "10**400": b'{"stars": 1' + b"0" * 400 + b"}",
    "10**5000": b'{"stars": 1' + b"0" * 5_000 + b"}",
    "a lone surrogate": b'{"name": "\\ud800"}',
    "a lone surrogate as a key": b'{"\\udfff": 1}',
    "NUL": b'{"name": "a\\u0000b"}',
    "NUL as a key": b'{"\\u0000": 1}',
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_what_is_no_strict_json_is_malformed(body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        parse(body)
    assert caught.value.status == 400


@pytest.mark.parametrize("body", UNUSABLE.values(), ids=UNUSABLE)
def test_what_no_store_could_hold_is_refused(body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        parse(body)
    assert caught.value.status == 422


@pytest.mark.parametrize("body", [*BROKEN.values(), *UNUSABLE.values()])
def test_a_refusal_is_quick_and_takes_little_memory(body: bytes) -> None:
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(Problem):
        parse(body)
    taken = time.process_time() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    # The promise is 0.1 s; tracing makes it slower, a linear scan is still far below.
    assert taken < 1.0


finite = st.floats(allow_nan=False, allow_infinity=False)
clean_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | finite | clean_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(clean_text, inner, max_size=4),
    max_leaves=20,
)


@given(values, st.booleans())
def test_clean_json_comes_through_as_it_is(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)
    assert parse(text.encode()) == value


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda t: t.encode("utf-8", "replace")))
def test_whatever_comes_is_parsed_or_refused_and_never_fails(body: bytes) -> None:
    with suppress(Problem):
        # What it lets through is what Python's own parser reads, and nothing else.
        assert parse(body) == json.loads(body)


def test_brackets_inside_text_have_no_depth() -> None:
    assert parse(json.dumps({"name": "[" * 1_000 + '\\"{'}).encode())

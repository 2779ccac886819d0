from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.sandbox.protocol import (
    Incoming,
    MalformedError,
    TooLargeError,
    decoded,
    encoded,
)

letters = st.characters(exclude_categories=()) | st.characters(categories=["Cs"])
texts = st.text(letters, max_size=20)
plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
messages = st.dictionaries(texts, plain_values, max_size=4)


@given(st.lists(messages, max_size=3), st.integers(1, 40))
def test_messages_arrive_as_they_were_sent_in_pieces_of_any_size(
    sent: list[dict[str, Any]], size: int
) -> None:
    data = b"".join(map(encoded, sent))
    incoming = Incoming(max_size=1 << 20)
    received = []
    for start in range(0, len(data), size):
        incoming.add(data[start : start + size])
        while (message := incoming.take()) is not None:
            received.append(message)
    assert received == sent
    assert not incoming


@given(messages)
def test_a_message_is_ascii_whatever_is_in_it(message: dict[str, Any]) -> None:
    assert encoded(message)[4:].isascii()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, b"x", {1, 2}, object()])
def test_what_json_cannot_carry_is_not_sent(value: object) -> None:
    with pytest.raises(MalformedError):
        encoded({"value": value})


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"nonsense",
        b"[]",
        b"1",
        b"null",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 10_000 + b"}",
        b'{"a": "\xff"}',
        b'{"a": "\xc3\xa9"}',
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a":' * 100_000,
        b"[" * 500_000,
    ],
    ids=lambda text: text[:16].decode("latin-1"),
)
def test_what_is_no_message_is_refused(text: bytes) -> None:
    with pytest.raises(MalformedError):
        decoded(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    with suppress(MalformedError):
        assert isinstance(decoded(data), dict)


def test_a_message_that_announces_too_much_is_refused_before_it_arrives() -> None:
    incoming = Incoming(max_size=100)
    incoming.add(b"\0\0\0\x65")
    with pytest.raises(TooLargeError):
        incoming.take()
    incoming = Incoming(max_size=101)
    incoming.add(b"\0\0\0\x65")
    assert incoming.take() is None

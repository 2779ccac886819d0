"""Messages between parent and child, and the outcomes of requests."""

import math
import signal
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.sandbox import Failure, Limits
from bandstand.music.sandbox.protocol import (
    MAX_REASON_LENGTH,
    Incoming,
    MalformedError,
    TooLargeError,
    decoded,
    encoded,
    ended,
    plain,
    reported,
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
def test_messages_arrive_in_pieces_of_any_size(sent: list[dict[str, Any]], size: int) -> None:
    data = b"".join(map(encoded, sent))
    incoming = Incoming(max_size=1 << 20)
    received = []
    for start in range(0, len(data), size):
        incoming.add(data[start : start + size])
        while (message := incoming.take()) is not None:
            received.append(message)
    assert received == sent
    assert not incoming


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, b"x", {1, 2}, object()])
def test_what_json_cannot_carry_is_not_sent(value: object) -> None:
    with pytest.raises(MalformedError):
        encoded({"value": value})


NO_NUMBERS = [
    b'{"a": %s}' % text for text in (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"9" * 9_999)
]
NO_ASCII = [b'{"a": "\xff"}', b'{"a": "\xc3\xa9"}', b'\xef\xbb\xbf{"a": 1}']
TOO_DEEP = [b'{"a":' * 100_000, b"[" * 500_000]
NO_OBJECTS = [b"", b"{", b"nonsense", b"[]", b"1", b"null"]


@pytest.mark.parametrize("texts", [NO_NUMBERS, NO_ASCII, TOO_DEEP, NO_OBJECTS])
def test_what_is_no_message_is_refused(texts: list[bytes]) -> None:
    for text in texts:
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


LIMITS = Limits()


@pytest.mark.parametrize(
    ("status", "complaint", "kind", "reason"),
    [
        (-signal.SIGXCPU, "", "timed out", "used more than 60 s of processor time"),
        (-signal.SIGALRM, "", "timed out", "took longer than 120 s and was stopped"),
        (-signal.SIGSEGV, "", "crashed", "the decoder crashed (SIGSEGV)"),
        (-signal.SIGABRT, "free(): invalid pointer", "crashed", "the decoder crashed (SIGABRT)"),
        (
            -signal.SIGABRT,
            "terminate called after throwing an instance of 'std::bad_alloc'",
            "out of memory",
            "needed more than 1024 MB of memory",
        ),
        (-250, "", "crashed", "the decoder crashed (signal 250)"),
        (3, "", "crashed", "the decoder ended without an answer (status 3)"),
        (0, "", "crashed", "the decoder ended without an answer (status 0)"),
    ],
)
def test_the_end_of_a_child_is_plain(status: int, complaint: str, kind: str, reason: str) -> None:
    failure = ended(status, complaint, LIMITS)
    assert (failure.kind, failure.reason) == (kind, reason)


NO_ANSWER: list[dict[str, Any]] = [{"value": None}, {"value": []}, {"value": {}, "more": 1}, {}]
NO_FAILURE: list[dict[str, Any]] = [{}, {"reason": 5}, {"failure": "unheard of", "reason": "none"}]
REPLIES: list[dict[str, Any]] = [
    *({"number": 7, **reply} for reply in NO_ANSWER),
    *({"number": 7, "failure": "refused", **reply} for reply in NO_FAILURE),
    *({"number": number, "value": {}} for number in (8, "7")),
    {"number": 8, "failure": "out of memory", "reason": ""},
    {"ready": []},
    {},
]


@pytest.mark.parametrize("reply", REPLIES, ids=str)
def test_a_reply_to_something_else_is_no_answer(reply: dict[str, Any]) -> None:
    outcome = reported(reply, number=7, limits=LIMITS)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "malformed"


@given(st.text(st.characters(exclude_categories=()), max_size=2 * MAX_REASON_LENGTH))
def test_a_reason_is_one_bounded_line_that_a_terminal_shows(text: str) -> None:
    assert plain(text).isprintable()
    assert 0 < len(plain(text)) <= MAX_REASON_LENGTH
    assert plain(plain(text)) == plain(text)

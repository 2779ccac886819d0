from __future__ import annotations

import signal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.sandbox import Answer, Failure, Limits
from bandstand.music.sandbox.protocol import MAX_REASON_LENGTH, ended, plain, reported

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
def test_the_end_of_a_child_is_told_in_plain_words(
    status: int, complaint: str, kind: str, reason: str
) -> None:
    failure = ended(status, complaint, LIMITS)
    assert (failure.kind, failure.reason) == (kind, reason)


def test_a_child_that_was_killed_may_have_been_one_too_many_for_the_memory() -> None:
    failure = ended(-signal.SIGKILL, "", LIMITS)
    assert failure.kind == "crashed"
    assert "memory was short" in failure.reason


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"number": 7},
        {"number": 8, "value": {}},
        {"number": "7", "value": {}},
        {"number": 7, "value": []},
        {"number": 7, "value": None},
        {"number": 7, "value": {}, "more": 1},
        {"number": 7, "failure": "unheard of", "reason": "none"},
        {"number": 7, "failure": "refused"},
        {"number": 7, "failure": "refused", "reason": 5},
        {"number": 8, "failure": "out of memory", "reason": ""},
        {"ready": []},
    ],
    ids=str,
)
def test_a_reply_to_something_else_is_no_answer(reply: dict[str, Any]) -> None:
    outcome = reported(reply, number=7, limits=LIMITS)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "malformed"


def test_a_reply_is_an_answer_or_a_reason() -> None:
    assert reported({"number": 7, "value": {"a": 1}}, number=7, limits=LIMITS) == Answer(
        value={"a": 1}
    )
    reply = {"number": 7, "failure": "refused", "reason": "it is no sound"}
    assert reported(reply, number=7, limits=LIMITS) == Failure(
        reason="it is no sound", kind="refused"
    )


@given(st.text(st.characters(exclude_categories=()), max_size=2 * MAX_REASON_LENGTH))
def test_a_reason_is_one_bounded_line_that_a_terminal_shows(text: str) -> None:
    assert plain(text).isprintable()
    assert 0 < len(plain(text)) <= MAX_REASON_LENGTH
    assert plain(plain(text)) == plain(text)

"""Broken, hostile and merely odd JSON (PROMISES C2)."""

import gzip
import json
import secrets
import time
import tracemalloc
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.web.http.problems import Problem
from bandstand.web.http.request_input import MAX_DEPTH, parse
from tests.fixtures.web.requests import Answer, Client
from tests.fixtures.web.walking import operations
from tests.fixtures.web.worlds import World

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


@pytest.mark.parametrize(
    ("body", "status"),
    [
        *((body, 400) for body in BROKEN.values()),
        *((body, 422) for body in UNUSABLE.values()),
    ],
    ids=[*BROKEN, *UNUSABLE],
)
def test_broken_and_unusable_json_is_refused_quickly_and_takes_little_memory(
    body: bytes, status: int
) -> None:
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(Problem) as caught:
        parse(body)
    taken = time.process_time() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.status == status
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


# Bad numbers and broken JSON over HTTP: refused, and nothing is stored (PROMISES C1, C2, C4).


# Exactly as they stand in JSON.
NO_STARS = [
    "0", "6", "-1", "1.5", "5.0", "true", '"5"', "null", "[]", "NaN", "Infinity", "-Infinity",
    "1e400", str(2**63), str(10**400), "{}", "false", "5e0", '""', "[5]", "-0",
]  # fmt: skip
NO_COUNTS = [
    "0", "-1", "1.5", "5.0", "true", "", "NaN", "Infinity", "1e400", str(2**63), "5_0", " 5", "٥",
]  # fmt: skip


def tell(client: Client, body: str | bytes) -> Answer:
    content = body.encode() if isinstance(body, str) else body
    return client.ask(
        "POST", "/api/events", body=content, headers={"Content-Type": "application/json"}
    )


@pytest.fixture(scope="module")
def ann(shared_world: World) -> Client:
    return shared_world.listener("Ann of input")


@pytest.mark.parametrize("stars", NO_STARS, ids=lambda stars: stars[:12])
def test_a_rating_is_a_whole_number_from_1_to_5(
    shared_world: World, ann: Client, stars: str
) -> None:
    song = shared_world.songs[0]
    answer = tell(ann, f'{{"key": "k", "kind": "rating", "song": "{song}", "stars": {stars}}}')
    assert answer.status == 422
    assert answer.code == "invalid"
    assert ann.ask("GET", "/api/history").json()["events"] == []


def test_one_to_five_are_stored(shared_world: World) -> None:
    """The twin: what is refused above is refused for its stars alone."""
    client = shared_world.listener("Rater")
    for stars in range(1, 6):
        song = shared_world.songs[stars]
        body = f'{{"key": "k{stars}", "kind": "rating", "song": "{song}", "stars": {stars}}}'
        assert tell(client, body).status == 201


@pytest.mark.parametrize("body", [*BROKEN.values(), *UNUSABLE.values()], ids=[*BROKEN, *UNUSABLE])
def test_broken_json_is_refused_and_nothing_is_stored(ann: Client, body: bytes) -> None:
    answer = tell(ann, body)
    assert answer.status in {400, 413, 422}
    assert answer.code in {"bad_json", "invalid", "too_large"}
    assert ann.ask("GET", "/api/history").json()["events"] == []


def test_a_bomb_of_gzip_is_not_opened(ann: Client) -> None:
    bomb = gzip.compress(b"[" * 10_000_000)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = ann.ask("POST", "/api/events", body=bomb, headers=headers)
    assert (answer.status, answer.code) == (415, "encoded")


@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "multipart/form-data; boundary=x", "application/json; charset=utf-16"],
)
def test_other_kinds_of_body_are_not_read(ann: Client, kind: str) -> None:
    answer = ann.ask("POST", "/api/events", body=b"{}", headers={"Content-Type": kind})
    assert (answer.status, answer.code) == (415, "not_json")


def test_a_body_beyond_the_limit_is_refused_by_its_length_and_by_its_bytes(ann: Client) -> None:
    large = b" " * 65_537
    assert tell(ann, large).code == "too_large"
    headers = {"Content-Type": "application/json", "Content-Length": "12"}
    lying = ann.ask("POST", "/api/events", body=large, headers=headers)
    assert (lying.status, lying.code) == (413, "too_large")
    headers["Content-Length"] = str(10**9)
    assert ann.ask("POST", "/api/events", body=b"{}", headers=headers).status == 413


def test_long_addresses_and_headers_are_refused(ann: Client) -> None:
    parameters = "&".join(f"p{number}=1" for number in range(10_000))
    assert ann.ask("GET", f"/api/next?{parameters}").status == 414
    assert ann.ask("GET", "/" + "a" * 9_000).code == "address_too_long"
    assert ann.ask("GET", "/api/next", headers={"X-Long": "a" * 65_536}).status == 431


@pytest.mark.parametrize("value", NO_COUNTS)
def test_a_number_in_a_query_is_of_digits_only(ann: Client, value: str) -> None:
    for path in ("/api/history?limit=", "/api/history?before="):
        assert ann.ask("GET", path + quote(value)).status == 422, path


UNFIT: list[dict[str, Any]] = [
    {},
    {"kind": "rating"},
    {"kind": "love"},
    {"kind": "rating", "stars": 3},
    {"kind": "rating", "song": "not an id", "stars": 3},
    {"kind": "rating", "song": "0" * 16, "stars": 3, "extra": 1},
    {"kind": "skip", "song": "SONG"},
    {"kind": "skip", "song": "SONG", "played_seconds": -1},
    {"kind": "skip", "song": "SONG", "played_seconds": 1e18},
    {"kind": "listen", "song": "SONG", "stars": 5},
    {"kind": "ban", "scope": "song", "target": "no id"},
    {"kind": "ban", "scope": "year", "target": "1999"},
    {"kind": "ban", "scope": "artist", "target": ""},
    {"kind": "ban", "scope": "artist", "target": "a" * 501},
    {"kind": "snooze", "scope": "artist", "target": "a"},
    {"kind": "snooze", "scope": "artist", "target": "a", "days": 0},
    {"kind": "snooze", "scope": "artist", "target": "a", "days": 1e6},
    {"kind": "retract"},
    {"kind": "retract", "retracts": 0},
    {"kind": "retract", "retracts": 2**63},
    {"kind": "rating", "song": "SONG", "stars": 3, "key": ""},
    {"kind": "rating", "song": "SONG", "stars": 3, "key": "k" * 201},
    {"kind": "rating", "song": "SONG", "stars": 3, "key": None},
]


@pytest.mark.parametrize("body", UNFIT, ids=lambda body: json.dumps(body)[:60])
def test_an_event_that_says_too_little_or_too_much_is_refused(
    shared_world: World, ann: Client, body: dict[str, Any]
) -> None:
    filled = {"key": "k", **body}
    if filled.get("song") == "SONG":
        filled["song"] = shared_world.songs[0]
    answer = ann.ask("POST", "/api/events", json=filled)
    assert answer.status == 422
    assert ann.ask("GET", "/api/history").json()["events"] == []


def test_a_song_that_is_not_there_cannot_be_rated(ann: Client) -> None:
    event = {"key": "k", "kind": "rating", "song": "0" * 16, "stars": 3}
    assert ann.ask("POST", "/api/events", json=event).status in {404, 422}


def test_a_refusal_never_repeats_what_came(shared_world: World) -> None:
    client = shared_world.admin("Echo")
    planted = f"planted{secrets.token_hex(8)}"
    bodies: list[Any] = [
        planted, [planted], {planted: planted}, {"key": planted, "kind": planted},
        {"name": planted * 50, "password": planted, "role": planted},
        {"algorithm": planted}, {"dial": planted}, {"from": planted, "to": planted},
        {"key": "k", "kind": "rating", "song": planted, "stars": 3},
        {"key": "k", "kind": "ban", "scope": "song", "target": planted},
        {"name": planted, "songs": [planted]}, {"old": planted, "new": planted},
    ]  # fmt: skip
    for operation in operations():
        if str(operation) == "DELETE /api/session":  # after which there would be nothing to ask
            continue
        target = operation.target(dict.fromkeys(("song_id", "user_id", "playlist_id"), planted))
        for body in bodies if operation.method in {"POST", "PUT", "PATCH"} else [None]:
            answer = client.ask(operation.method, f"{target}?limit={planted}", json=body)
            assert answer.status < 500, operation
            if answer.status >= 400:
                assert planted.encode() not in answer.body, (operation, body)

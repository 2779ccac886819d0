"""Conditions and ranges by themselves, without a server."""

import re
import unicodedata
from dataclasses import replace
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bandstand.web.http.files import Entity, disposition, plan, safe_name, wanted_part
from tests.fixtures.web.range_cases import Parser, seeded, wrong_answers

SONG = Entity(size=1_000, tag="abc", modified=1_600_000_000)
LATER = 1_700_000_000
DATE = "Sun, 13 Sep 2020 12:26:40 GMT"
BEFORE = "Sun, 13 Sep 2020 12:26:39 GMT"


def asked(method: str = "GET", **headers: str) -> tuple[int, int, int]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    found = plan(SONG, method, named, now=LATER)
    return found.status, found.start, found.length


def too_long_by_one(header: str | None, size: int) -> tuple[int, int] | None:
    part = wanted_part(header, size)
    return part if part is None or part[0] < 0 else (part[0], part[1] + 1)


def suffix_from_the_front(header: str | None, size: int) -> tuple[int, int] | None:
    if header is not None and header.startswith("bytes=-"):
        header = f"bytes=0{header.removeprefix('bytes=')}"
    return wanted_part(header, size)


def reversed_is_unsatisfiable(header: str | None, size: int) -> tuple[int, int] | None:
    return (-1, -1) if header == "bytes=5-4" else wanted_part(header, size)


@pytest.mark.parametrize(
    ("seed", "tries"), [(1, 400), pytest.param(None, 10_000, marks=pytest.mark.long)]
)
def test_every_kind_of_header_means_what_the_standard_says(seed: int | None, tries: int) -> None:
    assert not wrong_answers(wanted_part, seeded(seed), tries=tries)


@pytest.mark.parametrize(
    "faulty", [too_long_by_one, suffix_from_the_front, reversed_is_unsatisfiable]
)
def test_a_faulty_reading_of_ranges_would_be_noticed(faulty: Parser) -> None:
    assert wrong_answers(faulty, seeded(1), tries=400)


def test_a_header_of_thousands_of_ranges_is_not_even_read() -> None:
    header = "bytes=" + ",".join(f"{n}-" for n in range(5_000))
    assert wanted_part(header, 10**9) is None
    assert wanted_part("bytes=0-1" + 1_000 * " ", 10**9) is None


def test_a_part_is_sent_with_its_place() -> None:
    found = plan(SONG, "GET", {"range": "bytes=10-19"}, now=LATER)
    assert (found.status, found.start, found.length) == (206, 10, 10)
    assert found.headers["Content-Range"] == "bytes 10-19/1000"


def test_what_is_not_there_is_refused_with_the_size() -> None:
    found = plan(SONG, "GET", {"range": "bytes=1000-"}, now=LATER)
    assert (found.status, found.length) == (416, 0)
    assert found.headers["Content-Range"] == "bytes */1000"


def test_a_head_knows_no_ranges() -> None:
    assert asked("HEAD", range="bytes=1-2") == (200, 0, 1_000)


def test_an_empty_file_is_sent_whole_or_not_at_all() -> None:
    empty = Entity(size=0, tag="e", modified=0)
    assert plan(empty, "GET", {}, now=LATER).status == 200
    assert plan(empty, "GET", {"range": "bytes=-5"}, now=LATER).status == 200
    assert plan(empty, "GET", {"range": "bytes=0-"}, now=LATER).status == 416


@pytest.mark.parametrize("condition", ['"abc"', DATE])
def test_a_range_of_the_same_version_is_a_part(condition: str) -> None:
    assert asked(range="bytes=0-9", if_range=condition) == (206, 0, 10)


@pytest.mark.parametrize("condition", ['"xyz"', 'W/"abc"', BEFORE, "nonsense", ""])
def test_a_range_of_another_version_gets_everything(condition: str) -> None:
    assert asked(range="bytes=0-9", if_range=condition) == (200, 0, 1_000)


def test_a_date_within_the_same_second_says_nothing_about_the_version() -> None:
    headers = {"range": "bytes=0-9", "if-range": DATE}
    assert plan(SONG, "GET", headers, now=SONG.modified).status == 200


@pytest.mark.parametrize("tags", ['"abc"', 'W/"abc"', '"x", "abc"', "*"])
def test_who_has_it_already_gets_nothing_again(tags: str) -> None:
    assert asked(if_none_match=tags) == (304, 0, 0)
    assert asked(if_none_match=tags, range="bytes=0-9") == (304, 0, 0)


def test_who_has_another_version_gets_this_one() -> None:
    assert asked(if_none_match='"x", W/"y"') == (200, 0, 1_000)
    # A tag is stronger than a date: RFC 9110, 13.1.3.
    assert asked(if_none_match='"x"', if_modified_since=DATE) == (200, 0, 1_000)


def test_dates_are_compared() -> None:
    assert asked(if_modified_since=DATE)[0] == 304
    assert asked(if_modified_since=BEFORE)[0] == 200
    assert asked(if_unmodified_since=BEFORE)[0] == 412
    assert asked(if_unmodified_since=DATE)[0] == 200


@pytest.mark.parametrize("date", ["", "GMT", "0 GMT", "Sun, 99 Sep 2020 12:26:40 GMT", "\xff GMT"])
def test_dates_that_are_none_are_ignored(date: str) -> None:
    assert asked(if_modified_since=date)[0] == 200
    assert asked(if_unmodified_since=date)[0] == 200


def test_who_means_another_version_is_told_so() -> None:
    assert asked(if_match='"x"')[0] == 412
    assert asked(if_match='W/"abc"')[0] == 412
    assert asked(if_match='"x", "abc"')[0] == 200
    assert asked(if_match="*")[0] == 200


def test_a_file_of_a_far_future_has_a_date_that_a_header_can_hold() -> None:
    late = replace(SONG, modified=2**62)
    assert plan(late, "GET", {}, now=0).headers["Last-Modified"] == "Fri, 31 Dec 9999 23:59:59 GMT"


# Names of files in a header: whatever a song or a playlist is called, it is one name.


_ONE_NAME = re.compile(
    r"attachment; filename=\"([^\"\\/:*?<>|\x00-\x1f\x7f]+)\.m3u8\""
    r"(; filename\*=UTF-8''([\w.%~-]+))?",
    re.ASCII,
)
# Wide forms of quotes, slashes and dots, which turn into the plain ones.
INJECTED = "x＂; filename=evil.html; y=＂ ．．／．．／etc＼passwd"


@given(st.text())
@example(INJECTED)
@example("\ud800")
@example("")
@example("...")
def test_any_text_is_one_name_of_a_file(text: str) -> None:
    found = _ONE_NAME.fullmatch(disposition("attachment", text, ".m3u8"))
    assert found is not None
    assert not found[1].startswith((".", " "))
    if found[3] is not None:
        assert unquote(found[3]) == f"{safe_name(text)}.m3u8"


def test_a_name_that_is_made_plain_last_is_found_out() -> None:
    """The twin: quotes come back where wide forms are made plain after the cleaning."""
    plain = unicodedata.normalize("NFKD", safe_name(INJECTED)).encode("ascii", "ignore").decode()
    assert _ONE_NAME.fullmatch(f'attachment; filename="{plain}.m3u8"') is None


@pytest.mark.parametrize("text", ["東京", "\u0301", "＂＂"])
def test_what_has_no_plain_letters_is_called_a_song(text: str) -> None:
    assert disposition("inline", text, ".mp3").startswith('inline; filename="song.mp3"; filename*=')

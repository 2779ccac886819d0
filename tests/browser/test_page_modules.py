"""Modules of the page by themselves, in a real browser: sums, words, times, loudness, garbage."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page

from tests.fixtures.browser.visit import module, visit
from tests.fixtures.web.servers import Server

DAY: Final = 86_400  # seconds
SEED: Final = 7
CASES: Final = 500
GROUPS: Final = ("tempo", "brightness", "timbre", "other", "alike", "tags", "artist", "song")


@pytest.fixture(scope="module")
def page(chromium: Browser, quiet_server: Server) -> Iterator[Page]:
    """A tab with the page in it, in Berlin, where the clocks are changed twice a year."""
    with visit(chromium, quiet_server, None, timezone_id="Europe/Berlin") as watched:
        yield watched.open()


def milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000)


# ── Why a song was chosen: what is shown adds up as it is shown ─────────────────────────


def drawn_choice(rng: random.Random) -> dict[str, Any]:
    """Return the parts of a choice as the radio explains it, with sums that are exact."""
    width = rng.choice((0.01, 0.1, 1.0))
    groups = {name: rng.gauss(0, width) for name in GROUPS}
    base = rng.choice((0.0, rng.uniform(1, 5)))
    liking = base + sum(groups.values())
    staleness = rng.choice((None, rng.gauss(0, 0.05), -rng.uniform(0, 3)))
    expected = liking + (staleness or 0)
    exploration = rng.choice((None, rng.gauss(0, 1.5)))
    score = None if exploration is None else expected + exploration
    heard = rng.choice((None, rng.uniform(1, 1e6)))
    why = {"base": base, "groups": groups, "liking": liking, "staleness": staleness}
    rest = {"exploration": exploration, "score": score, "minutes_since_heard": heard}
    return {**why, **rest, "expected": expected}


def adds_up(shown: list[dict[str, Any]]) -> bool:
    """Return whether every total is what stands above it, in whole tenths."""
    now: int | None = None
    for step in shown:
        if "change" in step:
            now = (now or 0) + step["change"]
            continue
        if now not in {None, step["total"]}:
            return False
        now = step["total"]
    return True


def test_whatever_the_parts_are_what_is_shown_adds_up(page: Page) -> None:
    rng = random.Random(SEED)  # no secret
    whys = [drawn_choice(rng) for _ in range(CASES)]
    run = "[given.map((why) => it.inTenths(it.steps(why))), given.map(it.steps)]"
    shown, exact = module(page, "player/score_steps.js", run, whys)
    assert all(adds_up(one) for one in shown)
    for rounded, real in zip(shown, exact, strict=True):
        for one, other in zip(rounded, real, strict=True):
            kind = "total" if "total" in one else "change"
            assert abs(one[kind] - 10 * other[kind]) < (0.51 if kind == "total" else 2)
    kinds = ("change", "total")
    each_by_itself = [
        [{name: round(10 * step[name]) for name in kinds if name in step} for step in one]
        for one in exact
    ]
    assert not all(adds_up(one) for one in each_by_itself)  # the twin: rounded one by one


def test_of_a_song_that_was_never_heard_nothing_is_said_of_freshness(page: Page) -> None:
    why = {"base": 3.0, "groups": {"tempo": 0.5}, "liking": 3.5, "expected": 3.46, "score": None}
    unheard = {**why, "exploration": None, "minutes_since_heard": None, "staleness": -0.04}
    doubtful = {**unheard, "staleness": -0.2, "expected": 3.3}
    heard = {**doubtful, "minutes_since_heard": 90}
    run = "given.map((why) => it.steps(why).map(({ label }) => label))"
    labels = module(page, "player/score_steps.js", run, [unheard, doubtful, heard])
    start = ["What an average song gets", "Its tempo"]
    assert labels[0] == [*start, "Expected now"]
    assert labels[1] == [*start, "When it is new", "Freshness uncertain", "Expected now"]
    assert labels[2] == [*start, "When it is new", "Heard recently", "Expected now"]


def test_the_scale_has_ends_and_unknown_stars_are_not_shown(page: Page) -> None:
    found = module(page, "player/why.js", "given.map(it.expectedInWords)", [4.24, 5.6, -0.26])
    assert found == [
        "about 4.2 stars",
        "about 5 stars: the scale ends there",
        "about 1 star: the scale ends there",
    ]
    spreads = [{"expected": 4.2, "standard_deviation": spread} for spread in (0.6, 2, None)]
    whys = [{"why": why} for why in (*spreads, {"expected": 4.2}, None)]
    found = module(page, "player/reasons.js", "given.map(it.expectedStars)", whys)
    assert found == [4.2, None, None, None, None]


# ── Covers and loudness ─────────────────────────────────────────────────────────────────


def test_a_song_without_a_picture_gets_one_that_is_always_the_same(page: Page) -> None:
    run = """given.map(([id, artist]) =>
      it.coverOf({ id, artist, album: null, cover: null }, 48).outerHTML)"""
    names = [["a", "X"], ["a", "X"], ["b", "X"], ["a", "Y"]]
    drawn = module(page, "player/cover.js", run, names)
    assert "<svg" in drawn[0]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


@pytest.mark.parametrize(
    ("gains", "mode", "volume", "expected"),
    [
        (None, "track", 1.0, 1.0),
        (None, "track", 0.5, 0.25),
        ({"track_gain": -6.0}, "track", 1.0, 10 ** (-6 / 20)),
        ({"track_gain": -6.0}, "off", 1.0, 1.0),
        ({"track_gain": -6.0, "album_gain": -9.0}, "album", 1.0, 10 ** (-9 / 20)),
        ({"track_gain": -6.0, "album_gain": None}, "album", 1.0, 10 ** (-6 / 20)),
        ({"track_gain": None, "album_gain": -9.0}, "track", 1.0, 10 ** (-9 / 20)),
        ({"track_gain": 6.0}, "track", 0.5, 0.25 * 10 ** (6 / 20)),
        ({"track_gain": 6.0, "track_peak": 0.8}, "track", 0.5, 0.25 / 0.8),
        ({"track_gain": -6.0, "track_peak": 1.2}, "track", 1.0, 10 ** (-6 / 20)),
        ({"track_gain": 12.0}, "track", 1.0, 1.0),
    ],
)
def test_loudness_follows_the_tags(
    page: Page, gains: object, mode: str, volume: float, expected: float
) -> None:
    given = [volume, gains, mode]
    found = module(page, "player/sound.js", "it.elementVolume(...given)", given)
    assert found == pytest.approx(expected)


# ── Words and times ─────────────────────────────────────────────────────────────────────


def test_a_skip_of_no_time_is_at_once(page: Page) -> None:
    said = module(page, "app/words.js", "given.map(it.skipped)", [0, 0.4, 32.4])
    assert said == ["Skipped at once", "Skipped at once", "Skipped after 0:32"]


def test_yesterday_is_the_day_before_by_the_calendar(page: Page) -> None:
    for then, now, name in (
        ("2026-03-29T10:00", "2026-03-29T22:30", "Yesterday"),  # a day of 23 hours
        ("2026-03-28T11:00", "2026-03-29T22:30", "Saturday 28 March"),
        ("2026-10-24T10:00", "2026-10-25T22:30", "Yesterday"),  # one of 25
        ("2026-10-25T00:30", "2026-10-25T22:30", "Today"),
        ("2025-12-31T22:30", "2026-01-01T10:00", "Yesterday"),
        ("2025-12-30T22:30", "2026-01-01T10:00", "30 December 2025"),
    ):
        moments = [milliseconds(then), milliseconds(now)]
        assert module(page, "history/words.js", "it.dayName(...given)", moments) == name


def test_times_of_a_study_are_said_as_people_say_them(page: Page) -> None:
    """On 25 October 2026 the clocks go back."""
    now, hour = milliseconds("2026-11-16T16:40"), 3_600_000
    moments = [[now + round(hours * hour), now] for hours in (2, 14.5, 96)]
    moments.append([milliseconds("2026-10-25T12:00"), milliseconds("2026-10-24T11:00")])
    run = "given.map((pair) => it.untilWords(...pair))"
    assert module(page, "study/words.js", run, moments) == [
        "at 19:40, in 2 hours",
        "tomorrow at 08:10, in 14 hours 30 minutes",
        "on Friday 20 November at 17:40, in 4 days",
        "tomorrow at 13:00, in 1 day 1 hour",
    ]
    spans = module(page, "study/words.js", "given.map(it.span)", [0.2, 45, 240, 7_500, 172_800])
    assert spans == ["1 second", "45 seconds", "4 minutes", "2 hours 5 minutes", "2 days"]
    rules = {"listen_seconds": 30, "answer_seconds": 3, "rest_after": 20, "rest_seconds": 240}
    many = {**rules, "ratings_per_arm": 200, "arms_per_day": 2, "gap_hours": 6}
    few = {**rules, "ratings_per_arm": 4, "arms_per_day": 6, "gap_hours": 0}
    run = "given.map((rules) => [it.effort(rules), it.apartWords(rules, 6)])"
    apart = "At least 6 hours between two parts and at most 2 parts within 24 hours."
    assert module(page, "study/words.js", run, [many, few]) == [
        ["about 2½ hours", apart],
        ["about 2 minutes", ""],
    ]


# ── Axes of plots ───────────────────────────────────────────────────────────────────────


def date_ticks(page: Page, start: int, end: int, most: int) -> list[Any]:
    found: list[Any] = module(page, "taste/ticks.js", "it.dateTicks(...given)", [start, end, most])
    return found


def test_hours_that_the_clock_leaps_over_are_left_out(page: Page) -> None:
    """The night of 29 March 2026: after 01:59 comes 03:00."""
    start = milliseconds("2026-03-28T22:00")  # 23:00 of the day before
    found = date_ticks(page, start, start + 18_000_000, 9)
    assert [name for _, name in found] == ["23:00", "29 Mar", "01:00", "03:00", "04:00", "05:00"]
    assert len({at for at, _ in found}) == len(found)


def test_dates_on_an_axis_are_in_order_and_not_too_many(page: Page) -> None:
    start = 1_790_000_000_000
    for span in (90, 3_600, 5 * 3_600, DAY, 9 * DAY, 90 * DAY, 700 * DAY, 4_000 * DAY):
        for most in (3, 6):
            end = start + 1_000 * span
            found = date_ticks(page, start, end, most)
            times = [at for at, _ in found]
            assert 2 <= len(found) <= most
            assert times == sorted(times)
            assert start <= times[0]
            assert times[-1] <= end
            assert all(one != other for (_, one), (_, other) in pairwise(found))


def test_names_of_marks_never_touch_and_the_ends_stay(page: Page) -> None:
    marks = [[place / 20, "name" if place % 3 else "longer name"] for place in range(21)]
    run = "it.thinned(given[0], (at) => at * given[1], (text) => 7 * text.length)"
    for pixels in (150, 300, 900):
        found = module(page, "taste/ticks.js", run, [marks, pixels])
        shown = [(at * pixels, 7 * len(name)) for at, name in found if name]
        assert shown[0][0] == 0
        assert shown[-1][0] == pixels
        for (left, wide), (right, wider) in pairwise(shown):
            assert right - left >= (wide + wider) / 2
    logs = module(page, "taste/ticks.js", "it.logTicks(0.15, 30)")
    assert [at for at, _ in logs] == [0.2, 0.5, 1, 2, 5, 10, 20]
    assert [name for _, name in logs][:3] == ["0.2", "0.5", "1"]


# ── Garbage, and answers that are cut off ───────────────────────────────────────────────


def test_garbage_of_an_earlier_visit_is_forgotten(page: Page) -> None:
    song = {"id": "a", "title": "b", "audio": "/c"}
    sound = {"current": {"song": song}, "time": 3, "rating": {"stars": 4}, "years": None}
    garbage: list[dict[str, Any]] = [
        {"current": 5},
        {"current": {"song": {}}},
        {"current": {"song": {**song, "audio": 7}}},
        {"pinned": 5},
        {"pinned": [None]},
        {"station": 7},
        {"station": {"name": "x"}},
        {"years": 7},
        {"years": {"year_from": None, "year_to": None}},
        {"years": {"year_from": 1999}},
        {"years": {"year_from": 1999, "year_to": 1990}},
        {"years": {"year_from": "1990", "year_to": None}},
        {"time": "x", "current": None},
        {"rating": {"stars": 9}},
    ]
    run = """given.map((visit) => {
      sessionStorage.setItem("bandstand.visit", visit);
      return it.recall("ann");
    })"""
    visits = [*({"account": "ann", **one} for one in (*garbage, sound)), {"account": "b", **sound}]
    texts = [*map(json.dumps, visits), "{{{", "null", ""]
    found = module(page, "player/memory.js", run, texts)
    assert found == [*[{}] * len(garbage), {"account": "ann", **sound}, *[{}] * 4]


# Asks by the page's own module, while the body of the answer ends before it is whole.
_CUT_OFF: Final = """(async (how) => {
  const leaving = new AbortController();
  const start = (body) => {
    body.enqueue(new TextEncoder().encode('{"songs": 1'));
    if (how === "whole") body.enqueue(new TextEncoder().encode("}"));
    if (how === "whole" || how === "lost") body.close();
    else {
      leaving.abort();
      body.error(leaving.signal.reason);
    }
  };
  const real = window.fetch;
  window.fetch = async () => new Response(new ReadableStream({ start }), { status: 200 });
  try {
    return await it.call("GET", "/api/cut-off", undefined, { signal: leaving.signal });
  } catch (problem) {
    return problem.name === "AbortError" ? problem.name : problem.message;
  } finally {
    window.fetch = real;
  }
})(given)"""


@pytest.mark.parametrize(
    ("how", "expected"),
    [("whole", {"songs": 1}), ("left", "AbortError"), ("lost", "The server cannot be reached.")],
)
def test_half_an_answer_is_not_an_empty_one(page: Page, how: str, expected: object) -> None:
    assert module(page, "app/api.js", f"await {_CUT_OFF}", how) == expected

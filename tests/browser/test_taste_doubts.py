"""The taste page claims no more than is known, and its axes say what they mean."""

from __future__ import annotations

import re
from copy import deepcopy
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.fixtures.browser.taste_pages import DAY, TICKS, caption, drawn, rate_for_a_week, readout
from tests.fixtures.browser.visit import visit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

    from tests.fixtures.browser.visit import Watched
    from tests.fixtures.web.servers import Server


@pytest.fixture(scope="module")
def rated(server: Server) -> Server:
    """The server, after ann has rated its songs for a week, some of them often."""
    rate_for_a_week(server)
    return server


@pytest.fixture(scope="module")
def tab(chromium: Browser, rated: Server) -> Iterator[Watched]:
    """A tab in which ann is logged in, for all that leave it as it was."""
    with visit(chromium, rated, "ann") as watched:
        yield watched


@pytest.fixture
def told(tab: Watched) -> Iterator[Callable[[Callable[[Any], None]], Page]]:
    """Her page, as it is if the server's answer is another one."""
    truth = tab.ask("/api/taste")

    def shown(change: Callable[[Any], None]) -> Page:
        taste = deepcopy(truth)
        change(taste)
        tab.page.unroute("**/api/taste")
        tab.page.route("**/api/taste", lambda route: route.fulfill(json=taste))
        tab.open("settings")
        expect(tab.page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
        tab.open("taste")
        expect(tab.page.locator(".taste-facts")).to_be_visible()
        return tab.page

    yield shown
    tab.page.unroute("**/api/taste")
    assert tab.complaints == []


def test_hours_that_the_clock_leaps_over_are_left_out(chromium: Browser, rated: Server) -> None:
    """The night of 29 March 2026: after 01:59 comes 03:00."""
    start = 1_774_735_200_000  # 23:00 of the day before
    with visit(chromium, rated, "ann", timezone_id="Europe/Berlin") as watched:
        watched.open("taste")
        drawn(watched)
        found = watched.page.evaluate(TICKS, ["dateTicks", start, start + 18_000_000, 9])
        assert [name for _, name in found] == [
            "23:00",
            "29 Mar",
            "01:00",
            "03:00",
            "04:00",
            "05:00",
        ]
        assert len({at for at, _ in found}) == len(found)
    assert watched.complaints == []


def test_a_doubt_that_has_risen_is_not_said_to_fall(told: Any) -> None:
    points = [{"answers": 1, "stars": 1.6}, {"answers": 3, "stars": 2.2}]
    said = caption(told(lambda taste: taste.update(uncertainty=points)), "certainty")
    assert "hardly knows yet" in said
    assert "It has not fallen yet (after 1 answer it was 1.6 stars)" in said
    points[0]["stars"] = 3.0
    said = caption(told(lambda taste: taste.update(uncertainty=points)), "certainty")
    assert "That is less than at first: after 1 answer it was 3.0 stars." in said


def test_names_that_hardly_differ_are_not_ranked(told: Any) -> None:
    def close(taste: Any) -> None:
        for side in taste["artists"].values():
            for place, each in enumerate(side):
                each["expected"] = 3.1 + place / 100
        for each in (*taste["genres"]["most"], *taste["genres"]["least"]):
            each["expected"] += 9  # all of them beyond the end of the scale

    page = told(close)
    assert caption(page, "artists").startswith("So far all artists are about equal for you")
    assert "5.0 to 5.0 stars" in caption(page, "genres")
    assert page.locator(".favourite").count() == 0


def test_three_months_are_claimed_only_by_who_knows(told: Any) -> None:
    def slow(taste: Any, spread: float) -> None:
        recovery = taste["recovery"]
        recovery["fresh_after"] = None
        recovery["curve"]["mean"] = [0.5 * mean for mean in recovery["curve"]["mean"]]
        recovery["curve"]["standard_deviation"] = [spread] * len(recovery["curve"]["mean"])

    page = told(lambda taste: slow(taste, 0.01))
    assert "over 3 months" in page.locator(".taste-facts").inner_text()
    assert "not back within three months" in caption(page, "freshness")
    page = told(lambda taste: slow(taste, 0.3))
    facts = page.locator(".taste-facts").inner_text()
    assert re.search(r"fresh again: too early to tell\s+\?", facts)
    assert "cannot tell yet" in caption(page, "freshness")


def test_of_very_many_ratings_the_table_says_that_it_counts_some(told: Any) -> None:
    page = told(lambda taste: taste["counts"].update(ratings=9_000))
    head = page.locator("[data-figure=ratings] thead").text_content() or ""
    assert re.search(r"Ratings \(\d+ of 9,000\)", head)
    assert re.search(r"Dots: ratings \(\d+ of 9,000\)", readout(page, "ratings"))
    assert page.locator("[data-figure=ratings] .of-x").inner_text() == "Date"


def test_ratings_of_one_evening_stand_over_the_time_of_day(told: Any) -> None:
    def evening(taste: Any) -> None:
        for place, point in enumerate(taste["ratings"]):
            point["at"] = 1_790_000_000_000 + 200_000 * place

    page = told(evening)
    assert page.locator("[data-figure=ratings] .of-x").inner_text() == "Time"
    first = page.locator("[data-figure=ratings] tbody td").first.text_content() or ""
    assert re.search(r", \d\d:\d\d$", first)


def test_a_leaning_without_doubt_ends_in_a_word(told: Any) -> None:
    def certain(taste: Any) -> None:
        for each in taste["leanings"]:
            each.update(standard_deviation=None, certainty=None)

    for text in told(certain).locator(".leaning .unseen").all_text_contents():
        assert re.search(r": \d\.\d\d stars$", text)


def test_dates_on_an_axis_are_in_order_and_not_too_many(tab: Watched) -> None:
    tab.open("taste")
    drawn(tab)
    start = 1_790_000_000_000
    for span in (90, 3_600, 5 * 3_600, DAY, 9 * DAY, 90 * DAY, 700 * DAY, 4_000 * DAY):
        for most in (3, 6):
            end = start + 1_000 * span
            found = tab.page.evaluate(TICKS, ["dateTicks", start, end, most])
            times = [at for at, _ in found]
            assert 2 <= len(found) <= most
            assert times == sorted(times)
            assert start <= times[0]
            assert times[-1] <= end
            assert all(one != other for (_, one), (_, other) in pairwise(found))


def test_names_of_marks_never_touch_and_the_ends_stay(tab: Watched) -> None:
    tab.open("taste")
    drawn(tab)
    marks = [[place / 20, "name" if place % 3 else "longer name"] for place in range(21)]
    for pixels in (150, 300, 900):
        found = tab.page.evaluate(TICKS, ["thinned", marks, pixels])
        shown = [(at * pixels, 7 * len(name)) for at, name in found if name]
        assert shown[0][0] == 0
        assert shown[-1][0] == pixels
        for (left, wide), (right, wider) in pairwise(shown):
            assert right - left >= (wide + wider) / 2
    logs = tab.page.evaluate(TICKS, ["logTicks", 0.15, 30])
    assert [at for at, _ in logs] == [0.2, 0.5, 1, 2, 5, 10, 20]
    assert [name for _, name in logs][:3] == ["0.2", "0.5", "1"]

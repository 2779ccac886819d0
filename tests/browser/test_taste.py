"""The taste page: every figure is drawn, and says what is in the listener's own data."""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from math import exp, log
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fixtures.browser.long_time_listener import long_time_listener
from tests.fixtures.browser.taste_pages import (
    PLOTS,
    RATINGS,
    caption,
    drawn,
    keep_out,
    rate_for_a_week,
    readout,
)
from tests.fixtures.browser.visit import DESK, PHONE, Watched, intercept, visit
from tests.fixtures.web.servers import Server

# How much of a canvas has been painted, how much of that in the colour of the lines, how many
# times as fine as the page it is, and whether anything is cut off at its sides.
INK = """(figure) => {
  const canvas = document.querySelector(`[data-figure=${figure}] canvas`);
  if (!canvas) return null;
  const { width, height } = canvas;
  const copy = Object.assign(document.createElement("canvas"), { width, height });
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const token = getComputedStyle(canvas).getPropertyValue("--plot-line").trim();
  const line = [1, 3, 5].map((place) => Number.parseInt(token.slice(place, place + 2), 16));
  const found = { painted: 0, lines: 0, cut: 0, density: width / canvas.clientWidth };
  for (let place = 0; place < data.length; place += 4) {
    if (!data[place + 3]) continue;
    found.painted++;
    if (line.every((part, of) => Math.abs(part - data[place + of]) < 9)) found.lines++;
    const column = (place / 4) % width;
    if (column === 0 || column === width - 1) found.cut++;
  }
  return found;
}"""
BLANK = """(figure) => {
  const canvas = document.querySelector(`[data-figure=${figure}] canvas`);
  canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
}"""


@pytest.fixture(scope="module")
def rated(server: Server) -> Server:
    """The server, after tess has rated its songs for a week, some of them often."""
    rate_for_a_week(server)
    return server


@pytest.fixture(scope="module")
def tab(chromium: Browser, rated: Server) -> Iterator[Watched]:
    """A tab in which tess is logged in, for all that leave it as it was."""
    with visit(chromium, rated, "tess", size=PHONE) as watched:
        yield watched


@pytest.fixture
def tess(tab: Watched) -> Iterator[Watched]:
    """Her taste page on a phone."""
    tab.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    tab.page.mouse.move(1, 1)
    tab.open("taste")
    drawn(tab)
    yield tab
    assert tab.complaints == []


def ink(page: Page, figure: str) -> dict[str, float]:
    return dict(page.evaluate(INK, figure))


def novelty(taste: dict[str, Any], minutes: float, spreads: float = 0) -> float:
    """Return the curve at a time, some standard deviations up, from 0 to 100."""
    curve = taste["recovery"]["curve"]
    values = [
        mean + spreads * spread
        for mean, spread in zip(curve["mean"], curve["standard_deviation"], strict=True)
    ]
    place = sum(time < minutes for time in curve["minutes"])
    before, after = curve["minutes"][place - 1], curve["minutes"][place]
    part = log(minutes / before) / log(after / before)
    value = values[place - 1] + part * (values[place] - values[place - 1])
    return 100 * float(min(max(value, 0), 1))


@pytest.mark.parametrize(("size", "density", "theme"), [(PHONE, 3, "dark"), (DESK, 1, "light")])
def test_every_figure_is_drawn(
    chromium: Browser, rated: Server, size: dict[str, int], density: int, theme: Any
) -> None:
    options = {"size": size, "theme": theme, "device_scale_factor": density}
    with visit(chromium, rated, "tess", **options) as watched:
        page = watched.open("taste")
        drawn(watched)
        assert [figure.get_attribute("data-figure") for figure in page.locator("figure").all()] == [
            *PLOTS[:3],
            "leanings",
            "repeats",
            "artists",
            "genres",
        ]
        for figure in PLOTS:
            found = ink(page, figure)
            assert found["painted"] > 1_000, figure
            assert found["lines"] > 100, figure
            assert found["cut"] == 0, figure
            assert found["density"] == pytest.approx(density, rel=0.01)
        # The check itself sees nothing where nothing is.
        page.evaluate(BLANK, "ratings")
        assert ink(page, "ratings")["painted"] == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert watched.complaints == []


def has_lines(page: Page, figure: str) -> bool:
    """Return whether a plot has lines of its colour."""
    return bool(ink(page, figure)["lines"] > 100)


def test_the_plots_follow_the_colours_and_the_width(tess: Watched) -> None:
    page = tess.page
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        for figure in PLOTS:  # the colour is read anew, and is another one
            tess.until_so(partial(has_lines, page, figure), f"{theme} lines in {figure}")
    page.set_viewport_size({"width": 320, "height": 640})
    tess.until("document.querySelector('.plot canvas').clientWidth < 300")
    for figure in PLOTS:
        assert ink(page, figure)["cut"] == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_what_is_said_of_freshness_and_doubt_is_in_the_data(tess: Watched) -> None:
    taste, said = tess.ask("/api/taste"), caption(tess.page, "freshness")
    fresh = f"{taste['recovery']['fresh_after'] / 60:.0f} hours"
    assert f"Nine tenths are back after about {fresh}." in said
    mean, low, high = (round(novelty(taste, 60, spreads)) for spreads in (0, -1, 1))
    assert low < mean < high
    hour = f"After an hour a song is back to about {mean} % (between {low} and {high} %)"
    assert said.startswith(hour)
    facts = tess.page.locator(".taste-facts").inner_text()
    assert fresh in facts
    assert "guess" not in facts + said
    said, last = caption(tess.page, "certainty"), taste["uncertainty"][-1]
    assert said.startswith(f"After {last['answers']} answers ")
    assert f"{last['stars']:.1f} stars" in said
    rows = tess.page.locator("[data-figure=certainty] tbody tr").count()
    assert rows == len(taste["uncertainty"])


def test_what_is_said_of_the_ratings_is_in_the_data(tess: Watched) -> None:
    said = caption(tess.page, "ratings")
    events = tess.ask("/api/history?limit=200&kind=rating")["events"]
    stars = [event["stars"] for event in sorted(events, key=lambda event: event["at"])]
    assert len(stars) >= RATINGS
    assert said.startswith(f"{len(stars)} ratings since ")
    assert f"The last 20 got {sum(stars[-20:]) / 20:.1f} stars on average" in said
    assert f"the first ones ({sum(stars[:20]) / 20:.1f})" in said


def test_what_is_said_of_repeats_is_in_the_data(tess: Watched) -> None:
    taste, said = tess.ask("/api/taste"), caption(tess.page, "repeats")
    plays = taste["repeats"]["plays_by_rank"]
    assert sum(plays) == taste["counts"]["plays"]
    assert f"{100 * (1 - len(plays) / sum(plays)):.0f} % of your plays were songs you had" in said
    assert f"the most played one came {plays[0]} times" in said
    half = next(rank for rank in range(13) if sum(plays[:rank]) >= sum(plays) / 2)
    assert f"{half} of {len(plays)} songs make up half of all plays" in said
    across, up = [log(rank) for rank in range(1, len(plays) + 1)], [log(count) for count in plays]
    centre, level = sum(across) / len(plays), sum(up) / len(plays)
    slope = sum((x - centre) * (y - level) for x, y in zip(across, up, strict=True)) / sum(
        (x - centre) ** 2 for x in across
    )
    assert f"a song of twice the rank gets {100 * 2**slope:.0f} % of the plays" in said
    assert f"slope −{-slope:.1f}, R² " in readout(tess.page, "repeats")
    tess.page.locator("[data-figure=repeats] summary").click()
    first = tess.page.locator("[data-figure=repeats] tbody tr").first.locator("td")
    line = exp(level - slope * centre)
    assert first.all_inner_texts() == ["1", str(plays[0]), f"{line:.1f}"]


def test_leanings_and_favourites_are_told_and_lead_to_the_songs(told: Any, tab: Watched) -> None:
    taste = tab.ask("/api/taste")
    best, worst = taste["artists"]["most"][0], taste["artists"]["least"][0]

    def stand_out(shown: Any) -> None:
        shown["artists"] = {
            "most": [best | {"expected": 4.8}, best | {"name": "As usual", "expected": 3.1}],
            "least": [worst | {"expected": 1.2}],
            "usual": 3.0,
        }

    page = told(stand_out)
    scales = page.locator(".leaning")
    assert scales.count() == len(taste["leanings"]) == 5
    strongest = taste["leanings"][0]
    expect(scales.first).to_contain_text(f"{strongest['likes']} rather than")
    said = f"like {best['name']} best (4.8 stars) and {worst['name']} least (1.2 stars)"
    assert said in caption(page, "artists")
    assert page.locator("[data-figure=artists] .favourite").count() == 2
    for kind in ("artist", "genre"):
        for each in (*taste[f"{kind}s"]["most"], *taste[f"{kind}s"]["least"]):
            address = urlencode({kind: each["name"], "limit": 200})
            assert len(tab.ask(f"/api/songs?{address}")["songs"]) == each["songs"]
    page.locator("[data-figure=artists]").get_by_role("link", name=best["name"]).click()
    tab.until("location.hash.startsWith('#/library?artist=Band+')")


def test_the_arrow_keys_walk_along_a_plot(tess: Watched) -> None:
    taste, page = tess.ask("/api/taste"), tess.page
    slider = page.get_by_role("slider", name="When a song is fresh again")
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "After 3 months: 100\u00a0%")
    assert readout(page, "freshness") == "After 3 months: 100 %"
    page.keyboard.press("Home")
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    minutes = taste["recovery"]["curve"]["minutes"][20]
    mean, low, high = (round(novelty(taste, minutes, spreads)) for spreads in (0, -1, 1))
    said = f"After {minutes:.0f} minutes: {mean} % (between {low} and {high} %)"
    assert readout(page, "freshness") == said
    expect(page.locator("[data-figure=freshness] .plot-point")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator("[data-figure=freshness] .plot-point")).to_be_hidden()
    expect(page.locator("[data-figure=freshness] summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[data-figure=freshness] table")).to_be_visible()
    assert page.locator("[data-figure=freshness] tbody tr").count() == 8


def test_a_mouse_or_a_finger_shows_values(chromium: Browser, rated: Server) -> None:
    with visit(chromium, rated, "tess", size=PHONE, has_touch=True) as watched:
        page = watched.open("taste")
        drawn(watched)
        page.locator("[data-figure=repeats] .plot-picture").tap(position={"x": 290, "y": 100})
        expect(page.locator("[data-figure=repeats] .plot-readout")).to_contain_text("Rank ")
        before, line = readout(page, "certainty"), page.locator("[data-figure=certainty] p.faint")
        assert before.startswith("Now: ± ")
        page.locator("[data-figure=certainty] .plot-picture").hover(position={"x": 60, "y": 60})
        expect(line).to_have_count(0)
        assert readout(page, "certainty").startswith("After 1 answer: ± ")
        page.mouse.move(1, 1)
        expect(line).to_have_text(before)
    assert watched.complaints == []


def test_a_picture_is_told_to_who_cannot_see_it(tess: Watched) -> None:
    for figure in PLOTS:
        picture = tess.page.locator(f"[data-figure={figure}]").get_by_role("img")
        said = picture.get_attribute("aria-label") or ""
        assert said.replace("\u00a0", " ") == caption(tess.page, figure)
        rows = tess.page.locator(f"[data-figure={figure}] tbody tr").count()
        assert 1 <= rows <= 12


def test_it_is_renewed_and_a_guess_is_called_one(chromium: Browser, server: Server) -> None:
    """Two ratings, given elsewhere while the page is open; later with another algorithm."""
    keep_out(server, "nell")
    with visit(chromium, server, "nell") as watched:
        page = watched.open("taste")
        expect(page.get_by_text("You have not heard anything yet")).to_be_visible()
        expect(page.get_by_role("link", name="Listen to something")).to_be_visible()
        assert page.locator("figure").count() == 0
        client = server.client("nell")
        songs = [song["id"] for song in client.get("/api/songs").json()["songs"]]
        keep_out(server, "nell", is_private=False)
        for song in songs[:2]:
            event = {"key": f"few-{song}", "kind": "rating", "song": song, "stars": 4}
            assert client.post("/api/events", json=event).status_code == 201
        keep_out(server, "nell")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.locator("[data-figure=freshness] canvas")).to_be_visible()
        assert "only a guess" in caption(page, "freshness")
        assert "%" not in caption(page, "freshness")
        facts = page.locator(".taste-facts").inner_text()
        assert re.search(r"fresh again: hear some songs twice\s+\?", facts)
        assert "2 of them ratings, the radio can hardly say" in caption(page, "certainty")
        assert "falls" not in caption(page, "certainty")
        assert page.locator(".favourite, [data-figure=artists], [data-figure=genres]").count() == 0
        assert "2 ratings so far" in caption(page, "ratings")
        assert "none of them twice yet" in caption(page, "repeats")
        assert page.locator("[data-figure=ratings] canvas").count() == 0
        assert client.patch("/api/settings", json={"algorithm": "linucb-c"}).status_code == 200
        watched.open("settings")
        expect(page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
        watched.open("taste")
        expect(page.get_by_text("does not learn when songs are fresh again")).to_be_visible()
        assert page.locator("[data-figure=freshness]").count() == 0
    assert watched.complaints == []


def test_a_plot_in_use_is_renewed_when_it_is_left(tess: Watched, rated: Server) -> None:
    page, client = tess.page, rated.client("tess")
    before = tess.ask("/api/taste")["counts"]["ratings"]
    slider = page.get_by_role("slider", name="How well the radio knows you")
    slider.focus()
    song = client.get("/api/songs").json()["songs"][0]["id"]
    keep_out(rated, "tess", is_private=False)
    event = {"key": "meanwhile", "kind": "rating", "song": song, "stars": 5}
    assert client.post("/api/events", json=event).status_code == 201
    keep_out(rated, "tess")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    tess.settle()
    expect(slider).to_be_focused()
    assert caption(page, "ratings").startswith(f"{before} ratings ")
    page.keyboard.press("Tab")
    expect(page.locator("[data-figure=ratings] figcaption p")).to_contain_text(f"{before + 1} rat")
    expect(page.locator("[data-figure=certainty] summary")).to_be_focused()


@pytest.mark.long
def test_three_months_of_somebody_are_drawn(chromium: Browser, tmp_path: Path) -> None:
    with (
        long_time_listener(tmp_path) as found,
        visit(chromium, found.server, "ann", size=PHONE, theme="dark") as watched,
    ):
        page = watched.open("taste")
        drawn(watched)
        for figure in PLOTS:
            assert ink(page, figure)["lines"] > 100
        truth = (
            -found.listener.feeling.recovery_time * log(0.1) / 1_440
        )  # until nine tenths are back
        said = re.search(r"back after about (\d+) days", caption(page, "freshness"))
        assert said is not None
        assert abs(int(said[1]) - truth) < 1.5
        assert caption(page, "ratings").startswith("300 ratings since ")
    assert watched.complaints == []


# The taste page claims no more than is known, and its axes say what they mean.


@pytest.fixture
def told(tab: Watched) -> Iterator[Callable[[Callable[[Any], None]], Page]]:
    """Her page, as it is if the server's answer is another one."""
    truth = tab.ask("/api/taste")

    def shown(change: Callable[[Any], None]) -> Page:
        taste = deepcopy(truth)
        change(taste)
        tab.page.unroute("**/api/taste")
        intercept(tab.page, "**/api/taste", lambda route: route.fulfill(json=taste))
        tab.open("settings")
        expect(tab.page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
        tab.open("taste")
        expect(tab.page.locator(".taste-facts")).to_be_visible()
        return tab.page

    yield shown
    tab.page.unroute("**/api/taste")
    assert tab.complaints == []


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
        for side in ("most", "least"):
            for place, each in enumerate(taste["artists"][side]):
                each["expected"] = 3.1 + place / 100
        for each in (*taste["genres"]["most"], *taste["genres"]["least"]):
            each["expected"] += 9  # all of them beyond the end of the scale
        taste["artists"]["usual"], taste["genres"]["usual"] = 3.1, 12.0

    page = told(close)
    assert caption(page, "artists").startswith("No artist stands out so far")
    assert "usual 5.0 stars" in caption(page, "genres")
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

"""What was told, in words and by day; taking it back; forgetting a period."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.test_page_modules import milliseconds
from tests.fixtures.browser.visit import Watched, intercept, module, visit
from tests.fixtures.web.servers import Server


@pytest.fixture
def told(server: Server) -> Iterator[dict[str, Any]]:
    """A song about which ben has told everything that can be told, and how it is called."""
    client = server.client("ben")
    song = client.get("/api/songs?limit=1").json()["songs"][0]
    events: list[dict[str, Any]] = [
        {"kind": "rating", "song": song["id"], "stars": 4},
        {"kind": "skip", "song": song["id"], "played_seconds": 32.4},
        {"kind": "listen", "song": song["id"]},
        {"kind": "ban", "scope": "artist", "target": "Nobody & Sons"},
        {"kind": "snooze", "scope": "song", "target": song["id"], "days": 30},
    ]
    heart = {"scope": "song", "target": song["id"], "favourite": True}
    assert client.put("/api/favourites", json=heart).is_success
    seqs = []
    for number, event in enumerate(events):
        key = f"{song['id']} {number} {client.get('/api/history?limit=1').text}"[:200]
        answer = client.post("/api/events", json={"key": key, **event})
        assert answer.status_code == 201, answer.text
        seqs.append(answer.json()["seq"])
    yield song
    assert client.put("/api/favourites", json={**heart, "favourite": False}).is_success
    for seq in seqs:  # those that a test has taken back already are refused
        undo = {"key": f"end of {seq}", "kind": "retract", "retracts": seq}
        assert client.post("/api/events", json=undo).status_code in {201, 409}


def rows(watched: Watched, words: str) -> Locator:
    return watched.page.locator("main li").filter(has_text=words)


def test_every_kind_of_event_is_said_in_words(ben: Watched, told: dict[str, Any]) -> None:
    page = ben.open("history")
    expect(page.get_by_role("heading", level=1)).to_have_text("History")
    expect(page.get_by_role("heading", level=2, name="Today")).to_be_visible()
    name = f"{told['title']} – {told['artist']}"
    expect(rows(ben, f"★★★★☆ for {name}").first).to_be_visible()
    expect(rows(ben, f"Skipped after 0:32: {name}").first).to_be_visible()
    expect(rows(ben, f"Heard to the end: {name}").first).to_be_visible()
    expect(rows(ben, "Never again: artist Nobody & Sons").first).to_be_visible()
    expect(rows(ben, "Not until").first).to_contain_text(name)
    expect(rows(ben, f"A favourite: {name}").first).to_be_visible()
    rating = rows(ben, f"★★★★☆ for {told['title']}").first
    link = rating.get_by_role("link", name=told["title"])
    expect(link).to_have_attribute("href", f"#/song/{told['id']}")
    below = rating.locator("xpath=following-sibling::li[1]")  # how a rated song has ended
    expect(below).to_contain_text("Skipped after 0:32")
    undo = f"Undo: Skipped after 0:32: {told['title']}"
    expect(below.get_by_role("button", name=undo)).to_be_visible()
    with page.expect_download() as started:
        page.get_by_role("link", name="Export my data").click()
    assert started.value.suggested_filename == "bandstand.jsonl"


@pytest.mark.usefixtures("told")
def test_undo_strikes_through_and_says_so(ben: Watched) -> None:
    page = ben.open("history")
    undo = page.get_by_role("button", name="Undo: Never again: artist Nobody & Sons").first
    before = ben.last_event()
    undo.click()
    event = ben.wait_for_event(before)
    assert event["kind"] == "retract"
    assert event["retracted"]["target"] == "Nobody & Sons"
    row = page.locator(f'[data-seq="{event["retracts"]}"]')
    expect(row).to_contain_text("Undone")
    expect(row.locator("s")).to_contain_text("Never again")
    expect(row.get_by_role("button", name="Undo")).to_have_count(0)
    expect(rows(ben, "Undone: Never again: artist Nobody & Sons").first).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("Undone: Never again")


@pytest.mark.usefixtures("told")
def test_one_kind_can_be_shown_alone(ben: Watched) -> None:
    page = ben.open("history")
    page.get_by_role("button", name="Stars", exact=True).click()
    expect(rows(ben, "Heard to the end")).to_have_count(0)
    expect(rows(ben, "★★★★☆ for").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Stars", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(rows(ben, "Heard to the end")).to_have_count(0)


@pytest.mark.usefixtures("told")
def test_a_period_is_forgotten_and_bans_stay(ben: Watched) -> None:
    page, before = ben.open("history"), ben.last_event()
    page.get_by_role("button", name="Forget a period").click()
    dialog = page.get_by_role("dialog", name="Forget a period")
    dialog.get_by_label("To").fill("2020-01-01T00:00")
    dialog.get_by_role("button", name="Forget it").click()
    expect(dialog).to_be_visible()  # it ends before it begins
    assert ben.last_event() == before
    dialog.get_by_role("button", name="This week").click()
    expect(dialog).to_contain_text("In this period: ")
    dialog.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("status")).to_contain_text("Forgotten: ")
    heard = ben.ask("/api/history?kind=rating&kind=skip&kind=listen&limit=500")["events"]
    assert heard
    assert all(event["is_retracted"] for event in heard)
    bans = ben.ask("/api/history?kind=ban&limit=1")["events"]
    assert not bans[0]["is_retracted"]
    page.get_by_role("button", name="Skipped", exact=True).click()
    expect(rows(ben, "Skipped after 0:32").first).to_contain_text("Undone")


# A long history: what comes while it is shown, forgetting much of it, hours that come twice.


FIRST = 60
AT_ONCE = 50


@pytest.fixture
def listener(chromium: Browser, quiet_server: Server) -> Iterator[Watched]:
    with visit(chromium, quiet_server, "ben") as watched:
        yield watched


def tell(server: Server, count: int, name: str, *, who: str = "ben") -> None:
    """Tell some ratings, whoever listens meanwhile."""
    client = server.client(who)
    songs = [song["id"] for song in client.get("/api/songs?limit=200").json()["songs"]]
    for number in range(count):
        song = songs[number % len(songs)]
        event = {"key": f"{name} {number}", "kind": "rating", "song": song, "stars": 3}
        assert client.post("/api/events", json=event).status_code == 201


def in_the_log(server: Server, who: str = "ben") -> list[int]:
    """Return the numbers of all events, the newest first."""
    client = server.client(who)
    found: list[int] = []
    before = ""
    while True:
        answer = client.get(f"/api/history?limit=500{before}").json()
        found += [event["seq"] for event in answer["events"]]
        if answer["next_before"] is None:
            return found
        before = f"&before={answer['next_before']}"


def shown(page: Page) -> list[int]:
    """Return the numbers of the events in the list; how a song ended stands below its rating."""
    numbers = "[...document.querySelectorAll('li.event')].map((row) => Number(row.dataset.seq))"
    return sorted(page.evaluate(numbers), reverse=True)


def show_all(page: Page) -> None:
    more = page.get_by_role("button", name="Show more")
    rows = page.locator("li.event")
    expect(rows.first).to_be_attached()  # whether there is more comes with the first of them
    while more.count():
        count = rows.count()
        more.press("Enter")  # a message may be above it
        expect(rows.nth(count)).to_be_attached()


def test_what_came_meanwhile_joins_what_is_shown(listener: Watched, quiet_server: Server) -> None:
    """More than a page of it, above more than a page."""
    tell(quiet_server, FIRST, "first")
    page = listener.open("history")
    expect(page.locator("li.event")).to_have_count(AT_ONCE)
    show_all(page)
    assert shown(page) == in_the_log(quiet_server)
    tell(quiet_server, FIRST, "meanwhile")
    module(page, "player/radio.js", "it.radio.dispatchEvent(new Event('upcoming'))")
    expect(page.locator("li.event")).to_have_count(len(in_the_log(quiet_server)))
    assert shown(page) == in_the_log(quiet_server)


def test_after_much_was_forgotten_the_list_has_no_hole(
    chromium: Browser, quiet_server: Server
) -> None:
    tell(quiet_server, FIRST, "to forget", who="ann")
    with visit(chromium, quiet_server, "ann") as watched:
        page = watched.open("history")
        rows = page.locator("li.event")
        show_all(page)
        expect(rows).to_have_count(FIRST)
        page.get_by_role("button", name="Forget a period").click()
        page.get_by_role("dialog").get_by_role("button", name="Forget it").click()
        expect(page.get_by_role("status")).to_contain_text("Forgotten: ")
        expect(rows.first).to_contain_text("Undone: ")
        expect(rows).to_have_count(AT_ONCE)
        show_all(page)
        assert shown(page) == in_the_log(quiet_server, "ann")
        ratings = page.locator("li.event[data-kind=rating]")
        expect(ratings).to_have_count(FIRST)
        expect(ratings.filter(has_text="Undone")).to_have_count(FIRST)


def test_an_old_event_is_struck_before_the_server_has_answered(
    listener: Watched, quiet_server: Server
) -> None:
    tell(quiet_server, 2, "to strike")
    page = listener.open("history?show=ratings")
    row = page.locator("li.event").nth(1)
    held: list[Route] = []
    intercept(page, "**/api/events", lambda route: held.append(route))  # noqa: PLW0108
    row.get_by_role("button", name="Undo").click()
    expect(row.locator("s")).to_be_visible()
    expect(row).to_contain_text("Undone")
    expect(row).to_be_focused()
    listener.until_so(lambda: len(held) == 1, "tell what was taken back")
    held[0].continue_()
    expect(page.get_by_role("status")).to_contain_text("Undone: 3 stars for ")
    expect(row.locator("s")).to_be_visible()


def test_counts_that_overlap_count_nothing_twice(listener: Watched, quiet_server: Server) -> None:
    tell(quiet_server, 30, "to count")
    heard = "/api/history?kind=rating&kind=skip&kind=listen&limit=500"
    page = listener.open("history")
    page.get_by_role("button", name="Forget a period").wait_for()
    standing = [one for one in listener.ask(heard)["events"] if not one["is_retracted"]]
    held: list[Route] = []
    intercept(page, "**/api/history?kind=*", lambda route: held.append(route))  # noqa: PLW0108
    page.get_by_role("button", name="Forget a period").click()
    dialog = page.get_by_role("dialog", name="Forget a period")
    for name in ("This week", "Today", "Last hour"):
        dialog.get_by_role("button", name=name).click()
    expect(dialog).to_contain_text("Counting")
    for route in held:
        route.continue_()
    page.unroute("**/api/history?kind=*")
    expect(dialog).to_contain_text(f"In this period: {len(standing)} ratings, skips and listens.")
    dialog.get_by_role("button", name="Cancel").click()


# ── Where the clocks are changed ─────────────────────────────────────────────────────────


def test_the_last_hour_is_an_hour_in_the_hour_that_comes_twice(
    chromium: Browser, quiet_server: Server
) -> None:
    """On 25 October 2026 it is 02:30 in Berlin at 00:30 and at 01:30 UTC."""
    asked: list[dict[str, int]] = []

    def answer(route: Route) -> None:
        asked.append(json.loads(route.request.post_data or ""))
        route.fulfill(json={"forgotten": 0})

    with visit(chromium, quiet_server, "ben", timezone_id="Europe/Berlin") as watched:
        page = watched.page
        page.clock.set_fixed_time(milliseconds("2026-10-25T01:30:20") / 1_000)
        page.route("**/api/history/forget", answer)
        page.goto(f"{quiet_server.address}/#/history")
        page.get_by_role("button", name="Forget a period").click()
        dialog = page.get_by_role("dialog", name="Forget a period")
        dialog.get_by_role("button", name="Last hour").click()
        expect(dialog.get_by_label("From")).to_have_value("2026-10-25T02:30")
        expect(dialog.get_by_label("To")).to_have_value("2026-10-25T02:31")
        dialog.get_by_role("button", name="Forget it").click()
        expect(page.get_by_role("status")).to_contain_text("nothing to forget")
        whole = {"from": milliseconds("2026-10-25T00:30"), "to": milliseconds("2026-10-25T01:31")}
        assert asked == [whole]

"""What was told, in words and by day; taking it back; forgetting a period."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.fixtures.browser.visit import PHONE, visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator

    from tests.fixtures.browser.visit import Watched
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
    seqs = []
    for number, event in enumerate(events):
        key = f"{song['id']} {number} {client.get('/api/history?limit=1').text}"[:200]
        answer = client.post("/api/events", json={"key": key, **event})
        assert answer.status_code == 201, answer.text
        seqs.append(answer.json()["seq"])
    yield song
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
    link = rows(ben, "★★★★☆ for").first.get_by_role("link", name=told["title"])
    expect(link).to_have_attribute("href", f"#/song/{told['id']}")


def test_how_a_rated_song_ended_stands_below_its_rating(ben: Watched, told: dict[str, Any]) -> None:
    ben.open("history")
    rating = rows(ben, f"★★★★☆ for {told['title']}").first
    below = rating.locator("xpath=following-sibling::li[1]")
    expect(below).to_contain_text("Skipped after 0:32")
    expect(
        below.get_by_role("button", name=f"Undo: Skipped after 0:32: {told['title']}")
    ).to_be_visible()


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


def test_older_events_are_shown_when_asked_for(ben: Watched, server: Server) -> None:
    client = server.client("ben")
    song = client.get("/api/songs?limit=1").json()["songs"][0]["id"]
    for number in range(60):
        event = {"key": f"many {number}", "kind": "rating", "song": song, "stars": 3}
        assert client.post("/api/events", json=event).status_code in {200, 201}
    page = ben.open("history?show=ratings")
    expect(page.locator("main li.event")).to_have_count(50)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator("main li.event").nth(59)).to_be_attached()


@pytest.mark.usefixtures("told")
def test_a_period_is_forgotten_and_bans_stay(ben: Watched) -> None:
    page = ben.open("history")
    page.get_by_role("button", name="Forget a period").click()
    dialog = page.get_by_role("dialog", name="Forget a period")
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


def test_the_end_of_a_period_is_after_its_beginning(ben: Watched) -> None:
    page = ben.open("history")
    before = ben.last_event()
    page.get_by_role("button", name="Forget a period").click()
    dialog = page.get_by_role("dialog", name="Forget a period")
    dialog.get_by_label("To").fill("2020-01-01T00:00")
    dialog.get_by_role("button", name="Forget it").click()
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert ben.last_event() == before


def test_ones_data_can_be_taken_along(ben: Watched) -> None:
    page = ben.open("history")
    with page.expect_download() as started:
        page.get_by_role("link", name="Export my data").click()
    assert started.value.suggested_filename == "bandstand.jsonl"


def test_who_has_told_nothing_is_told_what_will_be_here(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "ann", size=PHONE) as watched:
        page = watched.page
        page.route("**/api/history*", lambda route: route.fulfill(json=NOTHING))
        watched.open("history")
        expect(page.get_by_text("Nothing yet.")).to_be_visible()
        expect(page.get_by_role("link", name="Listen to the radio")).to_be_visible()


NOTHING: dict[str, Any] = {"events": [], "next_before": None}

"""The player: a song, stars, what comes next, and everything one can do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.fixtures.browser.player import PLAYING, choose, hurry, listen, next_up, title, toast
from tests.fixtures.browser.visit import visit
from tests.fixtures.web.servers import serving

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Route

    from tests.fixtures.browser.visit import Watched
    from tests.fixtures.web.servers import Server

DAY = 86_400_000  # milliseconds


def test_music_begins_when_the_first_song_is_ready(ben: Watched) -> None:
    """A new library is still being read when somebody comes."""
    waits = iter(range(2))
    nothing = {"songs": 0, "artists": 0, "albums": 0, "genres": 0, "duration": 0.0}
    scan = {"is_scanning": True, "state": "scanning", "done": 120, "total": 3_400, "change": 1}

    def not_yet(route: Route) -> None:
        if next(waits, None) is None:
            route.continue_()
        else:
            route.fulfill(json={**nothing, **scan})

    ben.page.route("**/api/library", not_yet)
    page = ben.open()
    expect(page.get_by_text("Reading your music: 120 of 3,400 files")).to_be_visible()
    ben.until_playing()
    expect(page.get_by_text("Reading your music")).to_be_hidden()


def test_without_music_the_page_says_what_to_do(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "music").mkdir()
    with serving(tmp_path, folders=[tmp_path / "music"]) as server:
        for name, words in (
            ("ann", "There is no music yet. Put some into"),
            ("ben", "Ask the administrator"),
        ):
            with visit(chromium, server, name) as watched:
                page = watched.open()
                expect(page.get_by_text(words)).to_be_visible()
                scan = page.get_by_role("link", name="Show the scan")
                expect(scan).to_have_count(1 if name == "ann" else 0)
                assert watched.complaints == []


def test_a_song_plays_and_stars_are_stored(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    page.get_by_role("button", name="4 stars").click()
    event = ben.wait_for_event(before)
    assert (event["kind"], event["stars"]) == ("rating", 4)
    assert event["played_seconds"] > 0
    expect(page.get_by_role("button", name="4 stars")).to_have_attribute("aria-pressed", "true")
    expect(next_up(page)).to_have_attribute("data-seq", str(event["seq"]))
    page.get_by_role("button", name="Undo").click()
    taken_back = ben.wait_for_event(event)
    assert (taken_back["kind"], taken_back["retracts"]) == ("retract", event["seq"])


def test_undo_says_what_it_takes_back_and_shows_what_is_left(ben: Watched) -> None:
    page = listen(ben)
    page.keyboard.press("Space")
    song = title(page).inner_text()
    four = page.get_by_role("button", name="4 stars")
    for count in (4, 2):
        page.get_by_role("button", name=f"{count} stars").click()
        expect(toast(page)).to_contain_text(f"{count} stars for “{song}”.")
    page.get_by_role("button", name="Undo").click()
    expect(toast(page)).to_have_text(f"Undone: 2 stars for “{song}”.")
    expect(four).to_have_attribute("aria-pressed", "true")
    choose(page, "More", f"Undo: 4 stars for “{song}”")
    expect(four).to_have_attribute("aria-pressed", "false")


def test_a_song_that_ends_was_heard_and_the_next_one_plays(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    heard, coming = title(page).inner_text(), next_up(page).inner_text()
    hurry(ben)
    expect(title(page)).to_have_text(coming)
    event = ben.wait_for_event(before)
    assert (event["kind"], event["title"]) == ("listen", heard)
    ben.until_playing()


def test_next_is_a_skip_and_back_is_the_song_before(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    heard = title(page).inner_text()
    page.get_by_role("button", name="Next", exact=True).click()
    skipped = ben.wait_for_event(before)
    assert (skipped["kind"], skipped["title"]) == ("skip", heard)
    expect(title(page)).not_to_have_text(heard)
    second = title(page).inner_text()
    page.get_by_role("button", name="Back", exact=True).click()
    expect(title(page)).to_have_text(heard)
    expect(next_up(page)).to_have_text(second)
    page.evaluate(f"{PLAYING}.currentTime = 4")
    page.get_by_role("button", name="Back", exact=True).click()
    ben.until(f"{PLAYING}.currentTime < 2")
    expect(title(page)).to_have_text(heard)
    assert ben.last_event() == skipped


def test_never_again_is_never_again(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    banned = title(page).inner_text()
    choose(page, "Never again", "This song")
    event = ben.wait_for_event(before)
    assert (event["kind"], event["scope"]) == ("ban", "song")
    expect(title(page)).not_to_have_text(banned)
    expect(toast(page)).to_contain_text(f"“{banned}” never again.")
    page.get_by_role("button", name="Undo").click()
    assert ben.wait_for_event(event)["kind"] == "retract"


def test_not_for_a_month_is_a_month_and_can_mean_the_artist(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    artist = page.locator(".player-artist").inner_text()
    choose(page, "Not for a month", f"Everything by {artist}")
    event = ben.wait_for_event(before)
    assert (event["kind"], event["scope"], event["target"]) == ("snooze", "artist", artist)
    assert event["until"] - event["at"] == 30 * DAY
    expect(page.locator(".player-artist")).not_to_have_text(artist)
    page.get_by_role("button", name="Undo").click()
    assert ben.wait_for_event(event)["kind"] == "retract"


def test_the_dial_is_kept(ben: Watched) -> None:
    page = listen(ben)
    with page.expect_response(lambda response: response.request.method == "PATCH"):
        page.get_by_label("From familiar to discover").fill("0.5")
    assert ben.ask("/api/settings")["dial"] == 0.5


def test_going_on_after_a_rating_is_a_matter_of_preference(ben: Watched) -> None:
    page = listen(ben)
    page.evaluate("localStorage.setItem('bandstand.advance', JSON.stringify('low'))")
    heard, before = title(page).inner_text(), ben.last_event()
    page.keyboard.press("5")
    first = ben.wait_for_event(before)
    expect(title(page)).to_have_text(heard)
    page.keyboard.press("1")
    expect(title(page)).not_to_have_text(heard)
    event = ben.wait_for_event(first)
    assert (event["kind"], event["stars"]) == ("rating", 1)


def test_starting_from_an_artist_goes_on_until_it_is_ended(ben: Watched) -> None:
    page = listen(ben)
    artist = page.locator(".player-artist").inner_text()
    choose(page, "More", f"Start from {artist}")
    chip = page.get_by_text(f"Starting from {artist}", exact=True)
    expect(chip).to_be_visible()
    page.reload()
    expect(chip).to_be_visible()
    page.get_by_role("button", name=f"Stop starting from {artist}").click()
    expect(chip).to_be_hidden()


def test_private_mode_is_seen_and_nothing_is_learnt(ann: Watched, server: Server) -> None:
    client = server.client("ann")
    client.patch("/api/settings", json={"private": True})
    try:
        page, before = listen(ann), ann.last_event()
        expect(page.get_by_text("Private mode: nothing is learned")).to_be_visible()
        heard = title(page).inner_text()
        page.get_by_role("button", name="3 stars").click()
        expect(toast(page)).to_have_text("Private mode: this is not learned.")
        page.keyboard.press("n")
        expect(title(page)).not_to_have_text(heard)
        assert ann.last_event() == before
    finally:
        client.patch("/api/settings", json={"private": False})


def test_other_pages_have_a_small_player(ben: Watched) -> None:
    page = listen(ben)
    song = title(page).inner_text()
    bar = page.get_by_role("region", name="Now playing")
    expect(bar).to_be_hidden()
    page.get_by_role("link", name="History").click()
    expect(bar).to_contain_text(song)
    bar.get_by_role("button", name="Next").click()
    expect(bar).not_to_contain_text(song)
    before = ben.last_event()
    bar.get_by_role("button", name="3 stars").click()
    assert ben.wait_for_event(before)["stars"] == 3
    bar.get_by_role("link").click()
    expect(title(page)).to_be_visible()
    expect(page.get_by_role("button", name="3 stars")).to_have_attribute("aria-pressed", "true")

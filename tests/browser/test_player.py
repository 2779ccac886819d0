"""The player: a song, stars, what comes next, and everything one can do with it."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.fixtures.browser.navigation import pressed
from tests.fixtures.browser.player import (
    PLAYING,
    PREPARED,
    choose,
    hurry,
    listen,
    next_up,
    title,
    toast,
)
from tests.fixtures.browser.visit import PHONE, Watched, visit
from tests.fixtures.web.servers import Server, serving

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
        for name, words, ways in (
            ("ann", "There is no music yet. Put some into", 1),
            ("ben", "Ask the administrator", 0),
        ):
            with visit(chromium, server, name) as watched:
                page = watched.open()
                expect(page.get_by_text(words)).to_be_visible()
                expect(page.get_by_role("link", name="Show the scan")).to_have_count(ways)
                watched.open("library")
                expect(page.get_by_text("There are no songs here yet.")).to_be_visible()
                assert watched.complaints == []


def test_the_heart_is_that_of_the_song_that_plays_in_every_tab(ben: Watched) -> None:
    page = listen(ben)
    page.keyboard.press("Space")
    heart = page.locator(".player").get_by_role("button", name="Favourite")
    song = title(page).get_attribute("data-now-playing")
    other = ben.page.context.new_page()
    other.goto(page.url.partition("#")[0] + f"#/song/{song}")
    elsewhere = other.locator("article").get_by_role("button", name="Favourite")
    expect(elsewhere).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("f")
    expect(heart).to_have_attribute("aria-pressed", "true")
    expect(elsewhere).to_have_attribute("aria-pressed", "true")
    other.close()
    (favourite,) = ben.ask("/api/favourites")["favourites"]
    assert (favourite["scope"], favourite["target"]) == ("song", song)
    page.keyboard.press("n")
    expect(title(page)).not_to_have_attribute("data-now-playing", str(song))
    expect(heart).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("p")
    expect(title(page)).to_have_attribute("data-now-playing", str(song))
    expect(heart).to_have_attribute("aria-pressed", "true")
    heart.click()
    expect(heart).to_have_attribute("aria-pressed", "false")
    expect(toast(page)).to_contain_text("no longer a favourite")
    assert ben.ask("/api/favourites") == {"favourites": []}


def test_stars_are_stored_and_undo_shows_what_is_left(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    page.keyboard.press("Space")
    song, four = title(page).inner_text(), page.get_by_role("button", name="4 stars")
    four.click()
    event = ben.wait_for_event(before)
    assert (event["kind"], event["stars"]) == ("rating", 4)
    assert event["played_seconds"] > 0
    pressed(four)
    expect(next_up(page)).to_have_attribute("data-seq", str(event["seq"]))
    page.get_by_role("button", name="2 stars").click()
    second = ben.wait_for_event(event)
    page.get_by_role("button", name="Undo").click()
    expect(toast(page)).to_have_text(f"Undone: 2 stars for “{song}”.")
    assert ben.wait_for_event(second)["retracts"] == second["seq"]
    pressed(four)
    choose(page, "More", f"Undo: 4 stars for “{song}”")
    pressed(four, is_so=False)


def test_a_song_that_ends_was_heard_and_the_next_one_was_fetched_ahead(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    heard, coming = title(page).inner_text(), next_up(page).inner_text()
    song = page.locator(".coming > li").first.get_attribute("data-song")
    ben.until(f"{PREPARED}.readyState === 4")
    assert page.evaluate(f"{PREPARED}.dataset.song") == song
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    hurry(ben)
    expect(title(page)).to_have_text(coming)
    event = ben.wait_for_event(before)
    assert (event["kind"], event["title"]) == ("listen", heard)
    ben.until(f"{PLAYING}.dataset.song === '{song}' && {PLAYING}.currentTime > 0.1")
    assert not [url for url in asked if url.endswith(f"{song}/audio")]


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


def test_never_again_is_never_again_and_not_for_a_month_a_month(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    banned = title(page).inner_text()
    choose(page, "Never again", "This song")
    event = ben.wait_for_event(before)
    assert (event["kind"], event["scope"]) == ("ban", "song")
    expect(title(page)).not_to_have_text(banned)
    expect(toast(page)).to_contain_text(f"“{banned}” never again.")
    page.get_by_role("button", name="Undo").click()
    undone = ben.wait_for_event(event)
    assert undone["retracts"] == event["seq"]
    artist = page.locator(".player-artist").inner_text()
    choose(page, "Not for a month", f"Everything by {artist}")
    event = ben.wait_for_event(undone)
    assert (event["kind"], event["scope"], event["target"]) == ("snooze", "artist", artist)
    assert event["until"] - event["at"] == 30 * DAY
    expect(page.locator(".player-artist")).not_to_have_text(artist)
    page.get_by_role("button", name="Undo").click()
    assert ben.wait_for_event(event)["retracts"] == event["seq"]


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


# Shortcuts of the keyboard, and what a lock screen is told.


def test_keys_pause_seek_and_make_it_quiet(ben: Watched) -> None:
    page = listen(ben)
    page.keyboard.press("Space")
    ben.until(f"{PLAYING}.paused")
    page.keyboard.press("k")
    ben.until(f"!{PLAYING}.paused")
    page.keyboard.press("Space")
    page.evaluate(f"{PLAYING}.currentTime = 0.5")
    page.keyboard.press("ArrowRight")
    ben.until(f"{PLAYING}.currentTime > 5")
    page.keyboard.press("ArrowLeft")
    ben.until(f"{PLAYING}.currentTime < 1")
    page.keyboard.press("m")
    ben.until(f"{PLAYING}.muted")
    page.keyboard.press("m")
    ben.until(f"!{PLAYING}.muted")
    page.keyboard.press("ArrowDown")
    ben.until(f"{PLAYING}.volume < 1")
    expect(page.get_by_role("slider", name="Volume")).to_have_attribute("aria-valuetext", "95 %")
    slider = page.get_by_role("slider", name="Position")
    slider.fill("500")
    ben.until(f"{PLAYING}.currentTime > 2.9")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^0:0[34] of 0:0[67]$"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Mute")


def test_a_key_that_a_control_uses_is_left_to_it(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    page.get_by_role("button", name="3 stars").focus()
    page.keyboard.press("Space")
    event = ben.wait_for_event(before)
    assert event["stars"] == 3
    assert page.evaluate(f"!{PLAYING}.paused")
    page.keyboard.press("Control+2")
    page.get_by_role("link", name="Library").click()
    page.get_by_role("searchbox").fill("1")
    page.keyboard.press("2")
    page.keyboard.press("n")
    expect(page.get_by_role("searchbox")).to_have_value("12n")
    assert ben.last_event() == event


def test_a_lock_screen_shows_what_plays(ben: Watched) -> None:
    page = listen(ben)
    shown = page.evaluate(
        "({title: navigator.mediaSession.metadata.title,"
        " artist: navigator.mediaSession.metadata.artist,"
        " state: navigator.mediaSession.playbackState})"
    )
    artist = page.locator(".player-artist").inner_text()
    assert shown == {"title": title(page).inner_text(), "artist": artist, "state": "playing"}
    assert page.title() == f"{shown['title']} – {artist}"
    page.keyboard.press("Space")
    ben.until("navigator.mediaSession.playbackState === 'paused'")


# The player on a phone and in narrow windows: what matters is seen at once, whatever it says.


LONG = {
    "title": "The Unanswered Question and Other Pieces for Small Orchestra",
    "artist": "The Academy of St. Example and Friends",
    "album": "The Complete Recordings, Volume 17: Late Works, Fragments and Sketches (Remastered)",
}


def with_long_names(route: Route) -> None:
    """Answer with a song whose names are longer than a phone is wide."""
    answer = route.fetch().json()
    sentence = "You heard it two days ago and it is nearly fresh again; " * 3
    route.fulfill(
        json={**answer, "song": {**answer["song"], **LONG}, "note": sentence, "why": None}
    )


@pytest.mark.parametrize("has_mouse", [False, True])
@pytest.mark.parametrize("is_long", [False, True])
def test_everything_important_is_seen_at_once(
    chromium: Browser, server: Server, *, has_mouse: bool, is_long: bool
) -> None:
    """In the window, and above what stands at its foot."""
    options: dict[str, Any] = {} if has_mouse else {"is_mobile": True, "has_touch": True}
    with visit(chromium, server, size=PHONE, **options) as watched:
        if is_long:
            watched.page.route("**/api/next*", with_long_names)
        page = listen(watched)
        if is_long:
            expect(title(page)).to_have_text(LONG["title"])
            album = page.locator(".player-album")
            assert album.evaluate("(line) => line.offsetHeight") < 30
            expect(album).to_have_attribute("title", re.compile("^" + re.escape(LONG["album"])))
        foot = page.locator("#foot").bounding_box()
        assert foot is not None
        for place in (
            page.locator(".player-cover"),
            title(page),
            page.get_by_role("button", name="5 stars"),
            page.get_by_role("slider", name="Position"),
            page.get_by_role("button", name="Pause"),
            page.get_by_role("button", name="Next", exact=True),
            page.locator(".player-actions"),
        ):
            box = place.bounding_box()
            assert box is not None
            assert 0 <= box["y"] < box["y"] + box["height"] + 4 <= foot["y"], place
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert watched.complaints == []


def test_play_next_goes_before_what_was_queued(ben: Watched) -> None:
    page = listen(ben)
    page.keyboard.press("k")  # the song is short, and all this takes its time
    page.get_by_role("link", name="Library").click()
    for song, item in (
        ("Song 1", "Add to queue"),
        ("Song 2", "Add to queue"),
        ("Song 3", "Play next"),
        ("Song 4", "Play next"),
        ("Song 1", "Play next"),
    ):
        choose(page, f"More for “{song}”", item)
    expect(toast(page)).to_contain_text("Next: Song 1")
    page.get_by_role("link", name="Radio").click()
    order = ["Song 1", "Song 4", "Song 3", "Song 2"]
    expect(page.locator(".coming-title").nth(3)).to_have_text(order[3])
    shown = page.locator(".coming-title").all_inner_texts()
    assert shown[:4] == order
    assert len(set(shown)) == len(shown)
    page.keyboard.press("n")
    expect(title(page)).to_have_text("Song 1")
    page.keyboard.press("n")
    expect(title(page)).to_have_text("Song 4")

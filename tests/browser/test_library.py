"""The library, the page of a song, and playlists, in a real browser."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.conftest import QUIET_SONGS
from tests.fixtures.browser.silence import give_silence
from tests.fixtures.browser.visit import Watched, intercept, visit
from tests.fixtures.web.servers import Server


@pytest.fixture
def listener(chromium: Browser, quiet_server: Server) -> Iterator[Watched]:
    with visit(chromium, quiet_server, "cat") as watched:
        give_silence(watched.page)
        yield watched
    assert watched.complaints == []


def rows(page: Page) -> Locator:
    return page.get_by_role("list", name="Songs").get_by_role("listitem")


def search(page: Page, text: str) -> None:
    page.get_by_role("searchbox", name="Search the library").fill(text)


def test_a_search_narrows_the_list_and_the_address_keeps_it(listener: Watched) -> None:
    page = listener.open("library")
    expect(rows(page)).to_have_count(100)
    search(page, "artist song 31")
    expect(rows(page)).to_have_count(3 + 10)  # 31, 131, 231, and 310 to 319
    expect(page).to_have_url(re.compile(r"#/library\?q=artist\+song\+31$"))
    expect(page.locator(".found")).to_have_text(re.compile(r"^13 songs · \d+ (minutes|hours)$"))
    page.reload()
    expect(page.get_by_role("searchbox")).to_have_value("artist song 31")
    expect(rows(page)).to_have_count(13)
    search(page, "no such thing")
    expect(page.get_by_text("Nothing found for “no such thing”.")).to_be_visible()
    page.get_by_role("button", name="Show all songs").click()
    expect(rows(page)).to_have_count(100)
    expect(page.get_by_role("searchbox")).to_have_value("")
    expect(page.locator(".found")).to_have_count(0)


def test_favourites_are_marked_on_their_page_and_listed(listener: Watched) -> None:
    page = listener.open("library")
    rows(page).nth(2).get_by_role("link").first.click()
    heart = page.locator("article").get_by_role("button", name="Favourite")
    expect(heart).to_have_attribute("aria-pressed", "false")
    song = page.get_by_role("heading", level=1).inner_text()
    heart.press("Enter")
    expect(heart).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("status")).to_contain_text(f"“{song}” is a favourite.")
    listener.open("library")
    page.get_by_label("Which songs").select_option("My favourites")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text(song)
    page.go_back()
    page.go_back()
    page.route("**/api/favourites", lambda route: route.abort())
    heart.click()
    expect(page.get_by_role("status")).to_contain_text("The server cannot be reached.")
    expect(heart).to_have_attribute("aria-pressed", "true")
    page.unroute("**/api/favourites")
    heart.click()
    expect(page.get_by_role("status")).to_contain_text("no longer a favourite")
    assert listener.ask("/api/favourites") == {"favourites": []}
    listener.complaints = [said for said in listener.complaints if "ERR_FAILED" not in said]


def test_answers_to_what_was_typed_before_are_dropped(listener: Watched) -> None:
    """The first question is held back until the second has been answered."""
    page = listener.open("library")
    expect(rows(page)).to_have_count(100)
    held: list[Route] = []
    intercept(page, "**/api/songs?q=song&**", lambda route: held.append(route))  # noqa: PLW0108
    search(page, "song")
    listener.until_so(lambda: len(held) == 1, "ask for what was typed")
    search(page, "song 123")
    expect(rows(page)).to_have_count(1)
    held[0].abort()
    listener.settle()
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_contain_text("Song 123")
    listener.complaints.clear()  # that a request was cut off


def test_the_list_grows_to_its_end(listener: Watched) -> None:
    page = listener.open("library")
    expect(rows(page)).to_have_count(100)
    to_its_end = (
        "(scrollTo(0, document.body.scrollHeight), document.querySelectorAll('.song').length)"
    )
    listener.until(f"{to_its_end} === {QUIET_SONGS}")
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()
    titles = page.locator(".song-title").all_text_contents()
    assert len(set(titles)) == QUIET_SONGS


def test_a_name_leads_to_its_songs_and_a_chip_lets_it_go(listener: Watched) -> None:
    page = listener.open("library")
    page.get_by_role("button", name="Artists", exact=True).click()
    expect(page.get_by_text("16 artists", exact=True)).to_be_visible()
    search(page, "artist 7")
    page.get_by_role("link", name="Artist 7 20 songs").click()
    expect(rows(page)).to_have_count(20)
    page.go_back()
    expect(page.get_by_role("list", name="Artists").get_by_role("listitem")).to_have_count(1)
    page.go_forward()
    page.get_by_role("button", name="Remove artist “Artist 7”").click()
    expect(rows(page)).to_have_count(100)
    page = listener.open("library?view=albums&q=album+12")
    page.get_by_role("link", name=re.compile("^Album 12 ")).click()
    expect(rows(page)).to_have_count(10)
    expect(page.get_by_role("button", name="Remove album “Album 12 by Artist 6”")).to_be_visible()
    page = listener.open("library?view=genres")
    page.get_by_role("link", name=re.compile("^Genre 3 ")).click()
    expect(rows(page)).to_have_count(QUIET_SONGS // 10)


def test_back_from_a_song_finds_the_list_as_it_was(listener: Watched) -> None:
    page = listener.open("library?sort=title")
    expect(rows(page)).to_have_count(100)
    row = rows(page).nth(90)
    row.scroll_into_view_if_needed()
    expect(rows(page)).not_to_have_count(100)  # it has grown meanwhile
    top, title = page.evaluate("scrollY"), row.locator(".song-title").inner_text()
    row.get_by_role("link", name=title).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    page.go_back()
    expect(rows(page).nth(90)).to_contain_text(title)
    expect(page.get_by_role("link", name=title, exact=True)).to_be_focused()
    assert abs(page.evaluate("scrollY") - top) < 100


def test_orders_are_kept(listener: Watched, quiet_server: Server) -> None:
    song = listener.ask("/api/songs?limit=1")["songs"][0]
    rating = {"key": "an order", "kind": "rating", "song": song["id"], "stars": 5}
    quiet_server.client("cat").post("/api/events", json=rating)
    page = listener.open("library")
    page.get_by_role("combobox", name="Order").select_option("By title")
    expect(page).to_have_url(re.compile("sort=title"))
    expect(rows(page).first).to_contain_text("Song 0")
    page.get_by_role("combobox", name="Order").select_option("For you")
    expect(page.locator(".song-expected").first).to_have_text(re.compile(r"^[1-5]\.\d$"))
    page.go_back()
    expect(page.get_by_role("combobox", name="Order")).to_have_value("title")


def test_a_song_is_rated_from_its_page_and_the_rating_taken_back(listener: Watched) -> None:
    song = listener.ask("/api/songs?q=song+142")["songs"][0]
    page = listener.open(f"song/{song['id']}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Song 142")
    expect(page.get_by_text("You have not heard it here yet.")).to_be_visible()
    rating = page.locator("main").get_by_role("group", name="Your rating")
    rating.get_by_role("button", name="4 stars").click()
    expect(rating.get_by_role("button", name="4 stars")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text(re.compile(r"^[1-5]\.\d ± \d\.\d stars$"))).to_be_visible()
    expect(page.get_by_text("Heard before", exact=True)).to_be_visible()  # once: no recovery yet
    expect(page.get_by_text("You heard it just now.")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Undo: 4 stars, ")).click()
    # In the list below; a notice says "Undone." for a while, too.
    expect(page.get_by_text(re.compile("· undone$"))).to_be_visible()
    expect(rating.get_by_role("button", name="4 stars")).to_have_attribute("aria-pressed", "false")


def test_never_again_is_told_and_can_be_ended_at_the_song(listener: Watched) -> None:
    before = listener.last_event()
    page = listener.open("library?q=song+200")
    page.get_by_role("button", name="More for “Song 200”").click()
    page.get_by_role("menuitem", name="Never again").click()
    event = listener.wait_for_event(before)
    assert (event["kind"], event["scope"]) == ("ban", "song")
    page.get_by_role("link", name="Song 200", exact=True).click()
    expect(page.get_by_text("This song is never played.")).to_be_visible()
    page.get_by_role("button", name="Play it again").click()
    expect(page.get_by_text("This song is never played.")).to_have_count(0)
    assert listener.wait_for_event(event)["kind"] == "retract"


def test_an_address_without_a_song_says_so(listener: Watched) -> None:
    page = listener.open("song/0000000000000000")
    expect(page.get_by_role("heading", name="No such song")).to_be_visible()
    page.get_by_role("link", name="Go to the library").click()
    expect(rows(page)).to_have_count(100)
    assert all("404" in it for it in listener.complaints)
    listener.complaints.clear()  # the browser says of every 404 that it was one


# ── Playlists ────────────────────────────────────────────────────────────────────────────


def saved(server: Server, name: str, count: int, *, who: str = "cat") -> dict[str, Any]:
    """Return a playlist of the first songs, by title."""
    client = server.client(who)
    songs = client.get(f"/api/songs?sort=title&limit={count}").json()["songs"]
    body = {"name": name, "songs": [song["id"] for song in songs]}
    return dict(client.post("/api/playlists", json=body).json())


def titles(page: Page) -> list[str]:
    return page.locator(".songs .song-title").all_text_contents()


def test_the_radio_makes_a_playlist_from_what_it_knows(listener: Watched) -> None:
    """Song n is of the year 1970 + n, and fifty songs later it is 1970 again."""
    page = listener.open("playlists")
    page.get_by_role("button", name="New from the radio").click()
    dialog = page.get_by_role("dialog", name="New playlist from the radio")
    dialog.get_by_label("Name").fill("Kitchen")
    dialog.get_by_label("How many").fill("10")
    dialog.get_by_label("Start from").select_option("An artist")
    called = dialog.get_by_label("Called")
    called.fill("Polka of Mars")
    dialog.get_by_role("button", name="Create").click()
    assert called.evaluate("field => field.validationMessage") == "Choose one from the list."
    called.fill("artist 7")
    expect(dialog.locator("datalist option").first).to_have_attribute("value", "Artist 7")
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Kitchen")).to_be_visible()
    assert len(titles(page)) == 10
    expect(page.locator(".songs .song").first).to_contain_text("Artist 7")
    page = listener.open("playlists")
    page.get_by_role("button", name="New from the radio").click()
    dialog.get_by_label("Name").fill("Seventies")
    dialog.get_by_label("How many").fill("10")
    dialog.get_by_label("From year").fill("1971")
    dialog.get_by_label("To year").fill("1975")
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Seventies")).to_be_visible()
    numbers = [int(name.removeprefix("Song ")) for name in titles(page)]
    assert len(numbers) == 10
    assert {number % 50 for number in numbers} <= set(range(1, 6))


def test_a_song_is_added_from_its_menu_to_an_old_or_a_new_one(
    listener: Watched, quiet_server: Server
) -> None:
    found = saved(quiet_server, "Porch", 2)
    page = listener.open("library?q=song+150")
    page.get_by_role("button", name="More for “Song 150”").click()
    page.get_by_role("menuitem", name="Add to playlist…").click()
    page.get_by_role("radio", name=re.compile("^Porch")).check()
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile(found["id"]))
    expect(page.get_by_text("3 songs")).to_be_visible()
    assert titles(page)[-1] == "Song 150"
    page = listener.open("library?q=song+151")
    page.get_by_role("button", name="More for “Song 151”").click()
    page.get_by_role("menuitem", name="Add to playlist…").click()
    page.get_by_role("radio", name="A new playlist").check()
    page.get_by_role("dialog").get_by_label("Name", exact=True).fill("Just one")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_role("heading", name="Just one")).to_be_visible()
    assert titles(page) == ["Song 151"]


def test_songs_are_moved_by_keyboard_and_removed(listener: Watched, quiet_server: Server) -> None:
    found = saved(quiet_server, "Stairs", 3)
    page = listener.open(f"playlist/{found['id']}")
    expect(page.get_by_role("heading", name="Stairs")).to_be_visible()
    first, second, third = titles(page)
    page.get_by_role("button", name=f"Move down “{first}”").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=f"Move down “{first}”")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".songs .song").last).to_contain_text(first)
    page.get_by_role("button", name=f"More for “{third}”").click()
    page.get_by_role("menuitem", name="Remove from playlist").click()
    expect(page.locator(".songs .song")).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".songs .song")).to_have_count(3)
    page.reload()
    expect(page.locator(".songs .song")).to_have_count(3)
    assert titles(page) == [second, third, first]


def test_a_playlist_is_renamed_and_deleted(listener: Watched, quiet_server: Server) -> None:
    found = saved(quiet_server, "Attic", 1)
    page = listener.open(f"playlist/{found['id']}")
    page.get_by_role("button", name="More for this playlist").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_label("Name", exact=True).fill("Cellar")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Cellar")).to_be_visible()
    page.get_by_role("button", name="More for this playlist").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Playlists")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("Cellar"))).to_have_count(0)


def test_an_export_has_paths_for_admins_only(
    chromium: Browser, listener: Watched, quiet_server: Server
) -> None:
    found = saved(quiet_server, "Abroad", 2)
    page = listener.open(f"playlist/{found['id']}")
    page.get_by_role("button", name="Export").click()
    dialog = page.get_by_role("dialog", name="Export “Abroad”")
    expect(dialog.get_by_role("link", name=re.compile("^M3U8"))).to_be_visible()
    expect(dialog.get_by_role("switch")).to_have_count(0)
    own = saved(quiet_server, "At home", 1, who="ann")
    with visit(chromium, quiet_server, "ann") as ann:
        page = ann.open(f"playlist/{own['id']}")
        page.get_by_role("button", name="Export").click()
        page.get_by_role("switch", name="With file paths").check()
        with page.expect_download() as waiting:
            page.get_by_role("link", name=re.compile("^M3U8")).click()
        assert "/nowhere/" in waiting.value.path().read_text("utf-8")


def test_what_is_gone_or_somebody_elses_is_not_there(
    listener: Watched, quiet_server: Server
) -> None:
    found = saved(quiet_server, "Ann's own", 1, who="ann")
    page = listener.open(f"playlist/{found['id']}")
    expect(page.get_by_role("heading", name="No such playlist")).to_be_visible()
    assert all("404" in it for it in listener.complaints)
    listener.complaints.clear()  # the browser says of every 404 that it was one

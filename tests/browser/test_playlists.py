"""Playlists, in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.fixtures.browser.silence import give_silence
from tests.fixtures.browser.visit import visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.fixtures.browser.visit import Watched
    from tests.fixtures.web.servers import Server


@pytest.fixture
def listener(chromium: Browser, quiet_server: Server) -> Iterator[Watched]:
    with visit(chromium, quiet_server, "ben") as watched:
        give_silence(watched.page)
        yield watched
    assert watched.complaints == []


def saved(server: Server, name: str, count: int, *, who: str = "ben") -> dict[str, Any]:
    """Return a playlist of the first songs, by title."""
    client = server.client(who)
    songs = client.get(f"/api/songs?sort=title&limit={count}").json()["songs"]
    body = {"name": name, "songs": [song["id"] for song in songs]}
    return dict(client.post("/api/playlists", json=body).json())


def titles(page: Page) -> list[str]:
    return page.locator(".songs .song-title").all_text_contents()


def test_the_radio_makes_a_playlist(listener: Watched) -> None:
    page = listener.open("playlists")
    page.get_by_role("button", name="New from the radio").click()
    dialog = page.get_by_role("dialog", name="New playlist from the radio")
    dialog.get_by_label("Name").fill("Kitchen")
    dialog.get_by_label("How many").fill("10")
    dialog.get_by_label("Start from").select_option("An artist")
    dialog.get_by_label("Called").fill("artist 3")
    expect(dialog.locator("datalist option").first).to_have_attribute("value", "Artist 3")
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Kitchen")).to_be_visible()
    assert len(titles(page)) == 10
    expect(page.locator(".songs .song").first).to_contain_text("Artist 3")


def test_the_radio_makes_a_playlist_of_some_years(listener: Watched) -> None:
    """Song n is of the year 1970 + n, and fifty songs later it is 1970 again."""
    page = listener.open("playlists")
    page.get_by_role("button", name="New from the radio").click()
    dialog = page.get_by_role("dialog", name="New playlist from the radio")
    dialog.get_by_label("Name").fill("Seventies")
    dialog.get_by_label("How many").fill("10")
    dialog.get_by_label("From year").fill("1971")
    dialog.get_by_label("To year").fill("1975")
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Seventies")).to_be_visible()
    numbers = [int(name.removeprefix("Song ")) for name in titles(page)]
    assert len(numbers) == 10
    assert {number % 50 for number in numbers} <= set(range(1, 6))


def test_a_start_that_nobody_knows_is_not_taken(listener: Watched) -> None:
    page = listener.open("playlists")
    page.get_by_role("button", name="New from the radio").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Start from").select_option("A genre")
    field = dialog.get_by_label("Called")
    field.fill("Polka of Mars")
    page.wait_for_timeout(300)
    dialog.get_by_role("button", name="Create").click()
    expect(dialog).to_be_visible()
    assert field.evaluate("field => field.validationMessage") == "Choose one from the list."
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_a_song_is_added_from_its_menu(listener: Watched, quiet_server: Server) -> None:
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


def test_a_new_playlist_is_made_for_a_song(listener: Watched) -> None:
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


def test_a_playlist_is_exported(chromium: Browser, listener: Watched, quiet_server: Server) -> None:
    found = saved(quiet_server, "Abroad", 2)
    page = listener.open(f"playlist/{found['id']}")
    page.get_by_role("button", name="Export").click()
    dialog = page.get_by_role("dialog", name="Export “Abroad”")
    for label, start in (("M3U8", "#EXTM3U"), ("XSPF", "<?xml"), ("JSPF", "{")):
        with page.expect_download() as waiting:
            dialog.get_by_role("link", name=re.compile(f"^{label}")).click()
        assert waiting.value.path().read_text("utf-8").startswith(start)
        assert waiting.value.suggested_filename == f"Abroad.{label.lower()}"
    expect(dialog.get_by_role("switch")).to_have_count(0)  # for admins only

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

"""What comes: queued by hand, removed, kept as a playlist or as a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.fixtures.browser.player import choose, listen, next_up, title, toast

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from tests.fixtures.browser.visit import Watched

COUNT = 8  # songs that are shown
RANDOM = {"why": None, "mode": "random", "note": "Chosen at random."}


def hushed(watched: Watched) -> Page:
    """Return the player with its whole list of what comes, and no song that ends meanwhile."""
    page = listen(watched)
    page.keyboard.press("k")
    expect(page.locator(".coming > li")).to_have_count(COUNT)
    expect(page.locator(".coming")).to_have_attribute("aria-busy", "false")
    return page


def names_shown(page: Page) -> list[str]:
    """Return the titles of what comes."""
    return page.locator(".coming-title").all_inner_texts()


def queue_by_menu(page: Page, song: str, item: str) -> None:
    """Use the menu of a song in the library."""
    page.get_by_role("button", name=f"More for “{song}”").click()
    page.get_by_role("menuitem", name=item, exact=True).click()


def test_what_comes_can_be_played_dropped_and_saved(ben: Watched) -> None:
    page = hushed(ben)
    rows = page.locator(".coming > li")
    first = next_up(page).inner_text()
    rows.nth(0).get_by_role("button", name="Remove").click()
    expect(next_up(page)).not_to_have_text(first)
    expect(rows).to_have_count(COUNT)
    expect(page.locator(".coming")).to_have_attribute("aria-busy", "false")
    names = names_shown(page)
    choose(page, "Keep this list", "Save as playlist")
    page.get_by_label("Name").fill("Sunday")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(toast(page)).to_contain_text("Saved as “Sunday”.")
    saved = ben.ask("/api/playlists")["playlists"][0]
    songs = ben.ask(f"/api/playlists/{saved['id']}")["songs"]
    assert [song["title"] for song in songs] == names
    rows.nth(2).get_by_role("button", name="Play now").click()
    expect(title(page)).to_have_text(names[2])


def test_the_exported_list_is_the_one_that_is_shown(ben: Watched) -> None:
    """Also where a song was queued by hand."""
    page = listen(ben)
    page.get_by_role("link", name="Library").click()
    queue_by_menu(page, "Song 7", "Add to queue")
    page.get_by_role("link", name="Radio").click()
    page = hushed_again(page)
    names = names_shown(page)
    assert names[0] == "Song 7"
    choose(page, "Keep this list", "Save and export")
    page.get_by_label("Name").fill("Monday")
    page.get_by_role("button", name="Save", exact=True).click()
    with page.expect_download() as found:
        page.get_by_role("link", name=re.compile("^M3U8")).click()
    text = found.value.path().read_text(encoding="utf-8")
    assert re.findall(r"#EXTINF:[^,]*,.* - (.*)", text) == names


def hushed_again(page: Page) -> Page:
    """Pause, and wait for the list as it is then."""
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    expect(page.locator(".coming > li")).to_have_count(COUNT + 1)
    expect(page.locator(".coming")).to_have_attribute("aria-busy", "false")
    return page


def test_spaces_alone_are_no_name(ben: Watched) -> None:
    page = hushed(ben)
    before = len(ben.ask("/api/playlists")["playlists"])
    choose(page, "Keep this list", "Save as playlist")
    field = page.get_by_label("Name")
    field.fill("   ")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(field).to_be_visible()
    assert field.evaluate("(field) => field.validationMessage") == "Give it a name."
    page.keyboard.press("Escape")
    assert len(ben.ask("/api/playlists")["playlists"]) == before


def test_play_next_goes_before_what_was_queued(ben: Watched) -> None:
    page = listen(ben)
    page.keyboard.press("k")  # the song is short, and all this takes its time
    page.get_by_role("link", name="Library").click()
    for song in ("Song 1", "Song 2"):
        queue_by_menu(page, song, "Add to queue")
    for song in ("Song 3", "Song 4", "Song 1"):
        queue_by_menu(page, song, "Play next")
        expect(toast(page)).to_contain_text(f"Next: {song}")
    page.get_by_role("link", name="Radio").click()
    order = ["Song 1", "Song 4", "Song 3", "Song 2"]
    expect(page.locator(".coming-title").nth(3)).to_have_text(order[3])
    shown = names_shown(page)
    assert shown[:4] == order
    assert len(set(shown)) == len(shown)
    page.keyboard.press("n")
    expect(title(page)).to_have_text("Song 1")
    page.keyboard.press("n")
    expect(title(page)).to_have_text("Song 4")


def as_surprises(route: Route) -> None:
    """Answer that everything was chosen at random."""
    answer = route.fetch().json()
    if "songs" in answer:
        answer["songs"] = [{**offer, **RANDOM} for offer in answer["songs"]]
    route.fulfill(json={**answer, **({} if "songs" in answer else RANDOM)})


def test_that_all_are_surprises_is_said_once(ben: Watched) -> None:
    for address in ("**/api/next*", "**/api/playlist?*"):
        ben.page.route(address, as_surprises)
    page = hushed(ben)
    assert page.locator(".coming .reason").all_inner_texts() == ["a surprise", *[""] * 7]
    expect(page.locator(".coming .expected")).to_have_count(0)
    ben.page.unroute_all(behavior="ignoreErrors")


def test_stars_are_shown_where_they_are_known(ben: Watched) -> None:
    found = ben.open().evaluate(
        """async () => {
          const root = document.querySelector("script[type=module]").src.replace("app/main.js", "");
          const { expectedStars } = await import(`${root}player/reasons.js`);
          const why = (standard_deviation) => ({ why: { expected: 4.2, standard_deviation } });
          return [why(0.6), why(2), why(null), why(undefined), { why: null }].map(expectedStars);
        }"""
    )
    assert found == [4.2, None, None, None, None]


def test_a_list_that_is_being_renewed_is_dim(ben: Watched) -> None:
    page = hushed(ben)
    held: list[Route] = []
    page.route("**/api/next*", lambda route: held.append(route))  # noqa: PLW0108  # it is marked
    page.get_by_role("slider", name="From familiar to discover").fill("-0.5")
    cover = page.locator(".coming .cover").first
    expect(page.locator(".coming")).to_have_attribute("aria-busy", "true")
    expect(cover).to_have_css("opacity", "0.5")
    expect(page.locator(".coming")).to_have_css("opacity", "1")  # words stay readable
    ben.until_so(lambda: len(held) > 0, "ask what comes")
    page.unroute("**/api/next*")  # which lets them go
    expect(page.locator(".coming")).to_have_attribute("aria-busy", "false")
    expect(cover).to_have_css("opacity", "1")

"""Why a song was chosen, and only songs of some years."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.test_page_modules import adds_up
from tests.fixtures.browser.player import choose, listen, next_up, title, toast
from tests.fixtures.browser.visit import Watched
from tests.fixtures.web.servers import Server


def test_the_reasons_add_up(ann: Watched, server: Server) -> None:
    """Whatever the sums are: `test_page_modules.py`."""
    client = server.client("ann")
    songs = [song["id"] for song in client.get("/api/songs").json()["songs"]]
    for number, song in enumerate(songs[:8]):
        event = {"key": f"why-{number}", "kind": "rating", "song": song, "stars": 1 + number % 5}
        assert client.post("/api/events", json=event).status_code == 201
    page = listen(ann)
    page.keyboard.press("w")
    dialog = page.get_by_role("dialog", name="Why “")
    expect(dialog).to_contain_text("about ")
    shown = []
    for row in dialog.locator("tbody tr").all():
        value = float(row.locator("td").inner_text().replace("−", "-"))
        kind = "total" if row.get_attribute("class") == "sum" else "change"
        shown.append({kind: round(10 * value)})
    assert len(shown) > 3
    assert adds_up(shown)
    expected = dialog.get_by_role("row", name="Expected now").locator("td").inner_text()
    expect(dialog.locator("dd").first).to_contain_text(expected)
    expect(dialog.locator("tbody tr").last).to_contain_text("Its score")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


# Only songs of some years: asked for, seen, remembered and let go.


# The music of these tests: song n is of the year 1990 + n, for n up to 11.
ASK = "Only some years…"


def asked(page: Page) -> Locator:
    """Return the question for years, opened from the song's menu."""
    choose(page, "More", ASK)
    return page.get_by_role("dialog", name="Only some years")


def only(page: Page, first: str, last: str) -> None:
    dialog = asked(page)
    dialog.get_by_label("From year").fill(first)
    dialog.get_by_label("To year").fill(last)
    dialog.get_by_role("button", name="Play", exact=True).click()
    expect(dialog).to_have_count(0)


def number(name: str) -> int:
    return int(name.removeprefix("Song "))


def shown(watched: Watched) -> list[int]:
    """Return the years of what comes, once all of it is known."""
    expect(watched.page.locator(".coming")).to_have_attribute("aria-busy", "false")
    return [1990 + number(name) for name in watched.page.locator(".coming-title").all_inner_texts()]


def test_only_some_years_play_until_they_are_let_go(ben: Watched) -> None:
    page = listen(ben)
    song = title(page).inner_text()
    first = 1990 if number(song) > 5 else 1996  # none that plays now
    only(page, str(first), str(first + 4))
    chip = page.get_by_text(f"Only {first} to {first + 4}", exact=True)
    expect(chip).to_be_visible()
    expect(title(page)).not_to_have_text(song)
    assert number(title(page).inner_text()) + 1990 in range(first, first + 5)
    assert set(shown(ben)) <= set(range(first, first + 5))
    page.reload()
    expect(chip).to_be_visible()
    expect(next_up(page)).to_be_visible()
    assert set(shown(ben)) <= set(range(first, first + 5))
    page.get_by_role("button", name=f"Stop playing only {first} to {first + 4}").click()
    expect(chip).to_be_hidden()
    ben.until("document.querySelectorAll('.coming > li').length === 8")
    assert not set(shown(ben)) <= set(range(first, first + 5))


def test_a_song_that_is_of_these_years_plays_on(ben: Watched) -> None:
    page = listen(ben)
    song = title(page).inner_text()
    year = str(1990 + number(song))
    only(page, year, "")
    expect(page.get_by_text(f"Only {year} and later", exact=True)).to_be_visible()
    expect(title(page)).to_have_text(song)
    only(page, "", year)
    expect(page.get_by_text(f"Only {year} and earlier", exact=True)).to_be_visible()
    only(page, year, year)
    expect(page.get_by_text(f"Only {year}", exact=True)).to_be_visible()
    only(page, "", "")
    expect(page.get_by_text("Only")).to_have_count(0)
    expect(title(page)).to_have_text(song)
    only(page, "1993", "1999")  # which go with a start
    ben.until_so(lambda: 3 <= number(title(page).inner_text()) <= 9, "a song of these years")
    artist = page.locator(".player-artist").inner_text()
    with page.expect_request(lambda request: "artist=" in request.url) as found:
        choose(page, "More", f"Start from {artist}")
    assert "year_from=1993&year_to=1999" in found.value.url
    page.get_by_role("button", name=f"Stop starting from {artist}").click()
    expect(page.get_by_text("Only 1993 to 1999", exact=True)).to_be_visible()
    assert set(shown(ben)) <= set(range(1993, 2000))


def test_years_of_no_song_are_told_and_change_nothing(ben: Watched) -> None:
    page = listen(ben)
    song = title(page).inner_text()
    only(page, "1990", "")
    expect(page.get_by_text("Only 1990 and later", exact=True)).to_be_visible()
    only(page, "1800", "1810")
    expect(toast(page)).to_contain_text("There must be songs of the years that are asked for.")
    expect(page.get_by_text("Only 1990 and later", exact=True)).to_be_visible()
    expect(title(page)).to_have_text(song)
    # A range that was remembered and has no songs by now is let go, and the music goes on.
    visit = "JSON.parse(sessionStorage.getItem('bandstand.visit'))"
    years = "{year_from: 1800, year_to: 1810}"
    page.add_init_script(
        f"sessionStorage.setItem('bandstand.visit', JSON.stringify({{...{visit}, years: {years}}}))"
    )
    page.reload()
    expect(toast(page)).to_contain_text("There must be songs of the years that are asked for.")
    expect(next_up(page)).to_be_visible()
    expect(page.get_by_text("Only 1800 to 1810", exact=True)).to_be_hidden()
    ben.complaints[:] = [one for one in ben.complaints if "404" not in one]


def test_the_fields_work_by_keyboard_and_refuse_what_is_no_range(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    more = page.get_by_role("button", name="More", exact=True)
    more.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("o")
    expect(page.get_by_role("menuitem", name=ASK)).to_be_focused()
    page.keyboard.press("Enter")
    group = page.get_by_role("group", name="Only songs of these years")
    first, last = group.get_by_label("From year"), group.get_by_label("To year")
    expect(first).to_be_focused()
    page.keyboard.type("1995")
    page.keyboard.press("Tab")
    expect(last).to_be_focused()
    page.keyboard.type("1991")
    page.keyboard.press("Enter")
    expect(group).to_be_visible()
    message = "field => field.validationMessage"
    assert last.evaluate(message) == "The last year must not be before the first."
    last.fill("123456")
    assert last.evaluate("field => field.validity.rangeOverflow")
    last.fill("1.5")
    assert last.evaluate("field => field.validity.stepMismatch")
    page.keyboard.press("Escape")
    expect(group).to_have_count(0)
    expect(more).to_be_focused()
    assert ben.last_event() == before  # digits are stars elsewhere
    expect(page.get_by_text("Only")).to_have_count(0)


def test_the_reasons_belong_to_the_page_that_they_were_asked_on(ann: Watched) -> None:
    page = listen(ann)
    page.keyboard.press("w")
    dialog = page.get_by_role("dialog", name="Why “")
    expect(dialog).to_be_visible()
    page.evaluate("location.hash = '#/taste'")
    expect(page.get_by_role("heading", level=1, name="Taste")).to_be_visible()
    expect(dialog).to_have_count(0)

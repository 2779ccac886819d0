"""The study in the real page: a whole part, interruptions, breaks, withdrawal."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fixtures.browser.player import PLAYING, listen, title
from tests.fixtures.browser.study_participant import (
    ALGORITHMS,
    CONSENT,
    FAST,
    SLOWLY,
    World,
    agree,
    begin,
    go_to_study,
    heading,
    press,
    rate,
    song,
    study_server,
    toast,
    until_open,
    voice,
)
from tests.fixtures.browser.visit import PHONE, intercept, visit

KEPT: Final = "Object.keys(localStorage).filter((name) => name.includes('study')).length"
# Notes all that is said to those who do not look, from now on.
LISTEN: Final = """() => {
  window.said = [];
  const note = () => said.push(document.querySelector("main [role=status]").textContent);
  new MutationObserver(note).observe(document.querySelector("main [role=status]"),
    { childList: true, characterData: true, subtree: true });
}"""


@pytest.fixture(scope="module")
def world(music: Path, home_with: Callable[[str], Path]) -> Iterator[World]:
    """A study with short waits; a to k have accounts, y and z have theirs for the study only."""
    with study_server(home_with("study"), music, names="abcdefghijk", invited="yz") as found:
        yield found


def stars_of(world: World, name: str) -> list[tuple[int, int | None]]:
    return [(one.number, one.stars) for one in world.ratings(name)]


# ── A part ──────────────────────────────────────────────────────────────────────────────


def test_a_part_is_completed_on_two_devices_and_nothing_is_lost_or_doubled(
    chromium: Browser, world: World
) -> None:
    with visit(chromium, world.server, "a") as tab:
        page = begin(tab)
        assert [name for name in ALGORITHMS if name in page.content()] == []
        rate(page, 5, number=1)
        rate(page, 1, number=2)
        rate(page, 4, number=3)
        expect(heading(page)).to_have_text("Time for a break")
        expect(heading(page)).to_be_focused()
        expect(page.get_by_role("button", name="Go on")).to_be_disabled()
        press(page, "Go on with song 4")  # which is there when the break is over
        expect(song(page)).to_be_visible()
        name = song(page).inner_text()
        page.reload()
        press(page, "Go on with song 4")
        expect(song(page)).to_have_text(name)
        assert tab.complaints == []
    with visit(chromium, world.server, "a", size=PHONE) as phone:
        page = phone.open("study")
        press(page, "Go on with song 4")
        expect(song(page)).to_have_text(name)
        rate(page, 2, number=4)
        rate(page, 3, number=5)
        expect(heading(page)).to_have_text("Part 1 is done. Thank you.")
        expect(page.locator(".study-when")).to_have_text(
            re.compile(r"You can begin part 2 (tomorrow )?at \d\d:\d\d, in (6 hours|5 hours 59 .*)")
        )
        expect(page.locator(".study-now")).to_contain_text("At least 6 hours between two parts")
        expect(page.get_by_role("button", name="Begin part 2")).to_be_disabled()
        assert phone.complaints == []
    assert stars_of(world, "a") == [(1, 5), (2, 1), (3, 4), (4, 2), (5, 3)]
    assert not any(one.known for one in world.ratings("a"))
    assert min(one.played_ms or 0 for one in world.ratings("a")) >= 1_000


def test_who_agrees_has_read_it_and_ticked_a_box(chromium: Browser, world: World) -> None:
    with visit(chromium, world.server, "c") as tab:
        page = tab.open("study")
        for paragraph in CONSENT.split("\n\n"):
            expect(page.get_by_text(paragraph)).to_be_visible()
        expect(page.get_by_text("Listen to each song for at least 1 second")).to_be_visible()
        press(page, "Take part")
        expect(page.get_by_role("alert")).to_contain_text("Tick the box")
        assert tab.ask("/api/study")["study"]["joined"] is False
        agree(tab)
        expect(heading(page)).to_be_focused()
        assert tab.ask("/api/study")["study"]["joined"] is True


# ── Listening ───────────────────────────────────────────────────────────────────────────


def test_only_what_is_heard_counts_not_the_time_that_goes_by(
    chromium: Browser, world: World
) -> None:
    with visit(chromium, world.server, "k") as tab:
        tab.page.context.add_init_script(SLOWLY)
        page = begin(tab)
        tab.until(f"{PLAYING}.currentTime > 0.15")  # longer than a song must be heard
        expect(page.locator(".study-word")).to_contain_text("You can rate it in 1 second.")
        expect(page.locator(".star[aria-disabled=true]")).to_have_count(5)
        page.keyboard.press("5")
        expect(toast(page)).to_contain_text("Not yet: listen for 1 second more")
        page.keyboard.press("4")
        expect(page.locator(".notice")).to_have_count(1)  # said once, however often one tries
        press(page, "Pause")
        expect(page.locator(".study-word")).to_contain_text("Press play. You can rate it after")
        # What was heard is still known after a reload.
        before = page.evaluate(f"{PLAYING}.currentTime")
        page.reload()
        press(page, "Go on with song 1")
        tab.until(f"{PLAYING}.currentTime > {before}")
        page.evaluate(FAST)
        until_open(page)
        expect(voice(page)).to_have_text("You can rate this song now.")
        press(page, "3 stars")
        expect(page.get_by_text("Song 2 of 5")).to_be_visible()
        (first, _) = world.ratings("k")
        assert (first.stars, first.known) == (3, False)
        assert (first.played_ms or 0) >= 1_000


def test_the_end_of_a_break_is_said_once_and_moves_nobody(chromium: Browser, world: World) -> None:
    with visit(chromium, world.server, "e") as tab:
        page = tab.open("history")
        expect(heading(page)).to_have_text("History")
        world.let("e", rated=3)
        go_to_study(page)
        expect(heading(page)).to_have_text("Time for a break")
        page.evaluate(LISTEN)
        page.get_by_role("link", name="Study").focus()
        expect(page.get_by_role("button", name="Go on with song 4")).to_be_enabled()
        expect(voice(page)).to_have_text("The break is over. You can go on.")
        expect(page.get_by_role("link", name="Study")).to_be_focused()
        assert page.title() == "Ready · Bandstand"
        said = [words for words in page.evaluate("said") if words]
        assert said == ["The break is over. You can go on."]


def test_the_next_part_can_begin_when_its_time_has_come(chromium: Browser, world: World) -> None:
    with visit(chromium, world.server, "j") as tab:
        page = tab.open("history")
        expect(heading(page)).to_have_text("History")
        world.let("j", done=[6 - 5 / 3_600])
        go_to_study(page)
        expect(heading(page)).to_have_text("Part 1 is done. Thank you.")
        expect(voice(page)).to_have_text("The next part can begin now.")
        press(page, "Begin part 2")
        expect(song(page)).to_be_visible()
        expect(page.get_by_text("Part 2 of 3")).to_be_visible()
        assert [one.number for one in world.ratings("j", place=2)] == [1]


# ── Without a network ───────────────────────────────────────────────────────────────────


def test_a_rating_without_a_network_is_kept_and_counts_once(
    chromium: Browser, world: World
) -> None:
    with visit(chromium, world.server, "f") as tab:
        page = begin(tab)
        until_open(page)
        tab.go_offline()
        page.keyboard.press("4")
        expect(page.get_by_text("Not delivered yet. Your rating is kept")).to_be_visible()
        assert stars_of(world, "f") == [(1, None)]
        state = page.context.storage_state()
    with visit(chromium, world.server, "f", storage_state=state) as later:
        page = later.open("study")
        expect(page.get_by_role("button", name="Go on with song 2")).to_be_visible()
        assert stars_of(world, "f") == [(1, 4)]
        assert page.evaluate(KEPT) == 1  # what was heard of the song before
        assert later.complaints == []


def test_a_rating_is_sent_until_it_arrives(chromium: Browser, world: World) -> None:
    with visit(chromium, world.server, "g") as tab:
        page = begin(tab)
        until_open(page)
        # The first answer is lost on its way: the server has the rating, the page does not know.
        lost = []

        def lose(route: object) -> None:
            lost.append(route.fetch().status)  # type: ignore[attr-defined]
            route.abort()  # type: ignore[attr-defined]

        intercept(page, "**/ratings", lose, times=1)
        page.keyboard.press("3")
        expect(page.get_by_text("Song 2 of 5")).to_be_visible()
        assert lost == [200]
        assert stars_of(world, "g") == [(1, 3), (2, None)]


# ── The radio meanwhile ─────────────────────────────────────────────────────────────────


def test_the_radio_is_silent_and_goes_on_where_it_was(chromium: Browser, world: World) -> None:
    with visit(chromium, world.server, "h") as tab:
        page = listen(tab)
        name = title(page).inner_text()
        page.get_by_role("link", name="Study").click()
        expect(page.get_by_role("button", name="Take part")).to_be_visible()
        assert page.evaluate("[...document.querySelectorAll('audio')].every((one) => one.paused)")
        expect(page.locator("#bar")).to_be_hidden()
        page.keyboard.press("n")
        page.keyboard.press("5")
        begin(tab)
        tab.until_playing()
        assert page.evaluate(
            "[...document.querySelectorAll('audio')].filter((one) => !one.paused).length === 1"
        )
        page.get_by_role("link", name="Radio").click()
        expect(title(page)).to_have_text(name)
        assert page.evaluate("[...document.querySelectorAll('audio')].every((one) => one.paused)")
        assert tab.last_event() == {}  # the log has heard nothing of all this
        assert tab.complaints == []


# ── Only for the study, and leaving it ──────────────────────────────────────────────────


def test_who_is_here_for_the_study_sees_nothing_else(chromium: Browser, world: World) -> None:
    with visit(chromium, world.server, "y", size=PHONE) as tab:
        asked: list[str] = []
        tab.page.on("request", lambda request: asked.append(request.url))
        page = tab.open("library")
        expect(page.get_by_role("button", name="Take part")).to_be_visible()
        ways = page.get_by_role("navigation", name="Pages").get_by_role("link")
        expect(ways).to_have_text(["Study", "Account"])
        expect(ways.first).to_have_attribute("aria-current", "page")
        ways.last.click()
        expect(heading(page)).to_have_text("Account")
        expect(page.get_by_role("button", name="Change password")).to_be_visible()
        assert not [one for one in asked if "/api/next" in one]
        press(page, "Log out")
        expect(heading(page)).to_have_text("Welcome back")
        assert tab.complaints == []


def withdraw(page: Page) -> None:
    page.get_by_text("About this study").click()
    press(page, "Withdraw from the study")
    dialog = page.get_by_role("dialog", name="Withdraw from the study?")
    dialog.get_by_label("Type “withdraw”").fill("perhaps")
    dialog.get_by_role("button", name="Withdraw").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Type the word “withdraw”")
    dialog.get_by_label("Type “withdraw”").fill("withdraw")
    dialog.get_by_role("button", name="Withdraw").click()


def test_who_withdraws_leaves_nothing_and_keeps_their_radio(
    chromium: Browser, world: World
) -> None:
    with visit(chromium, world.server, "i") as tab:
        page = begin(tab)
        rate(page, 4, number=1)
        expect(page.get_by_text("Song 2 of 5")).to_be_visible()
        press(page, "Stop for now")
        withdraw(page)
        expect(toast(page)).to_contain_text("You have withdrawn.")
        expect(page.get_by_role("button", name="Take part")).to_be_visible()
        expect(heading(page)).to_be_focused()
        assert tab.ask("/api/study")["study"]["arms"] == []
        assert page.evaluate(KEPT) == 0
        assert tab.complaints == []


def test_an_account_made_for_the_study_goes_with_it(chromium: Browser, world: World) -> None:
    with visit(chromium, world.server, "z") as tab:
        page = agree(tab)
        withdraw(page)
        expect(heading(page)).to_have_text("Welcome back")
        assert page.evaluate(KEPT) == 0
    assert world.server.client("z").get("/api/session").status_code == 401

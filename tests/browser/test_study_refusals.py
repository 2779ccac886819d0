"""What the page says when the server says no, and every state of the study as it is found.

The page never asks for what is not allowed; here it is made to believe that it is.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.test_accessibility import MOVING, STICKING_OUT, STRUCTURE, WIDTHS, audit
from tests.fixtures.browser.keyboard import name_held, use, walk
from tests.fixtures.browser.payloads import PAYLOADS
from tests.fixtures.browser.player import PLAYING
from tests.fixtures.browser.script_trap import odd_elements
from tests.fixtures.browser.study_participant import (
    FAST,
    SLOWLY,
    World,
    agree,
    begin,
    heading,
    press,
    song,
    study_server,
    toast,
    until_open,
)
from tests.fixtures.browser.visit import DESK, PHONE, Watched, visit

# Whoever is at each state, and what is shown there: with six hours between two parts, and two
# parts a day.
STATES: Final = {
    "a": "Songs on Sunday",
    "b": "Part 1 of 3",
    "c": "Part 1 of 3",
    "d": "Time for a break",
    "e": "Part 1 is done. Thank you.",
    "f": "Part 2 is done. Thank you.",
    "g": "All done. Thank you.",
}
ALIKE: Final = ("b", "f", "g")  # these look like others
EVERYBODY: Final = "How far everybody is"
CLOSED: Final = "No study is open at the moment"


@pytest.fixture(scope="module")
def world(music: Path, home_with: Callable[[str], Path]) -> Iterator[World]:
    """A study in which somebody is at each state."""
    rules: dict[str, Any] = {"rest_seconds": 600.0, "listen_seconds": 2.0}
    with study_server(home_with("states"), music, names="abcdefghij", **rules) as found:
        found.let("b")
        found.let("c", rated=2)
        found.let("d", rated=3)
        found.let("e", done=[2])
        found.let("f", done=[12, 7])
        found.let("g", done=[80, 60, 40])
        yield found


def pretend(tab: Watched, **changes: Any) -> None:
    """Let the next answers about where one stands say something else: as drawn, and as pressed."""

    def change(route: Route) -> None:
        answer = route.fetch()
        study = {**answer.json()["study"], **changes}
        route.fulfill(response=answer, json={"study": study})

    tab.page.route("**/api/study", change, times=2)


# ── Refusals ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "changes", "button", "words"),
    [
        ("e", {"state": "begin"}, "Begin part 2", "The next part cannot begin yet."),
        ("f", {"state": "begin"}, "Begin part 3", "The next part cannot begin yet."),
        ("c", {"state": "begin", "place": 2}, "Begin part 2", "Another part is under way"),
        ("d", {"state": "listen"}, "Go on with song 4", "It is time for a break first."),
        ("g", {"state": "listen", "place": 1}, "Go on with song", "This part is done already."),
    ],
    ids=["two hours after the last", "third in a day", "unfinished", "no rest", "finished"],
)
def test_what_is_not_allowed_is_refused_in_words_and_one_stands_where_one_stood(
    chromium: Browser, world: World, name: str, changes: dict[str, Any], button: str, words: str
) -> None:
    with visit(chromium, world.server, name) as tab:
        pretend(tab, **changes)
        page = tab.open("study")
        press(page, button)
        expect(toast(page)).to_contain_text(words)
        expect(heading(page)).to_have_text(STATES[name])
        expect(heading(page)).to_be_focused()


def test_another_persons_part_is_refused(chromium: Browser, world: World) -> None:
    theirs = world.server.client("b").get("/api/study").json()["study"]["arms"]
    with visit(chromium, world.server, "c") as tab:
        pretend(tab, state="begin", place=1, arms=theirs)
        page = tab.open("study")
        press(page, "Begin part 1")
        expect(toast(page)).to_contain_text("This part is not one of yours.")
        expect(page.get_by_role("button", name="Go on with song 3")).to_be_visible()


def test_an_early_rating_is_refused_with_the_time_and_can_be_given_later(
    chromium: Browser, world: World
) -> None:
    with visit(chromium, world.server, "h") as tab:
        # The page believes that nothing must be heard.
        def hurry(route: Route) -> None:
            answer = route.fetch()
            study = answer.json()["study"]
            study["rules"]["listen_seconds"] = 0
            route.fulfill(response=answer, json={"study": study})

        def at_once(route: Route) -> None:
            answer = route.fetch()
            route.fulfill(response=answer, json={**answer.json(), "may_rate_in": 0})

        tab.page.context.add_init_script(SLOWLY)
        tab.page.route("**/begin", hurry)
        tab.page.route("**/next", at_once)
        page = begin(tab)
        until_open(page)
        page.keyboard.press("4")
        expect(toast(page)).to_contain_text("Not yet: it can be rated in")
        assert [one.stars for one in world.ratings("h")] == [None]
        page.evaluate(FAST)  # it plays on by itself
        tab.until(f"{PLAYING}.currentTime > 2.5")
        until_open(page)
        page.keyboard.press("4")
        expect(page.get_by_text("Song 2 of 5")).to_be_visible()
        assert [one.stars for one in world.ratings("h")] == [4, None]


def test_a_song_that_was_rated_elsewhere_is_not_rated_again(
    chromium: Browser, world: World
) -> None:
    with visit(chromium, world.server, "i") as tab:
        page = begin(tab)
        until_open(page)
        other = world.server.client("i")
        arm = other.get("/api/study").json()["study"]["arms"][0]["id"]
        body = {"number": 1, "stars": 1, "known": True}
        assert other.post(f"/api/study/arms/{arm}/ratings", json=body).status_code == 200
        page.keyboard.press("5")
        expect(toast(page)).to_contain_text("This song has its rating already")
        expect(page.get_by_role("button", name="Go on with song 2")).to_be_visible()
        assert [one.stars for one in world.ratings("i")] == [1]


def test_a_song_that_cannot_be_played_is_told_and_tried_again(
    chromium: Browser, world: World
) -> None:
    with visit(chromium, world.server, "c") as tab:
        tab.page.route("**/audio", lambda route: route.fulfill(status=404))
        page = tab.open("study")
        press(page, "Go on with song 3")
        expect(page.get_by_text("This song cannot be played here at the moment.")).to_be_visible()
        tab.page.unroute("**/audio")
        press(page, "Play")
        tab.until_playing()
        until_open(page)


@pytest.mark.parametrize("name", ["a", "b"])
def test_what_a_study_is_called_never_becomes_markup(
    chromium: Browser, world: World, name: str
) -> None:
    payload = PAYLOADS[0]
    with visit(chromium, world.server, name) as tab:
        pretend(tab, title=payload, consent=f"{payload}\n\n{payload}")
        page = tab.open("study")
        expect(page.locator(".study-sheet")).to_contain_text(payload)
        expect(page.locator("main p").filter(has_text=payload)).to_have_count(2 + (name == "b"))
        assert odd_elements(page) == []
        assert tab.complaints == []


# ── Every state ─────────────────────────────────────────────────────────────────────────


def at(tab: Watched, text: str) -> Page:
    page = tab.open("study")
    expect(heading(page)).to_have_text(text)
    return page


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(name, text, id=name, marks=[pytest.mark.long] if name in ALIKE else [])
        for name, text in STATES.items()
    ],
)
def test_every_state_is_accessible_fits_and_is_reached_by_keyboard(
    chromium: Browser, world: World, name: str, text: str
) -> None:
    # The audit brings styles of its own, which the page's policy would refuse.
    options: dict[str, Any] = {"bypass_csp": True, "reduced_motion": "reduce"}
    with visit(chromium, world.server, name, **options) as tab:
        page = at(tab, text)
        for summary in page.locator("main summary").all():
            summary.click()
        check_all(page)


def test_a_song_is_accessible_and_fits(chromium: Browser, world: World) -> None:
    options: dict[str, Any] = {"bypass_csp": True, "reduced_motion": "reduce"}
    with visit(chromium, world.server, "c", **options) as tab:
        page = tab.open("study")
        press(page, "Go on with song 3")
        expect(song(page)).to_be_focused()
        assert audit(page) == []  # before it may be rated
        until_open(page)
        check_all(page)


def check_all(page: Page) -> None:
    """Audit the page; headings in order, one live region, nothing that sticks out or moves."""
    for size, theme in ((DESK, "light"), (PHONE, "dark")):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        assert audit(page) == []
    found = page.evaluate(STRUCTURE)
    assert (found["mains"], found["ones"]) == (1, 1)
    assert found["live"] == ["notices polite"]
    levels = found["levels"]
    assert all(below <= above + 1 for above, below in pairwise(levels)), levels
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert (width, page.evaluate(STICKING_OUT)) == (width, [])
    page.set_viewport_size(DESK)  # type: ignore[arg-type]
    assert page.evaluate(MOVING) == []
    assert walk(page) == ([], [])


def test_a_song_is_rated_without_a_mouse_from_the_first_word_on(
    chromium: Browser, world: World
) -> None:
    with visit(chromium, world.server, "j") as tab:
        page = at(tab, STATES["a"])
        use(page, "I have read this and want to take part.", "Space")
        use(page, "Take part")
        expect(heading(page)).to_have_text("Part 1 of 3")
        assert name_held(page) == "Part 1 of 3"
        use(page, "Begin part 1")
        expect(song(page)).to_be_focused()
        page.keyboard.press("i")
        page.keyboard.press("4")
        expect(page.get_by_text("Song 2 of 5")).to_be_visible()
        expect(song(page)).to_be_focused()
        use(page, "Pause", "Space")
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_focused()
        use(page, "I know this song", "Enter")
        use(page, "2 stars", "Enter")  # found from the beginning again
        expect(page.get_by_text("Song 3 of 5")).to_be_visible()
        use(page, "Stop for now")
        expect(heading(page)).to_be_focused()
        assert [one.stars for one in world.ratings("j")] == [4, 2, None]
        assert tab.complaints == []


# ── The end: what its administrator sees, and what is left to its people ────────────────


@pytest.fixture(scope="module")
def ending(music: Path, home_with: Callable[[str], Path]) -> Iterator[World]:
    """A study that is closed on the way; y and z have accounts for it only, and m runs it."""
    with study_server(
        home_with("study-end"), music, names="abc", invited="yz", admins="m"
    ) as found:
        yield found


def test_whoever_runs_a_study_sees_how_far_everybody_is(chromium: Browser, ending: World) -> None:
    ending.let("a", done=[30], rated=2)  # P3: the first numbers are of those who were invited
    with visit(chromium, ending.server, "m") as tab:
        page = tab.open("study")
        table = page.get_by_role("table")
        expect(page.get_by_role("heading", name=EVERYBODY)).to_be_visible()
        expect(table).to_have_count(0)  # nobody is asked about before somebody wants to know
        page.get_by_text(EVERYBODY).click()
        expect(table.get_by_role("rowheader")).to_have_text(["P1", "P2", "P3"])
        expect(table.get_by_role("row").nth(1).get_by_role("cell")).to_have_text(
            ["invited", "", ""]
        )
        cells = table.get_by_role("row").nth(3).get_by_role("cell")
        expect(cells.nth(0)).to_have_text("1 of 3")
        expect(cells.nth(1)).to_have_text("7 of 15")
        assert tab.complaints == []
    with visit(chromium, ending.server, "b") as tab:
        page = tab.open("study")
        expect(page.get_by_role("button", name="Take part")).to_be_visible()
        expect(page.get_by_text(EVERYBODY)).to_have_count(0)


def withdraw(page: Page) -> None:
    press(page, "Withdraw from the study")
    dialog = page.get_by_role("dialog", name="Withdraw from the study?")
    dialog.get_by_role("button", name="Withdraw").click()
    expect(dialog.get_by_role("alert")).to_have_text("Type the word “withdraw” first.")
    dialog.get_by_label("Type “withdraw”").fill("withdraw")
    dialog.get_by_role("button", name="Withdraw").click()


def test_a_study_that_is_closed_says_so_and_lets_people_go(
    chromium: Browser, ending: World
) -> None:
    with visit(chromium, ending.server, "c") as tab, visit(chromium, ending.server, "y") as other:
        page = begin(tab)
        until_open(page)
        agree(other)
        ending.close()
        page.keyboard.press("5")
        expect(toast(page)).to_contain_text("The study is closed now.")
        expect(heading(page)).to_have_text(CLOSED)
        expect(heading(page)).to_be_focused()
        withdraw(page)
        expect(toast(page)).to_contain_text("You have withdrawn.")
        page.reload()
        expect(page.get_by_role("link", name="Settings")).to_be_visible()
        expect(page.get_by_role("link", name="Study")).to_have_count(0)
        page = other.open("library")  # of an account that was made for the study
        expect(heading(page)).to_have_text(CLOSED)
        ways = page.get_by_role("navigation", name="Pages").get_by_role("link")
        expect(ways).to_have_text(["Study", "Account"])
        withdraw(page)
        expect(heading(page)).to_have_text("Welcome back")
    assert ending.server.client("y").get("/api/session").status_code == 401
    for name, is_invited in (("z", True), ("b", False)):  # they never agreed
        with visit(chromium, ending.server, name) as tab:
            page = tab.open("study")
            expect(heading(page)).to_have_text(CLOSED)
            missed = page.get_by_text("You did not take part in it.")
            expect(missed).to_have_count(int(is_invited))
            page.wait_for_load_state("networkidle")
            expect(page.get_by_text("Thank you")).to_have_count(0)
            expect(page.get_by_role("button", name="Withdraw")).to_have_count(0)
            assert tab.complaints == []

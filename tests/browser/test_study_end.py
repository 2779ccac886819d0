"""What whoever runs a study sees of it, and what is left to its people once it is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.fixtures.browser.study_participant import agree, heading, press, study_server
from tests.fixtures.browser.visit import visit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.fixtures.browser.study_participant import World

EVERYBODY = "How far everybody is"


@pytest.fixture
def world(music: Path, home_with: Callable[[str], Path]) -> Iterator[World]:
    """A study of its own for each test; y has an account for it only, and m runs it."""
    with study_server(home_with("study-end"), music, names="ab", invited="y", admins="m") as found:
        yield found


def test_whoever_runs_a_study_sees_how_far_everybody_is(chromium: Browser, world: World) -> None:
    world.let("a", done=[30], rated=2)  # P2: the first number is of whoever was invited
    with visit(chromium, world.server, "m") as tab:
        page = tab.open("study")
        table = page.get_by_role("table")
        expect(page.get_by_role("heading", name=EVERYBODY)).to_be_visible()
        expect(table).to_have_count(0)  # nobody is asked about before somebody wants to know
        page.get_by_text(EVERYBODY).click()
        expect(table.get_by_role("row")).to_have_count(3)
        expect(table.get_by_role("rowheader")).to_have_text(["P1", "P2"])
        expect(table.get_by_role("row").nth(1).get_by_role("cell")).to_have_text(
            ["invited", "", ""]
        )
        cells = table.get_by_role("row").nth(2).get_by_role("cell")
        expect(cells.nth(0)).to_have_text("1 of 3")
        expect(cells.nth(1)).to_have_text("7 of 15")
        assert tab.complaints == []
    with visit(chromium, world.server, "b") as tab:
        page = tab.open("study")
        expect(page.get_by_role("button", name="Take part")).to_be_visible()
        expect(page.get_by_text(EVERYBODY)).to_have_count(0)


def test_whoever_came_for_a_study_that_is_closed_can_still_withdraw(
    chromium: Browser, world: World
) -> None:
    with visit(chromium, world.server, "y") as tab:
        agree(tab)
        world.close()
        page = tab.open("library")
        expect(heading(page)).to_have_text("No study is open at the moment")
        ways = page.get_by_role("navigation", name="Pages").get_by_role("link")
        expect(ways).to_have_text(["Study", "Account"])
        press(page, "Withdraw from the study")
        dialog = page.get_by_role("dialog", name="Withdraw from the study?")
        dialog.get_by_role("button", name="Withdraw").click()
        expect(dialog.get_by_role("alert")).to_have_text("Type the word “withdraw” first.")
        dialog.get_by_label("Type “withdraw”").fill("withdraw")
        dialog.get_by_role("button", name="Withdraw").click()
        expect(heading(page)).to_have_text("Welcome back")
    assert world.server.client("y").get("/api/session").status_code == 401


@pytest.mark.parametrize(("name", "is_invited"), [("y", True), ("a", False)])
def test_whoever_never_agreed_is_neither_thanked_nor_asked_to_withdraw(
    chromium: Browser, world: World, name: str, *, is_invited: bool
) -> None:
    world.close()
    with visit(chromium, world.server, name) as tab:
        page = tab.open("study")
        expect(heading(page)).to_have_text("No study is open at the moment")
        missed = page.get_by_text("You did not take part in it.")
        expect(missed).to_have_count(int(is_invited))
        page.wait_for_load_state("networkidle")
        expect(page.get_by_text("Thank you")).to_have_count(0)
        expect(page.get_by_role("button", name="Withdraw")).to_have_count(0)
        assert tab.complaints == []

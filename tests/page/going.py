"""Going about in the radio: from page to page, through the door, to a star."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.serving import PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def hush(page: Page) -> None:
    """Stay with the song that plays."""
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="Play", exact=True).first).to_be_visible()


def way(page: Page, name: str) -> None:
    """Follow one of the ways to the pages."""
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def star(page: Page, count: int) -> Locator:
    """Return a star of the song that the page is about."""
    return page.locator("main").get_by_role("button", name=re.compile(rf"^{count} stars?$"))


def pressed(locator: Locator, *, is_so: bool = True) -> None:
    """Wait until a button is pressed, or is not."""
    expect(locator).to_have_attribute("aria-pressed", str(is_so).lower())


def enter(page: Page, name: str, password: str = PASSWORD) -> None:
    """Log in by the form."""
    expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()

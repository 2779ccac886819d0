"""Who may listen: what administrators do on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.fixtures.browser.visit import Watched

PASSWORD = "a tuba in the attic"


def users(ann: Watched) -> dict[str, Any]:
    return {user["name"]: user for user in ann.ask("/api/admin/users")["users"]}


def row(page: Page, name: str) -> Locator:
    return page.locator("main li").filter(has=page.get_by_text(name, exact=True))


def add(page: Page, name: str) -> Locator:
    """Fill the form for a new person and send it; return its dialog."""
    page.get_by_role("button", name="Add a person").click()
    dialog = page.get_by_role("dialog", name="Add a person")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Add", exact=True).click()
    return dialog


def test_a_person_is_added_changed_and_removed(ann: Watched) -> None:
    page = ann.open("people")
    add(page, "Zoë")
    expect(row(page, "Zoë")).to_be_visible()
    assert users(ann)["Zoë"]["role"] == "listener"

    page.get_by_role("button", name="Change Zoë").click()
    dialog = page.get_by_role("dialog", name="Change Zoë")
    dialog.get_by_label("Name").fill("Zora")
    dialog.get_by_label("Role").select_option("Administrator")
    dialog.get_by_label("New password").fill("another tuba in the attic")
    dialog.get_by_role("button", name="Save").click()
    expect(row(page, "Zora")).to_contain_text("Administrator")
    assert users(ann)["Zora"]["role"] == "admin"

    page.get_by_role("button", name="Change Zora").click()
    page.get_by_role("dialog").get_by_role("switch", name="May log in").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(row(page, "Zora")).to_contain_text("Disabled")
    assert users(ann)["Zora"]["disabled"] is True

    page.get_by_role("button", name="Remove Zora").click()
    dialog = page.get_by_role("dialog", name="Remove Zora?")
    dialog.get_by_role("textbox").fill("somebody else")
    dialog.get_by_role("button", name="Remove for good").click()
    expect(dialog.get_by_role("alert")).to_have_text("That is not the name.")
    dialog.get_by_role("textbox").fill("Zora")
    dialog.get_by_role("button", name="Remove for good").click()
    expect(row(page, "Zora")).to_have_count(0)
    assert "Zora" not in users(ann)


def test_a_name_that_is_taken_is_refused_in_words(ann: Watched) -> None:
    dialog = add(ann.open("people"), "BEN")
    expect(dialog.get_by_role("alert")).to_have_text("Another account has this name already.")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert len(ann.complaints) == 1  # a browser notes every refusal
    assert "409" in ann.complaints.pop()


def test_admins_cannot_remove_themselves_here(ann: Watched) -> None:
    page = ann.open("people")
    expect(row(page, "ann")).to_contain_text("You")
    expect(page.get_by_role("button", name="Remove ann")).to_have_count(0)


def test_others_are_told_that_this_is_not_for_them(ben: Watched) -> None:
    page = ben.open("people")
    expect(page.get_by_text("This page is for administrators.")).to_be_visible()
    expect(page.get_by_role("button", name="Add a person")).to_have_count(0)

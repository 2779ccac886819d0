"""Logging in, and the first start."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.fixtures.browser.visit import Watched, intercept, visit
from tests.fixtures.music.audio_files import make
from tests.fixtures.web.servers import PASSWORD, Server, serving

CREATE = "Create the account and start"
NEW_PASSWORD = "a brass band on Sunday"


@pytest.fixture
def stranger(chromium: Browser, server: Server) -> Iterator[Watched]:
    """A tab in which nobody is logged in."""
    with visit(chromium, server, None) as watched:
        watched.open()
        yield watched


def log_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def refusals(watched: Watched, *codes: str) -> bool:
    """Return whether nothing is complained about but refused logins, which a browser notes."""
    return all(any(code in said for code in codes) for said in watched.complaints)


def test_who_logs_in_hears_music_and_who_logs_out_is_a_stranger(stranger: Watched) -> None:
    page = stranger.page
    expect(page.get_by_label("Name")).to_be_focused()
    log_in(page, "ben", PASSWORD)
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    stranger.until_playing()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
    assert page.request.get(f"{stranger.address}/api/next").status == 401
    assert stranger.complaints == []


def test_who_logs_out_asks_no_more(stranger: Watched) -> None:
    """A question under way would be answered as one of nobody, which the browser notes."""
    page = stranger.page
    asked: list[Route] = []
    left: list[Route] = []
    ended: list[str] = []
    intercept(page, "**/api/playlist?*", lambda route: asked.append(route))  # noqa: PLW0108  # marked
    page.on("requestfailed", lambda request: ended.append(request.url))
    log_in(page, "ben", PASSWORD)
    stranger.until_so(lambda: len(asked) > 0, "ask for what comes")
    page.route("**/api/session", lambda route: left.append(route))  # noqa: PLW0108
    page.get_by_role("button", name="Log out").click()
    stranger.until_so(lambda: len(left) == 1, "say that somebody leaves")
    stranger.until_so(lambda: asked[-1].request.url in ended, "give the question up")
    left[0].continue_()
    expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
    assert stranger.complaints == []


def test_a_wrong_password_is_said_beside_the_form(stranger: Watched) -> None:
    page = stranger.page
    log_in(page, "ben", "")
    expect(page.get_by_role("alert")).to_have_text("Enter your password.")
    expect(page.get_by_label("Password")).to_be_focused()
    assert stranger.complaints == []
    log_in(page, "ben", "not this one")
    expect(page.get_by_role("alert")).to_have_text("Wrong name or password.")
    assert refusals(stranger, "401")


def test_who_tries_too_often_is_told_for_how_long_to_wait(
    stranger: Watched, server: Server
) -> None:
    client = server.client()
    for _ in range(7):
        client.post("/api/session", json={"name": "nobody", "password": "guess"})
    page = stranger.page
    page.clock.install()
    log_in(page, "nobody", "guess")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Too many attempts; try again in ")
    expect(page.get_by_role("button", name="Log in")).to_be_disabled()
    page.clock.fast_forward("10:00")
    expect(alert).to_have_text("You can try again now.")
    expect(page.get_by_role("button", name="Log in")).to_be_enabled()
    assert refusals(stranger, "429")


def test_the_first_start_makes_an_account_and_music_plays(
    chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "music").mkdir()
    for number in range(3):
        make(tmp_path / f"music/{number}.flac", seconds=6 + number)
    with (
        serving(tmp_path, folders=[tmp_path / "music"], names={}) as server,
        visit(chromium, server, None) as watched,
    ):
        page = watched.open()
        expect(page.get_by_role("heading", level=1)).to_have_text("Welcome to Bandstand")
        token = page.get_by_label("Token")
        expect(token).to_be_focused()
        page.get_by_label("Name").fill("Ann")
        refused_in_words(page, str(server.setup_token))
        assert refusals(watched, "401", "422")
        watched.complaints.clear()
        page.get_by_label("Password").fill(NEW_PASSWORD)
        expect(page.get_by_text("Done: At least 10 characters")).to_be_attached()
        page.get_by_role("button", name=CREATE).click()
        expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
        watched.until_playing()
        assert watched.ask("/api/session")["role"] == "admin"
        assert watched.complaints == []
        watched.until_so(lambda: watched.ask("/api/library")["songs"] == 3, "a read library")


def refused_in_words(page: Page, token: str) -> None:
    """Try a short password, a wrong token and a common password; end with the right token."""
    create, alert = page.get_by_role("button", name=CREATE), page.get_by_role("alert")
    page.get_by_label("Token").fill("wrong")
    page.get_by_label("Password").fill("brass")
    expect(page.get_by_text("At least 10 characters: 5 more")).to_be_visible()
    create.click()
    expect(alert).to_contain_text("at least 10 characters")
    page.get_by_label("Password").fill("Passw0rd2024!")
    create.click()
    expect(alert).to_contain_text("not the token")
    page.get_by_label("Token").fill(token)
    create.click()
    expect(alert).to_contain_text("one of the first that an attacker would")

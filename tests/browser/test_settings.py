"""How the radio is wanted; bans; password, devices, leaving."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.fixtures.browser.visit import Watched, intercept, visit
from tests.fixtures.music.audio_files import make
from tests.fixtures.web.servers import PASSWORD, Server, serving

NEW_PASSWORD = "a tuba in the attic"


def settled(page: Page, words: str) -> None:
    expect(page.get_by_role("status")).to_contain_text(words)


def test_the_dial_is_saved_and_says_what_it_does(ben: Watched) -> None:
    page = ben.open("settings")
    dial = page.get_by_role("slider", name="From familiar to discover")
    expect(page.locator("#dial-words")).to_contain_text("In balance")
    dial.fill("1")
    expect(page.locator("#dial-words")).to_contain_text("not heard here yet")
    settled(page, "Saved.")
    assert ben.ask("/api/settings")["dial"] == 1
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        dial.fill("0")
    page.reload()
    expect(dial).to_have_value("0")


def test_private_mode_is_switched_and_put_back_if_that_fails(ben: Watched) -> None:
    page = ben.open("settings")
    private = page.get_by_role("switch", name="Private mode")
    private.click()
    settled(page, "Private mode is on.")
    assert ben.ask("/api/settings")["private"] is True
    private.click()
    settled(page, "Private mode is off.")
    intercept(page, "**/api/settings", lambda route: route.abort())
    private.click()
    settled(page, "The server cannot be reached.")
    expect(private).not_to_be_checked()
    page.unroute("**/api/settings")
    assert ben.ask("/api/settings")["private"] is False
    ben.complaints = [said for said in ben.complaints if "ERR_FAILED" not in said]


def test_a_history_is_imported_shown_and_taken_back(ben: Watched) -> None:
    [song, *_] = ben.ask("/api/songs")["songs"]
    table = f'time,artist,track\n1,"{song["artist"]}","{song["title"]}"\n2,<b>x</b>,y\n'
    page = ben.open("settings")
    part = page.get_by_role("region", name="What you heard elsewhere")
    part.get_by_label("File").set_input_files(
        {"name": "plays.csv", "mimeType": "text/csv", "buffer": table.encode()}
    )
    part.get_by_role("button", name="Import").click()
    settled(page, "1 of 2 entries found, of 1 song.")
    part.get_by_text("What was found").click()
    expect(part).to_contain_text("by artists who are not in the library, such as <b>x</b> – y")
    assert [one["report"]["songs"] for one in ben.ask("/api/history/imports")["imports"]] == [1]
    part.get_by_role("button", name="Take back").click()
    settled(page, "The import is taken back.")
    expect(part.get_by_role("listitem")).to_have_count(0)
    assert ben.ask("/api/history/imports")["imports"] == []
    page = ben.open("history")
    expect(page.get_by_text("Undone: Imported: what you heard elsewhere")).to_be_visible()


def test_an_algorithm_is_chosen_by_its_description(ben: Watched) -> None:
    page = ben.open("settings")
    page.get_by_text("How songs are chosen").click()
    options = page.get_by_role("radio")
    expect(options).to_have_count(len(ben.ask("/api/settings")["algorithms"]))
    page.get_by_role("radio", name="Thompson sampling").click()
    settled(page, "Saved.")
    expect(page.locator("#dial-words")).to_contain_text("has no dial")
    assert ben.ask("/api/settings")["algorithm"] == "thompson-cn-x"
    page.get_by_role("radio", name="Bayes-UCB, sound only").click()
    expect(page.locator("#dial-words")).to_contain_text("In balance")
    intercept = page.get_by_role("switch", name="Learn how generous you are with stars")
    intercept.click()
    expect(intercept).not_to_be_checked()
    intercept.click()
    expect(intercept).to_be_checked()


def test_what_a_browser_remembers_is_there_after_a_reload(ben: Watched) -> None:
    page = ben.open("settings")
    advance = page.get_by_role("group", name="After a rating go on to the next song")
    loudness = page.get_by_role("group", name="Even out the loudness")
    advance.get_by_role("button", name="Always").click()
    loudness.get_by_role("button", name="Off").click()
    settled(page, "Saved in this browser.")
    page.reload()
    expect(advance.get_by_role("button", name="Always")).to_have_attribute("aria-pressed", "true")
    expect(loudness.get_by_role("button", name="Off")).to_have_attribute("aria-pressed", "true")


def test_what_is_kept_away_is_named_and_allowed_again(ben: Watched, server: Server) -> None:
    client = server.client("ben")
    song = client.get("/api/songs?limit=1").json()["songs"][0]
    ban = {"key": "ban", "kind": "ban", "scope": "song", "target": song["id"]}
    snooze = {"key": "sn", "kind": "snooze", "scope": "genre", "target": "Polka", "days": 30}
    for event in (ban, snooze):
        assert client.post("/api/events", json=event).status_code == 201
    page = ben.open("settings")
    name = f"{song['title']} – {song['artist']}"
    expect(page.locator("li").filter(has_text=name)).to_contain_text("never again")
    expect(page.locator("li").filter(has_text="Polka")).to_contain_text("Genre, not until")
    page.get_by_role("button", name="Allow again: Polka").click()
    settled(page, "Polka may be played again.")
    page.get_by_role("button", name=f"Allow again: {name}").click()
    expect(page.get_by_text("Nothing is banned or snoozed.")).to_be_visible()
    assert ben.ask("/api/settings/rules")["rules"] == []


def test_a_password_is_changed_and_other_devices_are_out(chromium: Browser, server: Server) -> None:
    other = server.client()
    login = {"name": "cat", "password": PASSWORD}
    assert other.post("/api/session", json=login).status_code == 200
    with visit(chromium, server, "cat") as cat:
        page = cat.open("settings")
        expect(page.get_by_role("button", name="Log out everywhere else")).to_be_visible()
        page.get_by_role("button", name="Change password").click()
        dialog = page.get_by_role("dialog", name="Change password")
        dialog.get_by_label("Old password").fill("not this one")
        dialog.get_by_label("New password").fill(NEW_PASSWORD)
        dialog.get_by_role("button", name="Change password").click()
        expect(dialog.get_by_role("alert")).to_have_text("This is not your password.")
        dialog.get_by_label("Old password").fill(PASSWORD)
        dialog.get_by_role("button", name="Change password").click()
        settled(page, "The password is changed.")
        expect(dialog).to_have_count(0)
        assert cat.ask("/api/session")["name"] == "cat"
    assert other.get("/api/session").status_code == 401
    assert other.post("/api/session", json={**login, "password": NEW_PASSWORD}).is_success


def test_an_app_gets_a_password_that_is_shown_once_and_revoked(
    ben: Watched, server: Server
) -> None:
    page = ben.open("settings")
    page.get_by_role("button", name="Add an app").click()
    dialog = page.get_by_role("dialog", name="Add an app")
    dialog.get_by_label("Name of the app or device").fill("My phone")
    dialog.get_by_label("What it may do").select_option("play")
    dialog.get_by_label("Your password").fill("not this one")
    dialog.get_by_role("button", name="Make a password").click()
    expect(dialog.get_by_role("alert")).to_have_text("This is not your password.")
    dialog.get_by_label("Your password").fill(PASSWORD)
    dialog.get_by_role("button", name="Make a password").click()
    shown = page.get_by_role("dialog", name="The password for My phone")
    app = server.client()
    app.headers["Authorization"] = f"Bearer {shown.locator('code').inner_text()}"
    assert app.get("/api/session").json()["scope"] == "play"
    shown.get_by_role("button", name="Close").click()
    phone = page.locator("main li").filter(has_text="My phone")
    expect(phone).to_contain_text(re.compile("Plays. Since .*, last used"))
    phone.get_by_role("button", name="Revoke: My phone").click()
    settled(page, "The password of My phone is revoked.")
    expect(phone).to_have_count(0)
    expect(page.get_by_role("heading", name="Apps")).to_be_focused()
    assert app.get("/api/session").status_code == 401
    ben.complaints = [said for said in ben.complaints if "401 (Unauthorized)" not in said]


def test_who_leaves_is_gone(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "eve") as eve:
        page = eve.open("settings")
        page.get_by_role("button", name="Delete me").click()
        dialog = page.get_by_role("dialog", name="Delete your account?")
        expect(dialog).to_contain_text("every rating, skip and song you heard")
        dialog.get_by_label("Password").fill("not this one")
        dialog.get_by_role("button", name="Delete me").click()
        expect(dialog.get_by_role("alert")).to_have_text("This is not your password.")
        dialog.get_by_label("Password").fill(PASSWORD)
        dialog.get_by_role("button", name="Delete me").click()
        expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
    users = server.client("ann").get("/api/admin/users").json()["users"]
    assert "eve" not in {user["name"] for user in users}


# Who may listen: what administrators do on the page.


def users(ann: Watched) -> dict[str, Any]:
    return {user["name"]: user for user in ann.ask("/api/admin/users")["users"]}


def row(page: Page, name: str) -> Locator:
    return page.locator("main li").filter(has=page.get_by_text(name, exact=True))


def add(page: Page, name: str) -> Locator:
    """Fill the form for a new person and send it; return its dialog."""
    page.get_by_role("button", name="Add a person").click()
    dialog = page.get_by_role("dialog", name="Add a person")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Password").fill(NEW_PASSWORD)
    dialog.get_by_role("button", name="Add", exact=True).click()
    return dialog


def test_a_person_is_added_changed_and_removed(ann: Watched, server: Server) -> None:
    page = ann.open("settings")
    page.get_by_role("link", name="People").click()
    expect(row(page, "ann")).to_contain_text("You")
    expect(page.get_by_role("button", name="Remove ann")).to_have_count(0)
    add(page, "Badminton")
    expect(row(page, "Badminton")).to_be_visible()
    for taken in ("BEN", "badminton"):
        dialog = add(page, taken)
        expect(dialog.get_by_role("alert")).to_have_text("Another account has this name already.")
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
        assert "409" in ann.complaints.pop()  # a browser notes every refusal
    add(page, "Zoë")
    expect(row(page, "Zoë")).to_be_visible()
    assert users(ann)["Zoë"]["role"] == "listener"
    login = {"name": "zoë", "password": NEW_PASSWORD}
    assert server.client().post("/api/session", json=login).is_success

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


# The scan page, in a real browser.


@pytest.fixture(scope="module")
def tapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two songs and a file that is none."""
    folder = tmp_path_factory.mktemp("tapes")
    for number in range(2):
        make(folder / f"{number}.flac", seconds=6 + number, tags={"title": f"Tape {number}"})
    (folder / "Torn <b>tape.mp3").write_bytes(b"no sound at all" * 100)
    return folder


@pytest.fixture(scope="module")
def live(tapes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home"), folders=[tapes]) as found:
        found.wait_for_songs(2)
        yield found


@pytest.fixture
def admin(chromium: Browser, live: Server) -> Iterator[Watched]:
    with visit(chromium, live, "ann") as watched:
        yield watched


def test_files_that_failed_are_shown_with_the_reason_and_a_scan_finds_a_new_song(
    admin: Watched, tapes: Path
) -> None:
    page = admin.open("scan")
    failed = page.locator(".failed-files li")
    expect(failed).to_have_count(1)
    expect(failed.locator(".path")).to_have_text(f"{tapes.name}/Torn <b>tape.mp3")
    expect(failed.locator(".path")).to_have_attribute("title", f"{tapes}/Torn <b>tape.mp3")
    expect(failed).to_contain_text("expected audio")
    expect(page.get_by_role("heading", name="The library is up to date")).to_be_visible()
    make(tapes / "new.flac", seconds=9, tags={"title": "A new tape"})
    page.get_by_role("button", name="Scan now").click()
    expect(page.get_by_text("The scan has begun.")).to_be_visible()
    songs = page.locator(".counts > div", has_text="songs").locator("dd")
    expect(songs).to_have_text("3")
    expect(page.get_by_role("button", name="Scan now")).to_be_enabled()
    page.get_by_role("button", name="Read failed files again").click()
    expect(page.get_by_role("button", name="Scan now")).to_be_enabled()
    expect(failed).to_have_count(1)
    assert admin.complaints == []


def test_it_goes_on_after_the_server_was_away(admin: Watched, live: Server) -> None:
    page = admin.open("scan")
    expect(page.get_by_role("heading", name="The library is up to date")).to_be_visible()
    live.stop()
    live.start()
    expect(page.get_by_text(re.compile("No scan since|Last scan"))).to_be_visible()
    page.get_by_role("button", name="Scan now").click()
    expect(page.get_by_role("button", name="Scan now")).to_be_enabled()
    expect(page.get_by_text("Last scan just now")).to_be_visible()


WATCH_STREAMS = """
    const streams = [];
    window.EventSource = class extends EventSource {
        constructor(...all) { super(...all); streams.push(this); }
    };
    window.openStreams = () => streams.filter((one) => one.readyState !== 2).length;
"""


def test_the_stream_ends_with_the_page(admin: Watched) -> None:
    page = admin.page
    page.add_init_script(WATCH_STREAMS)
    admin.open("scan")
    admin.until("openStreams() === 1")
    page.evaluate("location.hash = '#/playlists'")
    expect(page.get_by_role("heading", name="Playlists")).to_be_visible()
    admin.until("openStreams() === 0")


def test_pages_for_administrators_are_for_nobody_else(ben: Watched) -> None:
    page = ben.open("settings")
    expect(page.get_by_text(f"Bandstand {ben.ask('/api/settings')['version']}")).to_be_visible()
    expect(page.get_by_role("link", name="People")).to_have_count(0)
    expect(page.get_by_role("button", name="Start afresh")).to_have_count(0)
    ben.open("people")
    expect(page.get_by_text("This page is for administrators.")).to_be_visible()
    expect(page.get_by_role("button", name="Add a person")).to_have_count(0)
    ben.open("library")
    expect(page.get_by_role("link", name="Playlists")).to_be_visible()
    expect(page.get_by_role("link", name="Scan")).to_have_count(0)
    ben.open("scan")
    expect(page.get_by_text("Only administrators")).to_be_visible()

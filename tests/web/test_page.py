"""The page in a real browser, against a real server in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from bandstand.web import cookies
from bandstand.web.access import Access
from tests.audio.making import make, picture
from tests.web.live import browser
from tests.web.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page, Route

    from tests.web.serving import Server

PASSWORD = "a brass band on Sunday"  # noqa: S105
PAYLOADS = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    '"><svg onload=alert(3)>',
    "javascript:alert(4)//",
    "{{constructor.constructor('alert(5)')()}}",
    "</title><script>alert(6)</script>",
    "' autofocus onfocus=alert(7) x='",
)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose songs have names that a careless page would run."""
    library = tmp_path_factory.mktemp("library")
    for number, payload in enumerate(PAYLOADS):
        tags = {"title": payload, "artist": f"Band {payload}", "album": payload, "genre": payload}
        make(library / f"{number}.flac", seconds=6 + number / 10, tags=tags)
    make(library / "last.mp3", seconds=7, cover=picture("png", width=64, height=64))
    with serving(tmp_path_factory.mktemp("store"), folders=[library], names={}) as server:
        yield server


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


class Watched:
    """A page, and whatever it should not have done."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda message: self._said(message.type, message.text))

    def _dialog(self, dialog: object) -> None:
        self.complaints.append("a dialog")
        dialog.dismiss()  # type: ignore[attr-defined]

    def _said(self, kind: str, text: str) -> None:
        # That a stranger is refused is how the page finds out that it is one.
        if kind == "error" and "401" not in text:
            self.complaints.append(text)


@pytest.fixture(scope="module")
def session(live: Server, chromium: Browser) -> Any:
    """The cookie of the first account, made on the page with the token from the console."""
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(live.address)
        form = page.locator("#setup")
        form.get_by_label("Token").fill("wrong")
        form.get_by_label("Name").fill("Ann")
        form.get_by_label("Password").fill(PASSWORD)
        form.get_by_role("button").click()
        expect(page.get_by_role("status")).to_contain_text("token")
        form.get_by_label("Token").fill(str(live.setup_token))
        form.get_by_role("button").click()
        expect(page.get_by_label("Player", exact=True)).to_be_visible()
        # The library is read meanwhile; the tests want all of it.
        for _ in range(1_200):
            if len(page.request.get(f"{live.address}/api/songs").json()["songs"]) > len(PAYLOADS):
                return context.storage_state()
            page.wait_for_timeout(50)
        pytest.fail("the library must have been read by now")


@pytest.fixture
def player(live: Server, chromium: Browser, session: Any) -> Iterator[Watched]:
    """The page of somebody who is logged in, with a song playing."""
    with chromium.new_context(storage_state=session) as context:
        watched = Watched(context.new_page())
        watched.page.goto(live.address)
        until(watched.page, "audio.currentTime > 0.2")
        yield watched


def until(page: Page, condition: str) -> None:
    """Wait for something in the page; the page's policy forbids the usual way, which is good."""
    for _ in range(1_200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"the page must come to {condition}")


def title(page: Page) -> str:
    return page.locator("#title").inner_text()


def last_event(page: Page, live: Server) -> dict[str, object]:
    events = page.request.get(f"{live.address}/api/history?limit=1").json()["events"]
    return dict(events[0]) if events else {}


def wait_for_event(page: Page, live: Server, after: object) -> dict[str, object]:
    """Return the newest event once there is another one than before."""
    for _ in range(100):
        found = last_event(page, live)
        if found.get("seq") != after:
            return found
        page.wait_for_timeout(50)
    pytest.fail("the page must have told the server something by now")


def test_music_begins_when_the_first_song_is_ready(tmp_path: Path, chromium: Browser) -> None:
    """A new library is still being read when somebody comes."""
    (tmp_path / "library").mkdir()
    (tmp_path / "home").mkdir()
    make(tmp_path / "library" / "only.flac", seconds=6)
    with (
        serving(tmp_path / "home", folders=[tmp_path / "library"]) as server,
        chromium.new_context() as context,
    ):
        page = context.new_page()
        refusals = iter(range(2))

        def not_yet(route: Route) -> None:
            if next(refusals, None) is None:
                route.continue_()
            else:
                error = {"code": "not_found", "message": "no song is ready", "request_id": "0"}
                route.fulfill(status=404, json={"error": error})

        page.route("**/api/next*", not_yet)
        cookie = {"name": cookies.name_of(Access()), "value": server.tokens["ben"]}
        context.add_cookies([{**cookie, "url": server.address}])  # type: ignore[typeddict-item]
        page.goto(server.address)
        expect(page.get_by_role("status")).to_have_text("No song is ready")
        until(page, "audio.currentTime > 0.2")
        expect(page.get_by_role("status")).to_have_text("")


def test_a_song_plays_and_stars_are_stored(player: Watched, live: Server) -> None:
    page = player.page
    before = last_event(page, live).get("seq")
    page.get_by_role("button", name="4 stars").click()
    event = wait_for_event(page, live, before)
    assert (event["kind"], event["stars"]) == ("rating", 4)
    assert float(str(event["played_seconds"])) > 0
    expect(page.get_by_role("button", name="4 stars")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Undo").click()
    taken_back = wait_for_event(page, live, event["seq"])
    assert (taken_back["kind"], taken_back["retracts"]) == ("retract", event["seq"])
    assert player.complaints == []


def test_keys_rate_pause_and_go_on(player: Watched, live: Server) -> None:
    page = player.page
    before = last_event(page, live).get("seq")
    page.keyboard.press("2")
    event = wait_for_event(page, live, before)
    assert (event["kind"], event["stars"]) == ("rating", 2)
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("Space")
    until(page, "audio.paused")
    heard = title(page)
    page.keyboard.press("n")
    left = wait_for_event(page, live, event["seq"])
    assert left["kind"] == "skip"
    expect(page.locator("#title")).not_to_have_text(heard)
    until(page, "!audio.paused")
    assert player.complaints == []


def test_a_song_that_ends_was_heard_and_the_next_one_plays(player: Watched, live: Server) -> None:
    page = player.page
    before, heard = last_event(page, live).get("seq"), title(page)
    page.evaluate("audio.currentTime = audio.duration - 0.3")
    event = wait_for_event(page, live, before)
    assert event["kind"] == "listen"
    expect(page.locator("#title")).not_to_have_text(heard)
    assert player.complaints == []


def test_a_song_that_cannot_be_played_is_left_behind(player: Watched) -> None:
    page = player.page
    page.route("**/audio", lambda route: route.fulfill(status=415, json={}))
    heard = title(page)
    page.keyboard.press("n")
    expect(page.locator("#title")).not_to_have_text(heard)
    refused = title(page)
    expect(page.get_by_role("status")).to_contain_text("cannot be played")
    page.unroute("**/audio")
    expect(page.locator("#title")).not_to_have_text(refused)
    until(page, "audio.currentTime > 0.2")


def test_undo_says_what_it_takes_back_and_shows_what_is_left(player: Watched) -> None:
    page, song = player.page, title(player.page)
    for count in (4, 2):
        page.get_by_role("button", name=f"{count} stars").click()
        expect(page.locator("#undo")).to_have_attribute(
            "title", f"Takes back: {count} stars for “{song}”"
        )
    page.locator("#undo").click()
    expect(page.get_by_role("status")).to_have_text(f"Taken back: 2 stars for “{song}”.")
    expect(page.get_by_role("button", name="4 stars")).to_have_attribute("aria-pressed", "true")
    page.locator("#undo").click()
    expect(page.get_by_role("button", name="4 stars")).to_have_attribute("aria-pressed", "false")


def test_never_again_is_never_again(player: Watched, live: Server) -> None:
    page = player.page
    before, banned = last_event(page, live).get("seq"), title(page)
    page.get_by_role("button", name="Never again").click()
    event = wait_for_event(page, live, before)
    assert (event["kind"], event["scope"]) == ("ban", "song")
    expect(page.locator("#title")).not_to_have_text(banned)
    page.get_by_role("button", name="Undo").click()
    assert wait_for_event(page, live, event["seq"])["kind"] == "retract"


def test_not_for_a_month_is_a_month(player: Watched, live: Server) -> None:
    page = player.page
    before = last_event(page, live).get("seq")
    page.get_by_role("button", name="Not for a month").click()
    event = wait_for_event(page, live, before)
    assert event["kind"] == "snooze"
    assert int(str(event["until"])) - int(str(event["at"])) == 30 * 86_400_000
    page.get_by_role("button", name="Undo").click()
    assert wait_for_event(page, live, event["seq"])["kind"] == "retract"


def test_the_dial_is_kept(player: Watched, live: Server) -> None:
    page = player.page
    with page.expect_response(lambda response: response.request.method == "PATCH"):
        page.get_by_label("From familiar to discover").fill("0.5")
    assert page.request.get(f"{live.address}/api/settings").json()["dial"] == 0.5


def test_names_are_shown_and_never_run(player: Watched, live: Server) -> None:
    page = player.page
    seen = set()
    for _ in range(40):
        seen.add(title(page))
        if seen >= set(PAYLOADS):
            break
        page.keyboard.press("n")
        page.wait_for_timeout(150)
    assert seen >= set(PAYLOADS)
    assert player.complaints == []
    assert (
        page.request.get(live.address)
        .headers["content-security-policy"]
        .startswith("default-src 'none'; script-src 'self';")
    )


def test_a_dialog_would_be_noticed(player: Watched) -> None:
    player.page.evaluate("alert('planted')")
    assert player.complaints == ["a dialog"]


def test_what_is_not_acknowledged_is_told_again_and_counts_once(
    player: Watched, live: Server
) -> None:
    page = player.page
    before = int(str(last_event(page, live).get("seq", 0)))
    keys: list[str] = []

    def lose_the_first(route: object) -> None:
        keys.append(route.request.post_data_json["key"])  # type: ignore[attr-defined]
        if len(keys) == 1:
            route.fetch()  # type: ignore[attr-defined]  # it arrives, but the answer is lost
            route.abort()  # type: ignore[attr-defined]
        else:
            route.continue_()  # type: ignore[attr-defined]

    page.route("**/api/events", lose_the_first)
    page.get_by_role("button", name="3 stars").click()
    expect(page.get_by_role("status")).to_contain_text("trying again")
    expect(page.get_by_role("status")).to_have_text("", timeout=10_000)
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert last_event(page, live)["seq"] == before + 1


@pytest.mark.usefixtures("session")
def test_who_logs_in_hears_music_and_who_logs_out_is_a_stranger(
    live: Server, chromium: Browser
) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(live.address)
        form = page.locator("#login")
        form.get_by_label("Name").fill("Ann")
        form.get_by_label("Password").fill("not this one")
        form.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("status")).not_to_have_text("")
        form.get_by_label("Password").fill(PASSWORD)
        form.get_by_role("button", name="Log in").click()
        until(page, "audio.currentTime > 0.2")
        page.get_by_role("button", name="Log out").click()
        expect(page.locator("#login")).to_be_visible()
        assert page.request.get(f"{live.address}/api/next").status == 401

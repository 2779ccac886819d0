"""Hostile names on every page, in a real browser: shown verbatim, and never run (PROMISES E12).

Titles, artists, albums, genres, comments, names of files, people, playlists and devices are the
200 payloads of `tests.fixtures.browser.payloads`. Nothing may run, be asked for elsewhere, become
an element, be reported by the policy or be written to the console.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.fixtures.browser.hostile_texts import FILE_NAMES, SCANNED, Hostile, as_tag, hostile_radio
from tests.fixtures.browser.payloads import PAYLOADS, UNCLEAN
from tests.fixtures.browser.script_trap import Trap, missing, odd_elements
from tests.fixtures.browser.tour import every_song, see, shown_at_last, spread, stops
from tests.fixtures.browser.visit import DESK, PHONE, log_in, until_so
from tests.fixtures.web.chromium import open_context


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    with hostile_radio(tmp_path_factory.mktemp("hostile")) as made:
        yield made


@contextmanager
def opened(
    chromium: Browser, world: Hostile, name: str | None, *, size: dict[str, int] = DESK
) -> Iterator[tuple[Page, Trap]]:
    """Give the radio of somebody in a browser, and what was caught in it."""
    with open_context(chromium, viewport=size) as context:
        if name is not None:
            log_in(context, world.server, name)
        trap = Trap(context, world.server.address)
        page = trap.watch(context.new_page())
        page.goto(f"{world.server.address}/")
        yield page, trap


def walked(chromium: Browser, world: Hostile, *, songs: int, words: int) -> dict[str, list[str]]:
    """Return what was wrong on each page; those that are as they should be are left out."""
    wrong = {}
    for who in ("ann", "ben"):
        with opened(chromium, world, who) as (page, trap):
            for stop in stops(world, songs=songs, words=words):
                if stop.who == who and (found := see(page, stop) + trap.caught):
                    wrong[f"{who} {stop.way}"] = found[:10]
                    trap.caught.clear()
    return wrong


def test_there_are_two_hundred_payloads() -> None:
    assert len(set(PAYLOADS)) == 200
    assert [one for one in PAYLOADS if as_tag(one) != one] == []  # they all pass through a tag
    assert [one for one in UNCLEAN if as_tag(one) == one] == []


@pytest.mark.parametrize(
    ("songs", "words"), [(5, 2), pytest.param(1_000, 1_000, marks=pytest.mark.long)]
)
def test_names_are_shown_verbatim_on_every_page_and_never_run(
    chromium: Browser, world: Hostile, songs: int, words: int
) -> None:
    assert walked(chromium, world, songs=songs, words=words) == {}


def test_tags_of_real_files_reach_the_page_verbatim(chromium: Browser, world: Hostile) -> None:
    """The whole way: what was written into files, read by the scanner, and sent, is shown."""
    titles = {song["title"]: song for song in every_song(world.server.client("ann"))}
    with opened(chromium, world, "ann") as (page, trap):
        for payload in SCANNED:
            title = as_tag(payload)
            page.evaluate("(hash) => { location.hash = hash; }", f"#/song/{titles[title]['id']}")
            expect(page.locator("main h1")).to_have_text(title)
            assert page.locator("main h1").evaluate("(h) => h.textContent") == title
            assert odd_elements(page) == []
        assert trap.caught == []


def with_radio(page: Page, run: str, what: Any) -> None:
    """Let the page's own radio do something, once it plays."""
    page.evaluate(
        f"""async (what) => {{
          const main = document.querySelector("script[type=module]").src;
          const {{ radio }} = await import(new URL("../player/radio.js", main));
          while (!radio.current) await new Promise((done) => setTimeout(done, 20));
          {run};
        }}""",
        what,
    )


def play(page: Page, song: dict[str, Any]) -> None:
    with_radio(page, "radio.playSong(what)", song)


@pytest.mark.parametrize(
    ("size", "count"), [(DESK, 4), (PHONE, 4), pytest.param(DESK, 1_000, marks=pytest.mark.long)]
)
def test_what_plays_is_named_verbatim(
    chromium: Browser, world: Hostile, size: dict[str, int], count: int
) -> None:
    found = every_song(world.server.client("ann"))
    with opened(chromium, world, "ann", size=size) as (page, trap):
        for song in spread(found, count):
            play(page, song)
            heading = page.locator("[data-now-playing]").first
            expect(heading).to_have_text(" ".join(song["title"].split()))
            assert heading.evaluate("(h) => h.textContent") == song["title"]
            assert missing(page, [song["artist"]] if song["artist"] else []) == []
            assert odd_elements(page) == []
        # Who goes through songs faster than the next ones can be chosen is told to wait.
        assert [one for one in trap.caught if "status of 503" not in one] == []


def test_reasons_queues_and_stations_are_named_verbatim(chromium: Browser, world: Hostile) -> None:
    client = world.server.client("ann")
    song = client.get(f"/api/songs/{world.songs[20]}").json()["song"]
    with opened(chromium, world, "ann") as (page, trap):
        play(page, song)
        expect(page.locator("[data-now-playing]").first).to_have_text(song["title"])
        page.get_by_role("button", name="Why this song?").first.click()
        expect(page.get_by_role("dialog")).to_contain_text(f"Why “{song['title']}”?")
        assert odd_elements(page) == []
        page.keyboard.press("Escape")
        titles = page.locator("[data-next-up]")
        expect(titles.first).to_be_attached()
        queued = titles.first.evaluate("(one) => one.textContent")
        assert queued in {one["title"] for one in every_song(client)}
        assert odd_elements(page) == []
        with_radio(page, "radio.startFrom({ artist: what, name: what })", song["artist"])
        assert shown_at_last(page, [song["artist"]]) == []
        assert odd_elements(page) == []
        assert trap.caught == []


def test_questions_and_messages_repeat_names_verbatim(chromium: Browser, world: Hostile) -> None:
    """Dialogs about a playlist and a person, the menu of a song, a message with an undo."""
    client = world.server.client("ann")
    with opened(chromium, world, "ann") as (page, trap):
        page.evaluate("(hash) => { location.hash = hash; }", f"#/playlist/{world.playlist}")
        page.get_by_role("button", name="More for this playlist").click()
        page.get_by_role("menuitem", name="Delete").click()
        expect(page.get_by_role("dialog")).to_contain_text(f"Delete “{PAYLOADS[0]}”?")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="More for this playlist").click()
        page.get_by_role("menuitem", name="Rename").click()
        assert page.get_by_role("dialog").get_by_label("Name").input_value() == PAYLOADS[0]
        page.keyboard.press("Escape")
        page.evaluate("location.hash = '#/people'")
        for name in spread(world.people, 4):
            page.get_by_role("button", name=f"Remove {name}", exact=True).click()
            expect(page.get_by_role("dialog")).to_contain_text(f"Remove {name}?")
            assert odd_elements(page) == []
            page.keyboard.press("Escape")
        page.evaluate("(hash) => { location.hash = hash; }", f"#/playlist/{world.playlist}")
        more = page.get_by_role("button", name=f"More for “{PAYLOADS[2]}”", exact=True).first
        more.click()
        page.get_by_role("menuitem", name="Add to playlist…").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert missing(page, [*world.playlists]) == []
        assert odd_elements(page) == []
        page.keyboard.press("Escape")
        assert client.get(f"/api/playlists/{world.playlist}").json()["count"] == len(PAYLOADS)
        assert trap.caught == []


def test_hostile_addresses_lead_nowhere(chromium: Browser, world: Hostile) -> None:
    """What somebody else's link may put behind the #; what is not there is looked for, and said."""
    with opened(chromium, world, "ann") as (page, trap):
        # Among them what every object has: a page is not to be found by such a name.
        for payload in (*PAYLOADS[::50], "constructor", "__proto__", "toString"):
            for way in ("", "song/", "playlist/", "library?view=", "history?show="):
                page.evaluate("(hash) => { location.hash = hash; }", f"#/{way}{payload}")
                expect(page.locator("main h1").first).to_be_visible()
                assert odd_elements(page) == []
        unasked = [one for one in trap.caught if "Failed to load resource" not in one]
        assert unasked == []


def test_a_hostile_name_at_the_door_is_a_name(chromium: Browser, world: Hostile) -> None:
    with opened(chromium, world, None) as (page, trap):
        for payload in PAYLOADS[::50]:
            page.get_by_label("Name").fill(payload)
            page.get_by_label("Password", exact=True).fill("not this one, and never was")
            page.get_by_role("button", name="Log in").click()
            expect(page.get_by_role("alert").first).to_be_visible()
            assert odd_elements(page) == []
        # A browser itself writes down that it was refused.
        assert [one for one in trap.caught if "Failed to load resource" not in one] == []


def careless(route: Route) -> None:
    """Serve the page's own module with one change: text is parsed instead of shown."""
    text = route.fetch().text()
    line = "  element.append(...shown(children));\n"
    assert line in text
    parsed = (
        "  for (const child of shown(children)) {\n"
        "    if (child instanceof Node) element.append(child);\n"
        "    else element.innerHTML += child;\n"
        "  }\n"
    )
    route.fulfill(body=text.replace(line, parsed), headers={"Content-Type": "text/javascript"})


def relaxed(context: BrowserContext, address: str, policy: str) -> None:
    """Let the page have another policy."""

    def answer(route: Route) -> None:
        response = route.fetch()
        headers = {**response.headers, "content-security-policy": policy}
        route.fulfill(response=response, headers=headers)

    context.route(f"{address}/", answer)


def stay(route: Route) -> None:
    """Let no payload lead the page away, so that it can be looked at."""
    if route.request.is_navigation_request():
        route.fulfill(status=204)  # "nothing to show": the page stays as it is
    else:
        route.fallback()


STRICT_BUT_FOR_TYPES = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; object-src 'none'"
)


@pytest.mark.parametrize(
    ("policy", "caught"),
    [
        (None, "policy: require-trusted-types-for"),
        (STRICT_BUT_FOR_TYPES, "policy: script-src"),
        (STRICT_BUT_FOR_TYPES.replace("script-src", "script-src 'unsafe-inline'"), "a payload ran"),
    ],
    ids=["strict", "without types", "with inline scripts"],
)
def test_a_careless_page_is_found_out(
    chromium: Browser, world: Hostile, policy: str | None, caught: str
) -> None:
    """The twin: one innerHTML instead of a text, under the policy there is and under laxer ones."""
    with open_context(chromium) as context:
        log_in(context, world.server, "ann")
        trap = Trap(context, world.server.address)
        context.route("**/app/dom.js", careless)
        if policy is not None:
            relaxed(context, world.server.address, policy)
        page = context.new_page()
        page.goto(f"{world.server.address}/#/playlists")
        context.route("**/*", stay)
        until_so(page, partial(trap.has_caught, caught), caught)
        if policy == STRICT_BUT_FOR_TYPES:  # with scripts some payloads have left the page by now
            assert odd_elements(page)
            assert missing(page, [*world.playlists])


def test_names_of_files_are_hostile_too(world: Hostile) -> None:
    titles = {song["title"] for song in every_song(world.server.client("ann"))}
    printable = [name for name in FILE_NAMES if name.isprintable()]
    assert len(printable) > 190
    assert [name for name in printable if name not in titles] == []

"""Everything without a mouse: each control is reached, seen and used, and the focus never lost."""

from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fixtures.browser.keyboard import held, name_held, pick, tab_to, use, walk
from tests.fixtures.browser.page_states import STATES, State, Tabs
from tests.fixtures.browser.player import next_up, title, toast
from tests.fixtures.browser.silence import give_silence
from tests.fixtures.browser.visit import PHONE, Watched, visit
from tests.fixtures.web.servers import PASSWORD, Server

BY_NAME: Final = {state.name: state for state in STATES}
PAGES: Final = ("player", "taste", "albums", "song", "playlist", "settings", "people", "scan")
EMPTY: Final = ("no taste yet", "no history", "no playlists", "nothing found", "problem")
DOORS: Final = ("login", "first start")
OTHERS: Final = ("rated", "started from", "library", "artists", "playlists", "history")
DIALOGS: Final = {
    "why": "Why this song?",
    "new playlist": "New from the radio",
    "export": "Export",
    "forget": "Forget a period…",
    "password": "Change password…",
    "new app": "Add an app…",
    "leave": "Delete me…",
    "shortcuts": "Keyboard shortcuts",
    "new person": "Add a person",
}


@pytest.fixture(scope="module")
def tabs(chromium: Browser, lived: Server, new: Server) -> Iterator[Tabs]:
    """Tabs of a radio that ann lives with, and of one that nobody has started yet."""
    with Tabs(chromium, lived, new, reduced_motion="reduce") as found:
        yield found


@pytest.fixture
def ann(chromium: Browser, lived: Server) -> Iterator[Watched]:
    """A tab in which ann listens."""
    with visit(chromium, lived, "ann", reduced_motion="reduce") as watched:
        give_silence(watched.page)
        watched.open()
        expect(next_up(watched.page)).to_be_visible()
        yield watched
        assert watched.complaints == []


def settle(page: Page) -> None:
    """Let nothing change under the keyboard: neither by a song's end nor by a later question.

    The first timer stays: it is the one that looks for frames (`tests.fixtures.web.chromium`).
    """
    page.evaluate(
        "for (const one of document.querySelectorAll('audio')) one.pause();"
        "for (let timer = setTimeout(() => {}); timer > 1; timer -= 1) clearTimeout(timer);"
    )


@pytest.mark.parametrize("name", PAGES)
def test_every_control_is_reached_and_seen(tabs: Tabs, name: str) -> None:
    page = tabs.at(BY_NAME[name]).page
    settle(page)
    assert walk(page) == ([], [])


@pytest.mark.long
@pytest.mark.parametrize("name", [*PAGES, *OTHERS, *EMPTY, *DOORS])
def test_every_control_is_reached_both_ways_on_a_phone(tabs: Tabs, name: str) -> None:
    page = tabs.at(BY_NAME[name], size=PHONE).page
    settle(page)
    assert walk(page) == ([], [])
    assert walk(page, back=True) == ([], [])


@pytest.mark.parametrize(("name", "opener"), DIALOGS.items(), ids=DIALOGS.keys())
def test_a_dialog_keeps_the_focus_and_gives_it_back(tabs: Tabs, name: str, opener: str) -> None:
    state = BY_NAME[name]
    page = tabs.at(State(name=name, way=state.way, is_there=state.is_there)).page
    settle(page)
    use(page, opener)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    missed, wrong = walk(page)
    assert (missed, wrong) == ([], [])
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert name_held(page) == opener


def test_the_walk_finds_what_is_planted(tabs: Tabs) -> None:
    """The twin: a control that shows no focus, and one that lets nobody past."""
    page = tabs.at(BY_NAME["no history"]).page
    page.evaluate(
        """() => {
          const [dull, lost] = ["Dull", "Lost"].map((name) => {
            const link = document.createElement("a");
            link.href = "#/planted";
            link.textContent = name;
            return link;
          });
          dull.style.outline = "none";
          lost.addEventListener("focus", () => document.querySelector(".brand").focus());
          document.querySelector("header").append(dull, lost);
        }"""
    )
    missed, wrong = walk(page, most=60)
    assert "a “Dull” has no outline" in wrong
    assert "a Lost" in missed
    assert "there is no way round" in wrong


# ── Journeys ────────────────────────────────────────────────────────────────────────────


def test_the_skip_link_leads_past_the_ways(ann: Watched) -> None:
    page = ann.open("history")
    expect(page.locator(".event").first).to_be_visible()
    page.reload()
    expect(page.locator(".event").first).to_be_visible()
    page.keyboard.press("Tab")
    assert name_held(page) == "Skip to the page"
    page.keyboard.press("Enter")
    tab_to(page, "Forget a period…")
    page.reload()  # and the page is still this one
    expect(page.get_by_role("heading", level=1)).to_have_text("History")


def test_the_focus_follows_from_page_to_page(ann: Watched) -> None:
    page = ann.page
    for name in ("Taste", "Library", "History", "Settings", "Radio"):
        use(page, name)
        heading = title(page) if name == "Radio" else page.get_by_role("heading", level=1)
        expect(heading).to_be_focused()
        tab_to(page, "Library", key="Shift+Tab")  # back among the ways


def test_a_song_is_rated_taken_back_and_skipped(ann: Watched) -> None:
    page, before = ann.page, ann.last_event()
    use(page, "3 stars", "Space")
    event = ann.wait_for_event(before)
    assert event["stars"] == 3
    assert name_held(page) == "3 stars"
    use(page, "Undo")
    taken = ann.wait_for_event(event)
    assert taken["retracts"] == event["seq"]
    assert held(page) is not None
    use(page, "Pause")
    expect(page.get_by_role("button", name="Play", exact=True).first).to_be_focused()
    song = title(page).inner_text()
    use(page, "Next")
    assert ann.wait_for_event(taken)["kind"] == "skip"
    expect(title(page)).not_to_have_text(song)
    assert name_held(page) == "Next"


def test_sliders_move_by_arrows_and_reasons_are_read(ann: Watched) -> None:
    page = ann.page
    page.keyboard.press("k")
    tab_to(page, "Position")
    tab_to(page, "Volume")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("slider", name="Volume")).to_have_value("0.01")
    page.keyboard.press("End")
    tab_to(page, "From familiar to discover")
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        page.keyboard.press("ArrowRight")
    assert name_held(page) == "From familiar to discover"
    page.keyboard.press("ArrowLeft")
    use(page, "Why this song?")
    expect(page.get_by_role("dialog", name="Why “")).to_be_visible()
    use(page, "More about it")
    expect(page.get_by_role("heading", name="Expected now")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_menus_keep_away_and_start_from(ann: Watched) -> None:
    page, before = ann.page, ann.last_event()
    song = title(page).inner_text()
    use(page, "Not for a month")
    page.keyboard.press("Escape")
    assert name_held(page) == "Not for a month"
    page.keyboard.press("Enter")
    pick(page, "This song")
    event = ann.wait_for_event(before)
    assert (event["kind"], event["title"]) == ("snooze", song)
    expect(title(page)).not_to_have_text(song)
    assert held(page) is not None
    use(page, "Never again")
    pick(page, "This song")
    banned = ann.wait_for_event(event)
    assert banned["kind"] == "ban"
    assert held(page) is not None
    page.keyboard.press("u")
    ann.wait_for_event(banned)
    use(page, "More")
    pick(page, "Start from this song")
    expect(page.get_by_text("Starting from").first).to_be_visible()
    use(page, "Stop starting from …")
    expect(page.get_by_text("Starting from")).to_have_count(0)
    assert held(page) is not None


def test_what_comes_is_removed_played_and_kept(ann: Watched) -> None:
    page = ann.page
    page.keyboard.press("k")
    rows = page.locator(".coming > li")
    expect(rows).to_have_count(8)
    page.keyboard.press("q")
    first = next_up(page).inner_text()
    use(page, "Remove: …")
    expect(next_up(page)).not_to_have_text(first)
    expect(rows).to_have_count(8)
    assert held(page) is not None
    use(page, "Play now: …")
    assert held(page) is not None
    tab_to(page, "Keep this list", key="Shift+Tab")
    page.keyboard.press("Enter")
    pick(page, "Save as playlist")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("Kept by keys")
    page.keyboard.press("Enter")
    expect(toast(page)).to_contain_text("Saved as “Kept by keys”.")
    assert name_held(page) == "Keep this list"
    page.keyboard.press("Enter")
    pick(page, "Save and export")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("Kept as a file")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Export “Kept as a file”")).to_be_visible()
    with page.expect_download():
        use(page, "M3U8…")
    page.keyboard.press("Escape")
    assert name_held(page) == "Keep this list"


def test_a_song_is_found_rated_and_taken_back_in_the_history(ann: Watched) -> None:
    page, before = ann.page, ann.last_event()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("song 33")
    expect(page.locator(".song")).to_have_count(1)
    use(page, "Song 33")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    use(page, "5 stars", "Space")
    event = ann.wait_for_event(before)
    assert (event["title"], event["stars"]) == ("Song 33", 5)
    expect(page.locator(".said li")).to_have_count(1)
    assert name_held(page) == "5 stars"
    use(page, "History")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    use(page, "Undo: 5 stars for Song 33…")
    assert ann.wait_for_event(event)["retracts"] == event["seq"]
    expect(page.locator(f"[data-seq='{event['seq']}'] .chip")).to_be_visible()
    assert held(page) is not None
    page.go_back()  # Alt and an arrow, of which a browser without a window knows nothing
    expect(page.get_by_role("heading", level=1)).to_have_text("Song 33")


def test_settings_are_changed_and_bans_lifted(ann: Watched) -> None:
    page = ann.page
    use(page, "Settings")
    expect(page.locator(".devices li").first).to_be_visible()
    use(page, "Private mode", "Space")
    expect(toast(page)).to_contain_text("Private mode is on.")
    page.keyboard.press("Space")
    expect(toast(page)).to_contain_text("Private mode is off.")
    while ann.ask("/api/settings/rules")["rules"]:
        count = page.get_by_role("button", name="Allow again").count()
        use(page, "Allow again: …")
        expect(page.get_by_role("button", name="Allow again")).to_have_count(count - 1)
        assert held(page) is not None
        tab_to(page, "Private mode", key="Shift+Tab")
    use(page, "How songs are chosen…")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(toast(page)).to_contain_text("Saved.")
    page.keyboard.press("ArrowUp")
    assert held(page) is not None


def test_who_comes_logs_in_and_out(chromium: Browser, lived: Server) -> None:
    with visit(chromium, lived, None) as watched:
        give_silence(watched.page)
        page = watched.open()
        expect(page.get_by_label("Name")).to_be_focused()
        page.keyboard.type("ben")
        tab_to(page, "Password")
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        expect(title(page)).to_be_visible()
        assert held(page) is not None
        use(page, "Log out")
        expect(page.get_by_label("Name")).to_be_focused()
        assert watched.complaints == []

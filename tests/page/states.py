"""Every page, and every state that a page has of its own: what is opened, and what was done there.

They are all of one radio, which is quick: its songs have no files, and sound like a minute of
nothing. Ann has rated, banned and saved something, ben has done nothing yet.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from playwright.sync_api import expect

from tests.page.playing import title
from tests.page.silence import give_silence
from tests.page.visiting import DESK, visit
from tests.web.live import wait_for_frame
from tests.web.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.page.visiting import Watched
    from tests.web.serving import Server

SONGS: Final = 60
RATED: Final = 24


def _as_it_is(page: Page) -> None:
    """Leave the page as it comes."""
    del page


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A page as somebody finds it, or after something was pressed."""

    name: str
    way: str = ""  # after "#/"; SONG and LIST stand for the first song and playlist
    who: str | None = "ann"
    is_there: Callable[[Page], None] = _as_it_is  # waits until the page is complete
    do: Callable[[Page], None] = _as_it_is
    is_empty: bool = False  # of a radio that has no account yet

    def __str__(self) -> str:
        """Name it in the list of tests."""
        return self.name


@contextmanager
def lived_in(home: Path) -> Iterator[Server]:
    """Give that radio while it runs; one of its files could not be read."""
    tapes = home / "tapes"
    tapes.mkdir()
    (tapes / "Side B.mp3").write_bytes(b"no sound\n" * 60)
    with serving(home, invented=SONGS, folders=[tapes]) as server:
        live_in(server)
        yield server


def live_in(server: Server) -> None:
    """Let ann do something of every kind."""
    ann = server.client("ann")
    songs = [song["id"] for song in ann.get("/api/songs?limit=60").json()["songs"]]
    told = [{"kind": "rating", "song": songs[n], "stars": 1 + n % 5} for n in range(RATED)]
    told += [
        {"kind": "skip", "song": songs[1], "played_seconds": 12.0},
        {"kind": "listen", "song": songs[2]},
        {"kind": "ban", "scope": "song", "target": songs[40]},
        {"kind": "snooze", "scope": "genre", "target": "Polka", "days": 30},
        {"kind": "retract", "retracts": 1},
    ]
    for number, event in enumerate(told):
        answer = ann.post("/api/events", json={"key": f"lived-{number}", **event})
        assert answer.status_code == 201, answer.text
    saved = {"name": "Sunday morning", "songs": songs[:5]}
    assert ann.post("/api/playlists", json=saved).is_success


def place_of(state: State, server: Server) -> str:
    """Return the address of a state, after "#/"."""
    ann = server.client("ann")
    if "SONG" in state.way:
        return state.way.replace("SONG", ann.get("/api/songs?limit=1").json()["songs"][0]["id"])
    if "LIST" in state.way:
        return state.way.replace("LIST", ann.get("/api/playlists").json()["playlists"][0]["id"])
    return state.way


def shows(selector: str) -> Callable[[Page], None]:
    """Return what waits until something is to be seen."""
    return lambda page: expect(page.locator(selector).first).to_be_visible()


def pressed(name: str, *, role: str = "dialog") -> Callable[[Page], None]:
    """Return what presses a button that opens something, and waits for it."""

    def press(page: Page) -> None:
        page.get_by_role("button", name=name).first.click()
        expect(page.get_by_role(role)).to_be_visible()  # type: ignore[arg-type]

    return press


def _the_player(page: Page) -> None:
    expect(title(page)).to_be_visible()
    expect(page.locator(".coming > li")).to_have_count(8)
    if page.get_by_role("button", name="Pause").count():
        page.get_by_role("button", name="Pause").first.click()


def _rated(page: Page) -> None:
    page.get_by_role("button", name="4 stars").first.click()
    expect(page.get_by_role("button", name="Undo").first).to_be_visible()


def _started(page: Page) -> None:
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Start from this song").click()
    expect(page.get_by_text("Starting from").first).to_be_visible()


def _asked_for_years(page: Page) -> None:
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Only some years…").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def _some_years(page: Page) -> None:
    _asked_for_years(page)
    page.get_by_label("From year").fill("1900")
    page.get_by_role("dialog").get_by_role("button", name="Play").click()
    expect(page.get_by_text("Only 1900 and later")).to_be_visible()


def _chosen(page: Page) -> None:
    page.get_by_text("How songs are chosen").click()
    expect(page.get_by_role("radio").first).to_be_visible()


def _numbers(page: Page) -> None:
    for summary in page.locator("main summary").all():
        summary.click()


def _wrong(page: Page) -> None:
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()


def _broken(page: Page) -> None:
    page.route("**/api/playlists", lambda route: route.abort())
    page.evaluate("location.hash = '#/playlists'")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    page.unroute("**/api/playlists")


STATES: Final = (
    State(name="player", is_there=_the_player),
    State(name="rated", is_there=_the_player, do=_rated),
    State(name="why", is_there=_the_player, do=pressed("Why this song?")),
    State(name="keep away", is_there=_the_player, do=pressed("Never again", role="menu")),
    State(name="started from", is_there=_the_player, do=_started),
    State(name="years", is_there=_the_player, do=_asked_for_years),
    State(name="some years", is_there=_the_player, do=_some_years),
    State(name="taste", way="taste", is_there=shows(".plot-area")),
    State(name="taste in numbers", way="taste", is_there=shows(".plot-area"), do=_numbers),
    State(name="no taste yet", way="taste", who="ben", is_there=shows(".empty")),
    State(name="library", way="library", is_there=shows(".song")),
    State(name="menu", way="library", is_there=shows(".song"), do=pressed("More for", role="menu")),
    State(name="artists", way="library?view=artists", is_there=shows(".names li")),
    State(name="albums", way="library?view=albums&genre=Genre+1", is_there=shows(".names li")),
    State(name="nothing found", way="library?q=no+such+thing", is_there=shows(".empty")),
    State(name="song", way="song/SONG", is_there=shows(".said li")),
    State(name="playlists", way="playlists", is_there=shows(".names li")),
    State(name="no playlists", way="playlists", who="ben", is_there=shows(".empty")),
    State(name="new playlist", way="playlists", do=pressed("New from the radio")),
    State(name="playlist", way="playlist/LIST", is_there=shows(".song")),
    State(name="export", way="playlist/LIST", is_there=shows(".song"), do=pressed("Export")),
    State(name="history", way="history", is_there=shows(".event")),
    State(name="no history", way="history", who="ben", is_there=shows(".empty")),
    State(name="forget", way="history", is_there=shows(".event"), do=pressed("Forget a period")),
    State(name="settings", way="settings", is_there=shows(".devices li"), do=_chosen),
    State(name="password", way="settings", do=pressed("Change password")),
    State(name="leave", way="settings", do=pressed("Delete me")),
    State(name="shortcuts", way="settings", do=pressed("Keyboard shortcuts")),
    State(name="people", way="people", is_there=shows(".person")),
    State(name="new person", way="people", do=pressed("Add a person")),
    State(name="not for all", way="people", who="ben", is_there=shows(".empty")),
    State(name="scan", way="scan", is_there=shows(".failed-files li")),
    State(name="problem", way="settings", is_there=shows(".devices li"), do=_broken),
    State(name="login", who=None, is_there=shows("form")),
    State(name="refused", who=None, is_there=shows("form"), do=_wrong),
    State(name="first start", who=None, is_there=shows("form"), is_empty=True),
)


class Tabs:
    """Tabs of a browser, one for each listener, that go from state to state."""

    def __init__(self, chromium: Browser, radio: Server, new: Server, **options: Any) -> None:
        self._chromium, self._radio, self._new, self._options = chromium, radio, new, options
        self._tabs: dict[tuple[str | None, bool], Watched] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._open.close()

    def at(self, state: State, *, size: dict[str, int] = DESK) -> Watched:
        """Return the tab that is in this state now."""
        server = self._new if state.is_empty else self._radio
        tab = self._tab(state, server)
        wait_for_frame(tab.page)
        tab.page.emulate_media(color_scheme="light")
        tab.page.set_viewport_size(size)  # type: ignore[arg-type]
        tab.page.keyboard.press("Escape")  # what the state before has opened
        where = "" if state.is_empty else place_of(state, self._radio)
        if state.way or not state.who:
            tab.open("" if state.who else "?")  # so that the page is drawn anew
        tab.open(where)
        if not state.who:
            tab.page.reload()
        state.is_there(tab.page)
        state.do(tab.page)
        return tab

    def _tab(self, state: State, server: Server) -> Watched:
        key = (state.who, state.is_empty)
        if key not in self._tabs:
            context = visit(self._chromium, server, state.who, **self._options)
            self._tabs[key] = self._open.enter_context(context)
            give_silence(self._tabs[key].page)
        return self._tabs[key]

"""Pages of other sites, in the browser of somebody who is logged in (PROMISES E6).

The radio is at 127.0.0.1. The attacker's page is at `localhost`, which is another site, and at
another port of 127.0.0.1, which is the same site: there the browser sends the cookie along, and
nothing but the server's own rules stands between. Whatever it tries, on every route there is:
nothing of the store changes, and nothing of the radio can be read, heard, seen or framed.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page

from bandstand._util.clock import system_clock
from bandstand.store import studies
from bandstand.store.database.connection import open_store
from bandstand.store.studies import NewArm
from bandstand.study.design import Design
from bandstand.study.records import SongSnapshot, to_bytes
from bandstand.web.routes.page import PAGE as OWN_PAGE
from tests.fixtures.browser import attacker as other_site
from tests.fixtures.browser.attacker import Site, attacker
from tests.fixtures.browser.hostile_texts import scanned
from tests.fixtures.browser.visit import log_in, until_so
from tests.fixtures.music.audio_files import make, picture
from tests.fixtures.web.chromium import PATIENCE, open_context
from tests.fixtures.web.servers import Server, serving
from tests.fixtures.web.walking import UNSAFE, operations

_FIXTURES: Final = Path(__file__).parents[1] / "fixtures" / "browser"
WITHOUT: Final = [sys.executable, str(_FIXTURES / "without_a_guard.py")]
# The harder one every time: there the browser sends the cookie along.
HOSTS: Final = ("127.0.0.1", pytest.param("localhost", marks=pytest.mark.long))
_LOGGED: Final = re.compile(r" (GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE) (/\S*) (\d+|-) \d+ ms ")

# A body for every operation that changes something, with which it would: so that only what
# refuses the sender can be what refuses the request.
BODIES: Final[dict[str, dict[str, Any]]] = {
    "POST /api/admin/scan": {"retry": True},
    "POST /api/admin/users": {"name": "mallory", "password": "let me in at once", "role": "admin"},
    "PATCH /api/admin/users/{user_id}": {"name": "mallory"},
    "DELETE /api/admin/users/{user_id}": {"name": ""},
    "DELETE /api/demo/history": {"name": ""},
    "POST /api/events": {"key": "mallory", "kind": "rating", "song": "", "stars": 1},
    "POST /api/history/forget": {"from": 0, "to": 2**52},
    "POST /api/playlists": {"name": "mallory", "songs": []},
    "PUT /api/favourites": {"scope": "artist", "target": "Mallory", "favourite": True},
    "PUT /api/playlists/{playlist_id}": {"name": "mallory's"},
    "DELETE /api/playlists/{playlist_id}": {"name": ""},
    "POST /api/session": {"name": "ben", "password": "a quiet evening in the park"},
    "DELETE /api/session": {"name": ""},
    "POST /api/session/setup": {"name": "mallory", "password": "let me in at once", "token": "x"},
    "PUT /api/session/password": {"old": "a quiet evening in the park", "new": "let me in at once"},
    "DELETE /api/session/devices": {"name": ""},
    "POST /api/session/apps": {
        "name": "mallory",
        "scope": "rate",
        "password": "a quiet evening in the park",
    },
    "DELETE /api/session/apps/{app_id}": {"name": ""},
    "POST /api/study/consent": {"agree": True},
    "POST /api/study/arms/{arm_id}/begin": {"name": ""},
    "POST /api/study/arms/{arm_id}/next": {"name": ""},
    "POST /api/study/arms/{arm_id}/ratings": {"number": 1, "stars": 1, "known": True},
    "DELETE /api/study/participation": {"confirm": "withdraw"},
    "PATCH /api/settings": {"algorithm": "", "dial": 1.0, "private": True},
    "DELETE /api/settings/account": {"password": "a quiet evening in the park"},
}


class Victim:
    """A radio with something to lose, and where everything of it is."""

    def __init__(self, server: Server) -> None:
        self.server = server
        client = server.client("ann")
        scanned(client)
        song = client.get("/api/songs").json()["songs"][0]["id"]
        rating = {"key": "own", "kind": "rating", "song": song, "stars": 4}
        assert client.post("/api/events", json=rating).status_code == 201
        playlist = client.post("/api/playlists", json={"name": "Mine", "songs": [song]}).json()
        new = {"name": "phone", "scope": "rate", "password": "a quiet evening in the park"}
        app = client.post("/api/session/apps", json=new).json()
        self.ids = {
            "song_id": song,
            "app_id": app["id"],
            "playlist_id": playlist["id"],
            "user_id": server.ids["ben"],
            "arm_id": in_a_study(server, "ann", song),
            "version": OWN_PAGE.version,
            "path": "icon.svg",
        }
        self.wait_for({("POST", "/api/playlists")})

    def changing(self) -> list[dict[str, Any]]:
        """Return every operation that changes something, as a page would send it."""
        return [
            {"method": one.method, "target": one.target(self.ids), "body": self._body(str(one))}
            for one in operations()
            if one.method in UNSAFE
        ]

    def _body(self, operation: str) -> dict[str, Any]:
        body = BODIES[operation]
        return {**body, "song": self.ids["song_id"]} if "song" in body else body

    def readable(self) -> list[str]:
        """Return the addresses of everything that can be asked for."""
        return [one.target(self.ids) for one in operations() if one.method == "GET"]

    def kept(self) -> list[str]:
        """Return everything that is in the store."""
        with closing(sqlite3.connect(f"file:{self.server.store}?mode=ro", uri=True)) as store:
            return list(store.iterdump())

    def logged(self) -> list[tuple[str, str, str]]:
        """Return method, path and status of every request that has arrived."""
        return [(one[1], one[2], one[3]) for one in _LOGGED.finditer(self.server.output)]

    def wait_for(self, requests: set[tuple[str, str]], *, already: int = 0) -> None:
        """Wait until such requests have arrived: they are written down after they were answered."""
        until = time.monotonic() + PATIENCE / 1_000
        while lacking := requests - {one[:2] for one in self.logged()[already:]}:
            assert time.monotonic() < until, lacking
            time.sleep(0.05)


def in_a_study(server: Server, name: str, song: str) -> str:
    """Let somebody take part in a study, with a song to be rated; return the id of their part."""
    design = Design(algorithms=("random", "greedy-cn"))
    catalogue = to_bytes(SongSnapshot.of([song], [[1.0, 1.0]]))
    now, account = system_clock(), server.ids[name]
    with open_store(server.store) as store, store.writing() as connection:
        study = studies.create(
            connection, title=design.title, design=design.as_json(), catalogue=catalogue, now=now
        ).id
        parts = [NewArm(place=k + 1, algorithm=a, seed=k) for k, a in enumerate(design.algorithms)]
        studies.join(connection, study, account, number=1, arms=parts, now=now)
        arm = studies.arms(connection, study, account)[0].id
        studies.begin(connection, arm, now)
        studies.offer(connection, arm, number=1, song=song, choose_ms=1, now=now)
    return arm


@contextmanager
def victim_at(home: Path, *, without: str = "") -> Iterator[Victim]:
    """Give a radio, with some guards taken out."""
    library = home / "library"
    library.mkdir()
    make(library / "song.mp3", seconds=2, cover=picture("mjpeg", width=80, height=80))
    wrapper = [*WITHOUT, without] if without else []
    (home / "store").mkdir()
    with serving(home / "store", folders=[library], wrapper=wrapper) as server:
        yield Victim(server)


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    with victim_at(tmp_path_factory.mktemp("victim")) as made:
        yield made


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with attacker() as made:
        yield made


@contextmanager
def lured(chromium: Browser, victim: Victim, address: str) -> Iterator[Page]:
    """Give the attacker's page, in a browser that is logged in to the radio."""
    with open_context(chromium) as context:
        log_in(context, victim.server, "ann")
        page = context.new_page()
        page.goto(address)
        yield page


def try_to_change(page: Page, address: str, wanted: list[dict[str, Any]]) -> list[str]:
    """Return what the attacker's page could read while it tried to change all that."""
    got: list[str] = page.evaluate("([a, w]) => fetches(a, w)", [address, wanted])
    got += page.evaluate("([a, w]) => forms(a, w)", [address, wanted])
    got += page.evaluate("([a, w]) => beacons(a, w)", [address, wanted])
    posts = [one for one in wanted if one["method"] == "POST"]
    got += page.evaluate("([a, w]) => forms(a, w, '_blank')", [address, posts])
    page.wait_for_timeout(500)  # until what nobody waits for has arrived
    return got


def try_to_read(page: Page, address: str, targets: list[str]) -> list[str]:
    """Return what the attacker's page could read, see, hear or know of."""
    asked = [{"method": method, "target": one} for one in targets for method in ("GET", "HEAD")]
    got: list[str] = page.evaluate("([a, w]) => fetches(a, w)", [address, asked])
    got += page.evaluate("([a, t]) => embeds(a, t)", [address, targets])
    got += page.evaluate("([a, t]) => streams(a, t)", [address, targets])
    got += page.evaluate("([a, t]) => frames_of(a, t)", [address, targets])
    inside = [one.url for one in page.frames if one.url.startswith(address)]
    return got + [f"a frame shows {one}" for one in inside]


def test_every_operation_has_a_body_that_would_change_something() -> None:
    assert set(BODIES) == {str(one) for one in operations() if one.method in UNSAFE}


@pytest.mark.parametrize("host", HOSTS)
def test_another_site_changes_nothing(
    chromium: Browser, victim: Victim, site: Site, host: str
) -> None:
    before, already = victim.kept(), len(victim.logged())
    posts = {("POST", one["target"]) for one in victim.changing() if one["method"] == "POST"}
    with lured(chromium, victim, site.address(host)) as page:
        assert try_to_change(page, victim.server.address, victim.changing()) == []
        victim.wait_for(posts, already=already)
    assert victim.kept() == before
    # It was tried, and it was refused because of who sent it.
    arrived = victim.logged()[already:]
    assert {status for method, _, status in arrived if method in UNSAFE} == {"403"}


@pytest.mark.parametrize("host", HOSTS)
def test_another_site_reads_hears_sees_and_frames_nothing(
    chromium: Browser, victim: Victim, site: Site, host: str
) -> None:
    before, already = victim.kept(), len(victim.logged())
    with lured(chromium, victim, site.address(host)) as page:
        assert try_to_read(page, victim.server.address, victim.readable()) == []
        victim.wait_for({("GET", one) for one in victim.readable()}, already=already)
    assert victim.kept() == before


@pytest.mark.parametrize("host", HOSTS)
def test_a_window_of_the_radio_is_out_of_reach(
    chromium: Browser, victim: Victim, site: Site, host: str
) -> None:
    with lured(chromium, victim, site.address(host)) as page:
        assert page.evaluate("(a) => windows(a)", victim.server.address) == []


def test_a_name_that_was_bent_to_this_computer_opens_nothing(
    chromium: Browser, victim: Victim
) -> None:
    """DNS rebinding: a page of `evil.localhost`, whose name then leads to the radio itself."""
    address = victim.server.address.replace("127.0.0.1", "evil.localhost")
    before = victim.kept()
    with open_context(chromium) as context:
        log_in(context, victim.server, "ann")
        page = context.new_page()
        # The page comes from the attacker, while the name still leads there.
        page.route(
            f"{address}/lure",
            lambda route: route.fulfill(content_type="text/html", body=other_site.PAGE),
        )
        page.goto(f"{address}/lure")
        wanted = [*victim.changing(), *({"method": "GET", "target": t} for t in victim.readable())]
        got: list[str] = page.evaluate("([a, w]) => fetches(a, w)", [address, wanted])
        assert len(got) >= len(wanted)
        assert [one for one in got if "unknown_host" not in one] == []
    assert victim.kept() == before


@pytest.mark.long
@pytest.mark.parametrize(("guard", "refusals"), [("origin", {"405", "415"}), ("json", {"403"})])
def test_either_guard_alone_is_enough(
    tmp_path: Path, chromium: Browser, site: Site, guard: str, refusals: set[str]
) -> None:
    """Who sends it, and that it is JSON: a page of another site passes neither.

    Which one has refused it can be told: without the first a request comes one step further.
    """
    with victim_at(tmp_path, without=guard) as victim:
        before, already = victim.kept(), len(victim.logged())
        with lured(chromium, victim, site.address("127.0.0.1")) as page:
            try_to_change(page, victim.server.address, victim.changing())
        assert victim.kept() == before
        arrived = victim.logged()[already:]
    assert {status for method, _, status in arrived if method in UNSAFE} <= refusals


def test_a_radio_without_these_guards_is_found_out(
    tmp_path: Path, chromium: Browser, site: Site
) -> None:
    """The twin: the same attacks leave a rating and a playlist, and frame and embed a page."""
    with victim_at(tmp_path, without="origin,json,frames") as victim:
        address, before = victim.server.address, victim.kept()
        quick = ("/api/events", "/api/playlists")  # where no password has to be hashed
        wanted = [one for one in victim.changing() if one["target"] in quick]
        with lured(chromium, victim, site.address("127.0.0.1")) as page:
            try_to_change(page, address, wanted)
            until_so(page, lambda: is_changed(before, victim.kept()), "a changed radio")
        cover, audio = (f"/api/songs/{victim.ids['song_id']}/{what}" for what in ("cover", "audio"))
        with lured(chromium, victim, site.address("127.0.0.1")) as page:
            got = try_to_read(page, address, ["/openapi.json", cover, audio])
    assert {f"img {cover}", f"audio {audio}"} <= set(got)
    assert f"a frame shows {address}/openapi.json" in got


def is_changed(before: list[str], now: list[str]) -> bool:
    """Return whether the attacker has told something and has made a playlist."""
    own = [line for line in now if line not in before and "mallory" in line]
    return all(any(f'INTO "{table}"' in line for line in own) for table in ("event", "playlist"))

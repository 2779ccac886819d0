"""Covers in a real browser: shown if they are pictures, and nothing else whatever they are (E13).

Every picture of `tests.fixtures.browser.pictures` is inside a song's file, and beside one. Each is
asked for by a page of the radio's own address that has no policy at all, which is worse than any
page there is: as an image, a script, a style, a frame, a worker; and its address is opened.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from bandstand.music.audio import tags
from bandstand.store.database.connection import open_store
from bandstand.store.songs.save_analysis import record_analyses
from bandstand.types import Tags
from benchmarks.fixtures.songs import NOW
from tests.fixtures.browser.hostile_texts import analysis_of, scanned
from tests.fixtures.browser.pictures import HOSTILE, HTML, tagged
from tests.fixtures.browser.script_trap import Trap, odd_elements
from tests.fixtures.browser.tour import every_song
from tests.fixtures.browser.visit import log_in, until_so
from tests.fixtures.music import audio_files as making
from tests.fixtures.web.chromium import open_context
from tests.fixtures.web.servers import Server, prepared

SHOWN: Final = frozenset({"image/jpeg", "image/png", "image/webp"})
BESIDE: Final = ("cover.jpg", "folder.png", "front.webp", "Album.JPEG")
WAYS: Final = ("mp3", "flac", "beside")
SIZES: Final = ("", "?size=64", "?size=256", "?size=512")
LONG: Final = pytest.mark.long
# Asks for one address in every way that a page has; gives the ways in which something came.
_ASK: Final = """async (address) => {
  const got = [];
  const elements = {
    script: ["src"], module: ["src"], link: ["href"], iframe: ["src"], object: ["data"],
    embed: ["src"], audio: ["src"], video: ["src"], img: ["src"],
  };
  const asked = Object.entries(elements).map(([kind, [place]]) => new Promise((done) => {
    const element = document.createElement(kind === "module" ? "script" : kind);
    if (kind === "module") element.type = "module";
    if (kind === "link") element.rel = "stylesheet";
    for (const good of ["load", "loadeddata"]) {
      element.addEventListener(good, () => { got.push(kind); done(); });
    }
    element.addEventListener("error", done);
    element[place] = address;
    document.body.append(element);
    setTimeout(done, 1000);
  }));
  asked.push(import(address).then(() => got.push("import"), () => {}));
  asked.push(new Promise((done) => {
    const worker = new Worker(address);
    worker.onerror = done;
    worker.onmessage = () => { got.push("worker"); done(); };
    setTimeout(done, 1000);
  }));
  asked.push(navigator.serviceWorker.register(address).then(() => got.push("service"), () => {}));
  await Promise.all(asked);
  document.body.replaceChildren();
  return got.sort();
}"""


@pytest.fixture(scope="module")
def is_long(request: pytest.FixtureRequest) -> bool:
    """Whether everything is done: all pictures in all ways, read by the scanner itself."""
    return bool(request.config.getoption("long"))


@pytest.fixture(scope="module")
def server(is_long: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A radio in whose library every hostile picture is several times."""
    library, home = tmp_path_factory.mktemp("library"), tmp_path_factory.mktemp("home")
    songs = [*_with_pictures_beside(library), *_with_pictures_inside(library, is_long=is_long)]
    radio = prepared(home, folders=[library])
    with open_store(radio.store) as store, store.writing() as connection:
        # What is known already is not read again.
        known = [
            (os.fsencode(path), analysis_of(path, tags, number))
            for number, (path, tags) in enumerate(songs)
        ]
        record_analyses(connection, known, scan=0, now=NOW)
    try:
        scanned(radio.start().client("ann"))
        yield radio
    finally:
        radio.close()


def _with_pictures_beside(library: Path) -> Iterator[tuple[Path, Tags]]:
    sound = making.make(library / "plain.mp3", seconds=1).read_bytes()
    for number, (name, one) in enumerate(HOSTILE.items()):
        folder = library / str(number)
        folder.mkdir()
        (folder / BESIDE[number % len(BESIDE)]).write_bytes(one.image)
        path = folder / f"beside {name}.mp3"
        path.write_bytes(sound)
        yield path, Tags()


def _with_pictures_inside(library: Path, *, is_long: bool) -> Iterator[tuple[Path, Tags]]:
    """Write songs, and yield those that the scanner need not read, with what it would find."""
    bare = making.make(library / "bare.mp3", seconds=1, options={"id3v2_version": "0"})
    sound, flac = bare.read_bytes(), making.make(library / "plain.flac", seconds=1).read_bytes()
    for name, one in HOSTILE.items():
        path = library / f"mp3 {name}.mp3"
        path.write_bytes(tagged(sound, f"mp3 {name}", one))
        if is_long:
            (library / f"flac {name}.flac").write_bytes(making._flac_with(flac, one.image))
            continue
        with path.open("rb") as file:
            yield path, Tags(title=f"mp3 {name}", cover=tags._cover(file))


@pytest.fixture(scope="module")
def songs(server: Server) -> dict[str, dict[str, Any]]:
    """All songs by title: a carrier and the name of a picture."""
    return {song["title"]: song for song in every_song(server.client("ann"))}


@contextmanager
def plain_page(chromium: Browser, server: Server) -> Iterator[tuple[Page, Trap]]:
    """Give a page of the radio's own address without any policy, and what was caught in it."""
    with open_context(chromium, service_workers="allow") as context:
        log_in(context, server, "ann")
        trap, page = Trap(context, server.address), context.new_page()
        page.route(f"{server.address}/bare", _bare)
        page.goto(f"{server.address}/bare")
        yield page, trap


def _bare(route: Route) -> None:
    route.fulfill(content_type="text/html", body="<!doctype html><title>Bare</title><body>")


def harmful(trap: Trap) -> list[str]:
    """Return what was caught, but for the console's words about what was refused."""
    return [one for one in trap.caught if not one.startswith("on the console")]


# Once with what is known of the songs, once with what the scanner finds in them.
@pytest.mark.parametrize(
    "ways", [("mp3", "beside"), pytest.param(WAYS, marks=LONG)], ids=["known", "scanned"]
)
def test_only_pictures_are_sent_and_asked_for(
    server: Server, songs: dict[str, dict[str, Any]], ways: tuple[str, ...]
) -> None:
    """What is asked for in vain is written to the browser's console."""
    assert {f"{way} {name}" for way in ways for name in HOSTILE} <= set(songs)
    client, in_vain = server.client("ann"), set()
    for title, song in songs.items():
        one = HOSTILE.get(title.partition(" ")[2])
        for size in SIZES:
            answer = client.get(f"/api/songs/{song['id']}/cover{size}")
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "x-pwn" not in answer.headers
            if answer.status_code == 200:
                assert answer.headers["content-type"] in SHOWN, title
                assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
                assert answer.headers["content-disposition"] == "inline"
                assert song["has_cover"], title
            else:
                assert answer.status_code == 404, (title, answer.text)
                in_vain |= {one} if song["has_cover"] else set()
            if one is not None and one.is_picture is not None:
                assert (answer.status_code == 200) == one.is_picture, (title, size)
    # What begins like a picture and is damaged further on is only found out by decoding it.
    assert [one for one in in_vain if one is None or one.is_picture is not None] == []


# Some pictures inside an mp3 every time; all of them, in every place, in the long run.
@pytest.mark.parametrize(
    ("way", "every"), [("mp3", 3), *(pytest.param(way, 1, marks=LONG) for way in WAYS)]
)
def test_nothing_in_a_cover_runs_and_an_opened_one_is_a_picture_in_a_sandbox(
    chromium: Browser, server: Server, songs: dict[str, dict[str, Any]], way: str, every: int
) -> None:
    some = list(HOSTILE.items())[::every]
    with plain_page(chromium, server) as (page, trap):
        for name, one in some:
            got = page.evaluate(_ASK, f"/api/songs/{songs[f'{way} {name}']['id']}/cover")
            # Frames say that they have loaded whatever came, even a refusal.
            seen = set() if one.is_picture is False else {"img"}
            assert set(got) - {"iframe", "object", "embed"} - seen == set(), name
            assert not one.is_picture or "img" in got, name
        inside = [frame.url for frame in page.frames if frame.url.startswith(server.address)]
        assert inside == [f"{server.address}/bare"]
        for name, one in some:
            page.goto(f"{server.address}/api/songs/{songs[f'{way} {name}']['id']}/cover")
            kind = page.evaluate("document.contentType")
            assert one.is_picture is None or (kind in SHOWN) == one.is_picture, name
            if kind in SHOWN:
                assert page.evaluate("self.origin") == "null", name
            else:
                assert kind == "application/json", name
    assert harmful(trap) == []


def test_a_server_that_believes_what_a_cover_says_it_is_is_found_out(
    chromium: Browser, server: Server, songs: dict[str, dict[str, Any]]
) -> None:
    """The twin: the same bytes, sent as what they claim to be and without the headers, run."""
    with plain_page(chromium, server) as (page, trap):
        address = f"/api/songs/{songs['mp3 jpeg']['id']}/cover"

        def believe(route: Route) -> None:
            is_script = route.request.resource_type == "script"
            kind, body = ("text/javascript", b"ran(1)") if is_script else ("text/html", HTML)
            route.fulfill(content_type=kind, body=body)

        page.route(f"{server.address}{address}", believe)
        got = page.evaluate(_ASK, address)
        assert {"script", "module", "import"} <= set(got)
        until_so(page, lambda: "a payload ran" in harmful(trap), "run it")


def test_the_page_shows_a_picture_or_draws_one_of_its_own(
    chromium: Browser, server: Server, songs: dict[str, dict[str, Any]]
) -> None:
    with open_context(chromium) as context:
        log_in(context, server, "ann")
        trap, page = Trap(context, server.address), context.new_page()
        page.goto(f"{server.address}/#/library")
        for name, one in list(HOSTILE.items())[::4]:
            song = songs[f"mp3 {name}"]
            page.evaluate("(hash) => { location.hash = hash; }", f"#/song/{song['id']}")
            expect(page.locator("main h1")).to_have_text(f"mp3 {name}")
            if one.is_picture:
                picture = page.locator("main .cover img").first
                expect(picture).to_have_js_property("complete", True)  # noqa: FBT003
                assert picture.evaluate("(image) => image.naturalWidth") > 0
            elif one.is_picture is False:
                expect(page.locator("main .cover svg").first).to_be_attached()
                assert page.locator("main .cover img").count() == 0
            assert odd_elements(page) == []
        in_vain = [one for one in trap.caught if "status of 404" in one and "/cover" in one]
    assert [one for one in trap.caught if one not in in_vain] == []

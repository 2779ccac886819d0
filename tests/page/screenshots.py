"""Every page as people see it, phone and desktop, light and dark: `./run screenshots`.

    python -m tests.page.screenshots [--to FOLDER] [--only NAME …] [--whole]

The real server with a listener of 300 ratings is photographed in a real Chromium. Both live at the
same moment of an invented Sunday evening, and every round begins with the same store, so that two
runs give the same pictures wherever the page is the same.
"""

from __future__ import annotations

import argparse
import datetime as dt
import io
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from PIL import Image
from scipy.spatial import cKDTree

from tests.page.long_time_listener import filled
from tests.page.views import VIEWS
from tests.page.visiting import visit
from tests.web.live import browser
from tests.web.serving import prepared

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, Page, Request

    from tests.page.views import View
    from tests.web.serving import Server

Theme = Literal["light", "dark"]

IMAGES: Final = Path(__file__).resolve().parents[2] / "docs" / "images"
MOMENT: Final = dt.datetime(2026, 6, 14, 19, 40, tzinfo=dt.UTC)
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
_COLOURS: Final = 256
_LOOK_EVERY: Final = 50  # milliseconds
_QUIET_LOOKS: Final = 12  # one after the other, and the page is complete
_MOST_LOOKS: Final = 600
_IS_COMPLETE: Final = (
    "document.querySelector('main h1') !== null && !document.querySelector('.skeleton')"
    " && [...document.images].every((image) => image.complete || image.loading === 'lazy')"
    " && document.fonts.status === 'loaded'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What a page is looked at with."""

    name: str
    width: int
    height: int
    scale: int
    is_phone: bool

    def options(self, theme: Theme) -> dict[str, Any]:
        return {
            "size": {"width": self.width, "height": self.height},
            "theme": theme,
            "device_scale_factor": self.scale,
            "has_touch": self.is_phone,
            "is_mobile": self.is_phone,
            "reduced_motion": "reduce",
            "locale": "en-GB",
            "timezone_id": "Europe/London",
        }


SCREENS: Final = (
    Screen(name="phone", width=390, height=844, scale=2, is_phone=True),
    Screen(name="desktop", width=1440, height=900, scale=1, is_phone=False),
)


class Studio:
    """A place where pictures are taken: two prepared stores, a browser, and a folder."""

    def __init__(self, home: Path, to: Path, *, whole: bool) -> None:
        self._home = home
        self._to = to
        self._whole = whole
        self.complaints: list[str] = []  # of the pages
        new = home / "new"
        new.mkdir()
        self._servers = {
            "old": filled(home, now=_milliseconds(MOMENT)).server,
            "new": prepared(new, names={}, folders=[home / "Music"]),
        }
        for server in self._servers.values():
            _live_at(server)
            shutil.copyfile(server.store, f"{server.store}.before")

    def take(self, chromium: Browser, views: Sequence[View], screen: Screen, theme: Theme) -> None:
        """Take the pictures of some views."""
        for kind, server in self._servers.items():
            wanted = [view for view in views if view.server == kind]
            if wanted:
                with _running(server):
                    for view in wanted:
                        self._take(chromium, server, view, screen, theme)

    def _take(
        self, chromium: Browser, server: Server, view: View, screen: Screen, theme: Theme
    ) -> None:
        with visit(chromium, server, view.who, **screen.options(theme)) as watched:
            page, waiter = watched.page, Waiter(watched.page)
            page.clock.set_fixed_time(MOMENT)
            page.goto(f"{server.address}/{view.address(server)}")
            view.prepare(watched)
            if not waiter.waited():
                watched.complaints.append("it must be complete by now")
            if self._whole or view.whole:
                stretch(page, screen)
            picture = page.screenshot()
        self.complaints += [f"{view.name}: {complaint}" for complaint in watched.complaints]
        write(picture, self._to / f"{view.name}-{screen.name}-{theme}.png")


class Waiter:
    """Tells when a page is complete: nothing is asked for any more, and nothing holds a place."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._asked: set[Request] = set()
        page.on("request", self._ask)
        for end in ("requestfinished", "requestfailed"):
            page.on(end, self._answer)

    def _ask(self, request: Request) -> None:
        self._asked.add(request)

    def _answer(self, request: Request) -> None:
        self._asked.discard(request)

    def waited(self) -> bool:
        """Wait for all that is still to come, and return whether it came."""
        quiet = 0
        for _ in range(_MOST_LOOKS):
            quiet = quiet + 1 if self._is_quiet() else 0
            if quiet >= _QUIET_LOOKS:
                return True
            self._page.wait_for_timeout(_LOOK_EVERY)
        return False

    def _is_quiet(self) -> bool:
        # Sound comes in parts while it plays, and what is told of a scan never ends.
        waiting = [each for each in self._asked if not each.url.endswith(("/audio", "/progress"))]
        return not waiting and bool(self._page.evaluate(_IS_COMPLETE))


def stretch(page: Page, screen: Screen) -> None:
    """Make the screen as high as the page, so that what sticks to its lower edge is at the end."""
    height = int(page.evaluate("document.documentElement.scrollHeight"))
    page.set_viewport_size({"width": screen.width, "height": max(height, screen.height)})
    page.wait_for_timeout(_LOOK_EVERY * _QUIET_LOOKS)


def write(picture: bytes, to: Path) -> None:
    """Write a picture with few colours, which a page has anyway: a third of the bytes."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    with_few_colours(image).save(to, format="PNG", optimize=True)


def with_few_colours(image: Image.Image) -> Image.Image:
    """Return a picture of 256 colours that nobody can tell from the original.

    Half of them are what most pixels have, for soft shadows; the others are those that are
    furthest apart, so that a thin line keeps its colour too.
    """
    half = _COLOURS // 2
    common = image.quantize(half, kmeans=2, dither=Image.Dither.NONE)
    apart = image.quantize(
        half, method=Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
    )
    chosen = [np.array(some.getpalette()).reshape(-1, 3)[:half] for some in (common, apart)]
    palette = np.vstack(chosen).astype(np.uint8)
    pixels = np.asarray(image).reshape(-1, 3)
    there, place = np.unique(pixels, axis=0, return_inverse=True)
    nearest = np.asarray(cKDTree(palette).query(there)[1], dtype=np.uint8)
    few = Image.frombytes("P", image.size, nearest[place.ravel()].tobytes())
    few.putpalette(palette.ravel().tolist())
    return few


def _live_at(server: Server) -> None:
    """Let a server believe that it is that evening."""
    script = Path(__file__).with_name("another_time.py")
    server.wrapper = [sys.executable, str(script), str(_milliseconds(MOMENT))]


def _milliseconds(moment: dt.datetime) -> int:
    return round(moment.timestamp() * 1_000)


@contextmanager
def _running(server: Server) -> Iterator[None]:
    """Let a server run with the store as it was before anybody looked."""
    for left in Path(server.store).parent.glob(f"{Path(server.store).name}-*"):
        left.unlink()
    shutil.copyfile(f"{server.store}.before", server.store)
    server.start()
    try:
        yield
    finally:
        server.stop()


def main() -> None:
    """Take all pictures, or those that are named."""
    parser = argparse.ArgumentParser(description="Take pictures of every page.")
    parser.add_argument("--to", type=Path, default=IMAGES, help="folder; docs/images unless given")
    parser.add_argument("--only", nargs="*", default=[view.name for view in VIEWS])
    parser.add_argument("--whole", action="store_true", help="whole pages, not what a screen shows")
    asked = parser.parse_args()
    views = [view for view in VIEWS if view.name in asked.only]
    asked.to.mkdir(parents=True, exist_ok=True)
    # Always the same place: pages show it, and songs have their ids from it.
    home = Path(tempfile.gettempdir()) / "bandstand"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    with browser() as chromium:
        studio = Studio(home, asked.to, whole=asked.whole)
        for screen in SCREENS:
            for theme in THEMES:
                studio.take(chromium, views, screen, theme)
    shutil.rmtree(home)
    taken = sorted(asked.to.glob("*-*-*.png"))
    size = sum(picture.stat().st_size for picture in taken)
    sys.stdout.write(f"{len(taken)} pictures, {size / 1e6:.1f} MB, in {asked.to}\n")
    sys.exit("\n".join(studio.complaints) or 0)


if __name__ == "__main__":
    main()

"""A server with a study, people who are somewhere in it, and what they see and press.

with study_server(home, music, rest_seconds=2.0) as world:
    with visit(chromium, world.server, "a") as tab:
        agree(tab)
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from playwright.sync_api import expect

from bandstand.radio.choice.shelf import load_shelf
from bandstand.radio.clock import system_clock
from bandstand.radio.study.opening import open_study
from bandstand.store import studies
from bandstand.store.database.connection import open_store
from bandstand.store.studies import NewArm
from bandstand.study.design import Design
from tests.web.serving import prepared

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from bandstand.store.accounts import Role
    from bandstand.store.studies import SongRow, StudyRow
    from tests.page.visiting import Watched
    from tests.web.serving import Server

TITLE: Final = "Songs on Sunday"
CONSENT: Final = "We compare ways to choose songs.\n\nThe results have no names in them."
ALGORITHMS: Final = ("random", "greedy-cn", "bayes-ucb-cn-v")
SECOND: Final = 1_000  # milliseconds
HOUR: Final = 3_600 * SECOND
# The rules of the paper, in seconds instead of minutes where somebody waits for them.
QUICK: Final[dict[str, Any]] = {
    "title": TITLE,
    "consent": CONSENT,
    "algorithms": ALGORITHMS,
    "ratings_per_arm": 5,
    "listen_seconds": 1.0,
    "rest_after": 3,
    "rest_seconds": 5.0,
    "answer_seconds": 0.2,
    "least_songs": 5,
}
# Songs play at a tenth of their speed: more time goes by than is heard, however slow a machine is.
SLOWLY: Final = """{
  const slow = (audio) => {
    if (audio.defaultPlaybackRate !== 1) return;
    audio.defaultPlaybackRate = audio.playbackRate = 0.1;
  };
  new MutationObserver(() => document.querySelectorAll("audio").forEach(slow))
    .observe(document, { childList: true, subtree: true });
}"""
FAST: Final = "document.querySelectorAll('audio').forEach((one) => (one.playbackRate = 4))"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A server, and the study that is open on it."""

    server: Server
    study: StudyRow

    def ratings(self, name: str, place: int = 1) -> list[SongRow]:
        """Return what somebody was offered in a part, as the store has it."""
        with open_store(self.server.store) as store, store.reading() as connection:
            arms = studies.arms(connection, self.study.id, self.server.ids[name])
            return studies.songs_of(connection, arms[place - 1].id)

    def close(self) -> None:
        """Close the study, as `bandstand study close` does beside a server that runs."""
        with open_store(self.server.store) as store, store.writing() as connection:
            studies.close(connection, self.study.id, now=system_clock())

    def let(self, name: str, *, done: Sequence[float] = (), rated: int | None = None) -> None:
        """Let somebody have joined long ago: parts finished so many hours ago, one under way.

        `done` has the hours since the end of each part; `rated` is how many songs of the next one
        are rated, the last of them just now, or None where it is not begun.
        """
        with open_store(self.server.store) as store:
            songs = load_shelf(store).ids
        with open_store(self.server.store) as store, store.writing() as connection:
            account, count = self.server.ids[name], self.study.design["ratings_per_arm"]
            studies.join(
                connection,
                self.study.id,
                account,
                number=studies.free_number(connection, self.study.id),
                arms=[NewArm(place=k + 1, algorithm=a, seed=k) for k, a in enumerate(ALGORITHMS)],
                now=system_clock() - 100 * HOUR,
            )
            arms = studies.arms(connection, self.study.id, account)
            parts = [(round(hours * HOUR), count) for hours in done]
            parts += [] if rated is None else [(0, rated)]
            for arm, (ago, ratings) in zip(arms, parts, strict=False):
                at = system_clock() - ago
                studies.begin(connection, arm.id, at - SECOND)
                for number in range(1, ratings + 1):
                    song = songs[number % len(songs)]
                    studies.offer(
                        connection, arm.id, number=number, song=song, choose_ms=1, now=at - SECOND
                    )
                    studies.rate(
                        connection,
                        arm.id,
                        number=number,
                        stars=3,
                        known=True,
                        played_ms=None,
                        now=at,
                    )


@contextmanager
def study_server(
    home: Path,
    music: Path,
    *,
    names: str = "abcdefgh",
    invited: str = "",
    admins: str = "",
    **changes: Any,
) -> Iterator[World]:
    """Give a server with a study; `invited` have accounts that were made for it."""
    people: dict[str, Role] = dict.fromkeys([*names, *invited], "listener")
    people |= dict.fromkeys(admins, "admin")
    server = prepared(home, folders=[music], names=people)
    try:
        with open_store(server.store) as store:
            design = Design(**{**QUICK, **changes})
            study = open_study(store, load_shelf(store), design, clock=system_clock)
            with store.writing() as connection:
                for name in invited:
                    studies.invite(
                        connection,
                        study.id,
                        server.ids[name],
                        made_for_study=True,
                        number=studies.free_number(connection, study.id),
                        now=system_clock(),
                    )
        server.start()
        yield World(server=server, study=study)
    finally:
        server.close()


# ── What is seen and pressed ────────────────────────────────────────────────────────────


def heading(page: Page) -> Locator:
    """Return what the page is about now."""
    return page.get_by_role("heading", level=1)


def song(page: Page) -> Locator:
    """Return the name of the song that is heard."""
    return page.locator("h1[data-study-song]")


def toast(page: Page) -> Locator:
    """Return where short messages appear."""
    return page.locator("#notices")


def voice(page: Page) -> Locator:
    """Return what is said to those who do not look."""
    return page.locator("main [role=status]")


def press(page: Page, name: str) -> None:
    """Press a button by its name."""
    page.get_by_role("button", name=name).click()


def go_to_study(page: Page) -> None:
    """Go to the study from another page, which takes no time."""
    page.get_by_role("link", name="Study").click()


def agree(tab: Watched) -> Page:
    """Open the study and agree to take part."""
    page = tab.open("study")
    expect(heading(page)).to_have_text(TITLE)
    page.get_by_role("checkbox", name="I have read this").check()
    press(page, "Take part")
    expect(heading(page)).to_have_text("Part 1 of 3")
    return page


def begin(tab: Watched) -> Page:
    """Agree, and begin the first part."""
    page = agree(tab)
    press(page, "Begin part 1")
    expect(song(page)).to_be_visible()
    return page


def until_open(page: Page) -> None:
    """Wait until the song may be rated."""
    expect(page.locator(".star[aria-disabled=false]")).to_have_count(5)


def rate(page: Page, stars: int, number: int) -> None:
    """Give a song its stars once it may have them; it must be the one with this number."""
    expect(page.get_by_text(f"Song {number} of")).to_be_visible()
    until_open(page)
    press(page, f"{stars} star")

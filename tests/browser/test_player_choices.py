"""Why a song was chosen: what is shown adds up as it is shown."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SONGS
from tests.fixtures.browser.player import choose, listen, next_up, title, toast
from tests.fixtures.browser.visit import Watched, visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

    from tests.fixtures.browser.visit import Watched
    from tests.fixtures.web.servers import Server

SEED = 7
CASES = 2_000
GROUPS = ("tempo", "brightness", "harmony", "timbre", "movement", "other")
IMPORT = """
  const root = document.querySelector("script[type=module]").src.replace("app/main.js", "");
  const { inTenths, steps } = await import(`${root}player/score_steps.js`);
  const { expectedInWords } = await import(`${root}player/why.js`);
"""


@pytest.fixture(scope="module")
def sums(chromium: Browser, quiet_server: Server) -> Iterator[Watched]:
    """A tab with the page in it; one for all questions of sums."""
    with visit(chromium, quiet_server, None) as watched:
        watched.open()
        yield watched


def drawn_choice(rng: random.Random) -> dict[str, Any]:
    """Return the parts of a choice as the radio explains it, with sums that are exact."""
    width = rng.choice((0.01, 0.1, 1.0))
    groups = {name: rng.gauss(0, width) for name in GROUPS}
    base = rng.choice((0.0, rng.uniform(1, 5)))
    liking = base + sum(groups.values())
    staleness = rng.choice((None, rng.gauss(0, 0.05), -rng.uniform(0, 3)))
    expected = liking + (staleness or 0)
    exploration = rng.choice((None, rng.gauss(0, 1.5)))
    score = None if exploration is None else expected + exploration
    heard = rng.choice((None, rng.uniform(1, 1e6)))
    why = {"base": base, "groups": groups, "liking": liking, "staleness": staleness}
    rest = {"exploration": exploration, "score": score, "minutes_since_heard": heard}
    return {**why, **rest, "expected": expected}


def adds_up(shown: list[dict[str, Any]]) -> bool:
    """Return whether every total is what stands above it, in whole tenths."""
    now: int = 0
    is_begun = False
    for step in shown:
        if "change" in step:
            now, is_begun = now + step["change"], True
            continue
        if is_begun and now != step["total"]:
            return False
        now, is_begun = step["total"], True
    return True


def test_whatever_the_parts_are_what_is_shown_adds_up(sums: Watched) -> None:
    rng = random.Random(SEED)  # no secret
    whys = [drawn_choice(rng) for _ in range(CASES)]
    shown, exact = sums.page.evaluate(
        f"""async (whys) => {{ {IMPORT}
          return [whys.map((why) => inTenths(steps(why))), whys.map(steps)];
        }}""",
        whys,
    )
    assert all(adds_up(one) for one in shown)
    for rounded, real in zip(shown, exact, strict=True):
        for one, other in zip(rounded, real, strict=True):
            kind = "total" if "total" in one else "change"
            assert abs(one[kind] - 10 * other[kind]) < (0.51 if kind == "total" else 2)
    each_by_itself = [
        [
            {name: round(10 * step[name]) for name in ("change", "total") if name in step}
            for step in one
        ]
        for one in exact
    ]
    assert not all(adds_up(one) for one in each_by_itself)  # the twin: rounded one by one


def test_of_a_song_that_was_never_heard_nothing_is_said_of_freshness(sums: Watched) -> None:
    why = {"base": 3.0, "groups": {"tempo": 0.5}, "liking": 3.5, "expected": 3.46, "score": None}
    unheard = {**why, "exploration": None, "minutes_since_heard": None, "staleness": -0.04}
    doubtful = {**unheard, "staleness": -0.2, "expected": 3.3}
    heard = {**doubtful, "minutes_since_heard": 90}
    labels = sums.page.evaluate(
        f"""async (whys) => {{ {IMPORT}
          return whys.map((why) => steps(why).map(({{ label }}) => label));
        }}""",
        [unheard, doubtful, heard],
    )
    start = ["What an average song gets", "Its tempo"]
    assert labels[0] == [*start, "Expected now"]
    assert labels[1] == [*start, "When it is new", "Not quite sure how fresh", "Expected now"]
    assert labels[2] == [*start, "When it is new", "Heard lately", "Expected now"]


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (4.24, "about 4.2 stars"),
        (5.04, "about 5.0 stars"),
        (5.6, "5.6, so about 5 stars (the scale ends there)"),
        (-0.26, "−0.3, so about 1 star (the scale ends there)"),
    ],
)
def test_the_scale_has_ends(sums: Watched, expected: float, words: str) -> None:
    found = sums.page.evaluate(
        f"async (value) => {{ {IMPORT} return expectedInWords(value); }}", expected
    )
    assert found == words


def test_the_reasons_add_up(ann: Watched, server: Server) -> None:
    client = server.client("ann")
    songs = [song["id"] for song in client.get("/api/songs").json()["songs"]]
    assert len(songs) == SONGS
    for number, song in enumerate(songs[:8]):
        event = {"key": f"why-{number}", "kind": "rating", "song": song, "stars": 1 + number % 5}
        assert client.post("/api/events", json=event).status_code == 201
    page = listen(ann)
    page.keyboard.press("w")
    dialog = page.get_by_role("dialog", name="Why “")
    expect(dialog).to_contain_text("about ")
    shown = []
    for row in dialog.locator("tbody tr").all():
        value = float(row.locator("td").inner_text().replace("−", "-"))
        kind = "total" if row.get_attribute("class") == "sum" else "change"
        shown.append({kind: round(10 * value)})
    assert adds_up(shown)
    expected = dialog.get_by_role("row", name="Expected now").locator("td").inner_text()
    expect(dialog.locator("dd").first).to_contain_text(expected)
    expect(dialog.locator("tbody tr").last).to_contain_text("Its score")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


# Only songs of some years: asked for, seen, remembered and let go.


# The music of these tests: song n is of the year 1990 + n, for n up to 11.
ASK = "Only some years…"


def asked(page: Page) -> Locator:
    """Return the question for years, opened from the song's menu."""
    choose(page, "More", ASK)
    return page.get_by_role("dialog", name="Only some years")


def only(page: Page, first: str, last: str) -> None:
    dialog = asked(page)
    dialog.get_by_label("From year").fill(first)
    dialog.get_by_label("To year").fill(last)
    dialog.get_by_role("button", name="Play", exact=True).click()
    expect(dialog).to_have_count(0)


def number(name: str) -> int:
    return int(name.removeprefix("Song "))


def shown(watched: Watched) -> list[int]:
    """Return the years of what comes, once all of it is known."""
    expect(watched.page.locator(".coming")).to_have_attribute("aria-busy", "false")
    return [1990 + number(name) for name in watched.page.locator(".coming-title").all_inner_texts()]


def test_only_some_years_play_until_they_are_let_go(ben: Watched) -> None:
    page = listen(ben)
    song = title(page).inner_text()
    first = 1990 if number(song) > 5 else 1996  # none that plays now
    only(page, str(first), str(first + 4))
    chip = page.get_by_text(f"Only {first} to {first + 4}", exact=True)
    expect(chip).to_be_visible()
    expect(title(page)).not_to_have_text(song)
    assert number(title(page).inner_text()) + 1990 in range(first, first + 5)
    assert set(shown(ben)) <= set(range(first, first + 5))
    page.reload()
    expect(chip).to_be_visible()
    expect(next_up(page)).to_be_visible()
    assert set(shown(ben)) <= set(range(first, first + 5))
    page.get_by_role("button", name=f"Stop playing only {first} to {first + 4}").click()
    expect(chip).to_be_hidden()
    ben.until("document.querySelectorAll('.coming > li').length === 8")
    assert not set(shown(ben)) <= set(range(first, first + 5))


def test_a_song_that_is_of_these_years_plays_on(ben: Watched) -> None:
    page = listen(ben)
    song = title(page).inner_text()
    year = str(1990 + number(song))
    only(page, year, "")
    expect(page.get_by_text(f"Only {year} and later", exact=True)).to_be_visible()
    expect(title(page)).to_have_text(song)
    only(page, "", year)
    expect(page.get_by_text(f"Only {year} and earlier", exact=True)).to_be_visible()
    only(page, year, year)
    expect(page.get_by_text(f"Only {year}", exact=True)).to_be_visible()
    only(page, "", "")
    expect(page.get_by_text("Only")).to_have_count(0)
    expect(title(page)).to_have_text(song)


def test_years_go_with_a_start(ben: Watched) -> None:
    page = listen(ben)
    only(page, "1993", "1999")
    expect(page.get_by_text("Only 1993 to 1999", exact=True)).to_be_visible()
    artist = page.locator(".player-artist").inner_text()
    with page.expect_request(lambda request: "artist=" in request.url) as found:
        choose(page, "More", f"Start from {artist}")
    assert "year_from=1993&year_to=1999" in found.value.url
    expect(page.get_by_text(f"Starting from {artist}", exact=True)).to_be_visible()
    expect(page.get_by_text("Only 1993 to 1999", exact=True)).to_be_visible()
    page.get_by_role("button", name=f"Stop starting from {artist}").click()
    expect(page.get_by_text("Only 1993 to 1999", exact=True)).to_be_visible()
    assert set(shown(ben)) <= set(range(1993, 2000))


def test_years_of_no_song_are_told_and_change_nothing(ben: Watched) -> None:
    page = listen(ben)
    song = title(page).inner_text()
    only(page, "1990", "")
    expect(page.get_by_text("Only 1990 and later", exact=True)).to_be_visible()
    only(page, "1800", "1810")
    expect(toast(page)).to_contain_text("There must be songs of the years that are asked for.")
    expect(page.get_by_text("Only 1990 and later", exact=True)).to_be_visible()
    expect(title(page)).to_have_text(song)
    # A range that was remembered and has no songs by now is let go, and the music goes on.
    visit = "JSON.parse(sessionStorage.getItem('bandstand.visit'))"
    years = "{year_from: 1800, year_to: 1810}"
    page.add_init_script(
        f"sessionStorage.setItem('bandstand.visit', JSON.stringify({{...{visit}, years: {years}}}))"
    )
    page.reload()
    expect(toast(page)).to_contain_text("There must be songs of the years that are asked for.")
    expect(next_up(page)).to_be_visible()
    expect(page.get_by_text("Only 1800 to 1810", exact=True)).to_be_hidden()
    ben.complaints[:] = [one for one in ben.complaints if "404" not in one]


def test_the_fields_work_by_keyboard_and_refuse_what_is_no_range(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    more = page.get_by_role("button", name="More", exact=True)
    more.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("o")
    expect(page.get_by_role("menuitem", name=ASK)).to_be_focused()
    page.keyboard.press("Enter")
    group = page.get_by_role("group", name="Only songs of these years")
    first, last = group.get_by_label("From year"), group.get_by_label("To year")
    expect(first).to_be_focused()
    page.keyboard.type("1995")
    page.keyboard.press("Tab")
    expect(last).to_be_focused()
    page.keyboard.type("1991")
    page.keyboard.press("Enter")
    expect(group).to_be_visible()
    message = "field => field.validationMessage"
    assert last.evaluate(message) == "The last year must not be before the first."
    last.fill("123456")
    assert last.evaluate("field => field.validity.rangeOverflow")
    last.fill("1.5")
    assert last.evaluate("field => field.validity.stepMismatch")
    page.keyboard.press("Escape")
    expect(group).to_have_count(0)
    expect(more).to_be_focused()
    assert ben.last_event() == before  # digits are stars elsewhere
    expect(page.get_by_text("Only")).to_have_count(0)

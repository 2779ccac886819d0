"""What an audit says of every page and state, and what it does not look at."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page

from tests.fixtures.browser.page_states import STATES, State, Tabs
from tests.fixtures.browser.visit import DESK, PHONE
from tests.fixtures.web.servers import Server

# 320 is what a window of 1280 has at 400 %, and 720 what one of 1440 has at 200 %.
WIDTHS: Final = (1440, 768, 720, 390, 320)
SIZES: Final = (DESK, PHONE)
# What sticks out to the right, if anything does.
STICKING_OUT: Final = """() => {
  const page = document.scrollingElement;
  if (page.scrollWidth <= innerWidth) return [];
  const isOut = (one) => one.getBoundingClientRect().right > innerWidth + 0.5;
  return [page.scrollWidth, ...[...document.querySelectorAll("body *")].filter(isOut)
    .map((one) => `${one.localName}.${one.className}`).slice(0, 5)];
}"""
STRUCTURE: Final = """() => {
  const seen = (one) => one.checkVisibility({ visibilityProperty: true });
  const of = (selector) => [...document.querySelectorAll(selector)].filter(seen);
  const place = document.querySelector("dialog[open]") ?? document.querySelector("main");
  return {
    lang: document.documentElement.lang,
    title: document.title,
    mains: of("main").length,
    navigations: of("nav").map((one) => one.getAttribute("aria-label")),
    ones: of("h1").length,
    levels: [...place.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(seen)
      .map((one) => Number(one.localName[1])),
    live: of("[aria-live]").map((one) => `${one.id} ${one.ariaLive}`),
    alerts: of("[role=alert]").length,
    dialogs: of("dialog").map((one) => one.getAttribute("aria-labelledby"))
      .map((id) => document.getElementById(id)?.textContent ?? ""),
  };
}"""
MOVING: Final = """() => [...document.querySelectorAll("body, body *")].flatMap((one) => {
  const { transitionDuration, animationDuration, animationName } = getComputedStyle(one);
  const isLong = (text) => text.split(", ").some((it) => Number.parseFloat(it) > 0.02);
  const isMoved = animationName !== "none" && isLong(animationDuration);
  const moves = isLong(transitionDuration) || isMoved;
  return moves ? [`${one.localName}.${one.className}`] : [];
})"""


@pytest.fixture(scope="module")
def tabs(chromium: Browser, lived: Server, new: Server) -> Iterator[Tabs]:
    """Tabs of a radio that somebody lives with, and of one that nobody has started yet."""
    # The audit brings styles of its own, which the page's policy would refuse.
    with Tabs(chromium, lived, new, bypass_csp=True, reduced_motion="reduce") as found:
        yield found


def size_of(state: State) -> dict[str, int]:
    """Return the screen on which a state is looked at in quick runs."""
    return SIZES[STATES.index(state) % 2]


@pytest.fixture(scope="module", params=STATES, ids=str)
def state(request: pytest.FixtureRequest) -> State:
    """Every one of the states."""
    found: State = request.param
    return found


@pytest.fixture(scope="module")
def page(tabs: Tabs, state: State) -> Page:
    """The page in that state, for all tests that only look at it."""
    return tabs.at(state, size=size_of(state)).page


def audit(page: Page, rules: list[str] | None = None) -> list[str]:
    """Return what is wrong with a page, by some rules or all: which, how bad it is, and where."""
    options = {} if rules is None else {"runOnly": rules}
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:160]}"
        for one in found
        for node in one["nodes"]
        if not is_an_open_menu(one, node)
    ]


def is_an_open_menu(rule: dict[str, Any], node: dict[str, Any]) -> bool:
    """Return whether all that is wrong is that a menu lies above the parts of the page."""
    return rule["id"] == "region" and 'role="menu"' in node["html"]


def check_audit(page: Page) -> None:
    """Everything in the light, and in the dark what colours decide."""
    assert audit(page) == []
    page.emulate_media(color_scheme="dark")
    assert audit(page, rules=["color-contrast"]) == []
    page.emulate_media(color_scheme="light")


def test_an_audit_finds_nothing_and_no_motion(page: Page) -> None:
    check_audit(page)
    assert page.evaluate(MOVING) == []


def test_the_parts_are_in_order_and_fit_every_width(page: Page, state: State) -> None:
    found = page.evaluate(STRUCTURE)
    levels = found["levels"]
    assert found["lang"] == "en"
    assert found["title"].endswith(" · Bandstand") or " – " in found["title"]  # what plays
    assert (found["mains"], found["ones"]) == (1, 1)
    assert found["navigations"] == (["Pages"] if state.who else [])
    assert levels[0] <= 2
    assert all(below <= above + 1 for above, below in pairwise(levels)), levels
    assert found["live"] == ["notices polite"]
    assert all(found["dialogs"])
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert (width, page.evaluate(STICKING_OUT)) == (width, [])
    page.set_viewport_size(size_of(state))  # type: ignore[arg-type]


@pytest.mark.long
def test_an_audit_finds_nothing_on_other_screens(tabs: Tabs, state: State) -> None:
    page = tabs.at(state, size=SIZES[1 - STATES.index(state) % 2]).page
    check_audit(page)


def test_the_audit_finds_what_is_planted(tabs: Tabs) -> None:
    """The twin: a button without a name, words that are hardly to be read, something too wide."""
    page = tabs.at(STATES[0], size=PHONE).page
    page.evaluate(
        """() => {
          const main = document.querySelector("main");
          const [button, text] = ["button", "p"].map((name) => document.createElement(name));
          text.textContent = "hardly to be read";
          text.style.cssText = "color: #bbb; background: #fff; width: 900px";
          main.append(button, text);
        }"""
    )
    found = {" ".join(said.split(" ")[:2]) for said in audit(page)}
    assert found == {"button-name (critical):", "color-contrast (serious):"}
    assert page.evaluate(STICKING_OUT) != []
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(MOVING) != []
    page.emulate_media(reduced_motion="reduce")

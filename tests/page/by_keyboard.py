"""Somebody who has no mouse: where the keyboard is, where it can go, and going there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

MOST: Final = 800  # steps; no page has so many controls
# What has the focus: its name, and what is wrong with how that is shown.
_HELD: Final = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const labels = [...(one.labels ?? [])].map((label) => label.textContent);
  const name = one.ariaLabel || labels.join(" ") || one.textContent || one.title || "";
  const wrong = [];
  const found = { name: name.trim(), tag: one.localName, wrong, number: one.dataset.number };
  if (!one.matches("a, button, input, select, summary, textarea, [tabindex='0']")) return found;
  // What is laid invisibly over a drawing is seen as the drawing around it.
  const isClear = (it) => Number(getComputedStyle(it).opacity) < 0.1;
  const shown = isClear(one) ? one.closest(":has(> :focus)") : one;
  const { outlineStyle, outlineWidth, visibility, opacity } = getComputedStyle(shown);
  const box = shown.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const top = document.elementFromPoint(x, y);
  const isLabel = top?.closest("label")?.control === one;
  const isPassing = top?.closest(".notice"); // it is gone in some seconds
  const isMeant = top && (shown.contains(top) || top.contains(shown) || isLabel || isPassing);
  if (!name.trim()) wrong.push("has no name");
  if (outlineStyle === "none" || Number.parseFloat(outlineWidth) < 2) wrong.push("has no outline");
  if (visibility === "hidden" || Number(opacity) < 0.5) wrong.push("is not seen");
  if (!(box.width > 0 && box.height > 0)) wrong.push("has no size");
  if (x < 0 || y < 0 || x > innerWidth || y > innerHeight) wrong.push("is outside of the window");
  else if (!isMeant) wrong.push(`is behind ${top?.localName}.${top?.className}`);
  return found;
}"""
# Numbers all controls that Tab should come to, and returns what they are called.
_CONTROLS: Final = """() => {
  const place = document.querySelector("dialog[open]") ?? document;
  const all = [...place.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0'], audio[controls]")];
  const chosen = (one) => one.type !== "radio" || one.checked;
  const found = all.filter((one) => one.checkVisibility({ visibilityProperty: true })
    && !one.disabled && one.tabIndex >= 0 && chosen(one));
  found.forEach((one, number) => (one.dataset.number = String(number)));
  return found.map((one) => `${one.localName} ${one.ariaLabel || one.textContent || one.name}`);
}"""


def held(page: Page) -> dict[str, Any] | None:
    """Return what has the focus; None if it is lost."""
    found: dict[str, Any] | None = page.evaluate(_HELD)
    return found


def name_held(page: Page) -> str:
    """Return the name of what has the focus; it must be something."""
    found = held(page)
    assert found is not None, "the focus must not be lost"
    return " ".join(str(found["name"]).split())


def walk(page: Page, *, back: bool = False, most: int = MOST) -> tuple[list[str], list[str]]:
    """Return what Tab does not come to, and what is wrong with the way there.

    It begins and ends at the beginning of the page, so there is no place that holds one.
    """
    controls = page.evaluate(_CONTROLS)
    seen: set[int] = set()
    wrong: list[str] = []
    for _ in range(most):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        found = held(page)
        if found is None or found.get("number") is None:
            continue
        if found["number"] == "0" and 0 in seen and (len(seen) > 1 or len(controls) == 1):
            break
        seen.add(int(found["number"]))
        wrong += [f"{found['tag']} “{found['name'][:40]}” {what}" for what in found["wrong"]]
    else:
        wrong.append("there is no way round")
    missed = [one for number, one in enumerate(controls) if number not in seen]
    return missed, wrong


def tab_to(page: Page, name: str, *, key: str = "Tab") -> None:
    """Press Tab until something of this name has the focus; "…" at the end stands for more."""
    for _ in range(MOST):
        page.keyboard.press(key)
        found = held(page)
        if found is None:
            continue
        assert found["wrong"] == [], found
        said = " ".join(found["name"].split())
        if said == name or (name.endswith("…") and said.startswith(name[:-1])):
            return
    pytest.fail(f"Tab must come to “{name}”")


def use(page: Page, name: str, key: str = "Enter") -> None:
    """Go to a control by Tab, and press a key there."""
    tab_to(page, name)
    page.keyboard.press(key)


def pick(page: Page, name: str) -> None:
    """Go to an entry of the menu that is open by arrows, and choose it."""
    for _ in range(MOST):
        if name_held(page) == name:
            page.keyboard.press("Enter")
            return
        page.keyboard.press("ArrowDown")
    pytest.fail(f"the menu must have “{name}”")

"""Watching a browser for whatever a hostile name, page or picture might make it do.

trap = Trap(context, server.address)
page = context.new_page()
…
assert trap.caught == []
assert odd_elements(page) == []
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.page.payloads import MARK

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Request

# Told by the document itself, before the policy stops what was tried.
_REPORT: Final = """
  addEventListener("securitypolicyviolation", (event) => {
    bandstandTrap("policy", `${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
  }, true);
"""
# What no page of ours is made of, in any name space.
_NEVER: Final = [
    *("animate", "applet", "base", "embed", "foreignobject", "frame", "frameset", "iframe"),
    *("marquee", "math", "object", "plaintext", "set", "style", "template", "xmp"),
]
_ODD: Final = """([never, mark]) => {
  const odd = [];
  const own = location.origin;
  const addresses = ["action", "data", "formaction", "href", "poster", "src", "xlink:href"];
  for (const element of document.querySelectorAll("*")) {
    const name = element.localName.toLowerCase();
    const say = (why) => odd.push(`${why}: ${element.outerHTML.slice(0, 120)}`);
    if (never.includes(name)) say("never ours");
    if (element.id === mark || element.classList.contains(mark)) say("marked");
    if (element.getAttribute("name") === mark) say("marked");
    if (name === "meta" && element.hasAttribute("http-equiv")) say("a header");
    const source = element.getAttribute("src") || "";
    if (name === "script" && !source.startsWith("/static/")) say("a script");
    for (const attribute of element.attributes) {
      if (/^on/i.test(attribute.name)) say("a handler");
      if (attribute.name === "srcdoc") say("a document");
      const places = attribute.name === "srcset" ? attribute.value.split(", ") : [];
      if (addresses.includes(attribute.name)) places.push(attribute.value);
      for (const place of places) {
        const address = new URL(place, document.baseURI);
        if (address.origin !== own || !/^https?:$/.test(address.protocol)) say("an address");
      }
    }
  }
  return odd;
}"""


class Trap:
    """What was caught in all pages of a context: each a line that says what it was."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.caught: list[str] = []
        self._origin = origin
        context.expose_binding("ran", lambda _source, *_: self.caught.append("a payload ran"))
        context.expose_binding("bandstandTrap", lambda _source, *told: self._note(*told))
        context.add_init_script(_REPORT)
        context.on("dialog", self._dialog)
        context.on("weberror", lambda error: self._note("an error in the page", error.error))
        context.on("console", self._said)
        context.on("request", self._asked)

    def watch(self, page: Page) -> Page:
        """Return the page, after which no window that it opens and nothing it saves is missed."""
        page.on("popup", lambda popup: self._note("a new window", popup.url))
        page.on("download", lambda download: self._note("a download", download.url))
        return page

    def has_caught(self, what: str) -> bool:
        """Return whether something that begins so was caught."""
        return any(one.startswith(what) for one in self.caught)

    def _note(self, kind: str, what: Any) -> None:
        self.caught.append(f"{kind}: {str(what)[:300]}")

    def _dialog(self, dialog: Dialog) -> None:
        self._note("a dialog", dialog.message)
        dialog.dismiss()

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning", "assert"}:
            self._note("on the console", f"{message.text} ({message.location.get('url')})")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(f"{self._origin}/"):
            self._note("a request elsewhere", request.url)


def odd_elements(page: Page) -> list[str]:
    """Return what is in the page and can not have been put there by us."""
    found: list[str] = page.evaluate(_ODD, [_NEVER, MARK])
    return found


def text_of(page: Page) -> str:
    """Return all text of the page, as its nodes have it: what was parsed as HTML is not there."""
    return str(page.evaluate("document.body.textContent"))


def missing(page: Page, names: list[str]) -> list[str]:
    """Return the names that the page does not show verbatim."""
    text = text_of(page)
    return [name for name in names if name not in text]

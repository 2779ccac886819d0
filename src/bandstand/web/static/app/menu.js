// A menu that opens beside its button: arrows, Home, End and letters move, Escape closes.

import { h, icon } from "./dom.js";

const MARGIN = 8; // pixels to the edge of the window

// `items()` is asked when the menu opens. Each is {label, icon, run}, {label, icon, href}, or null
// for a line between groups.
export function menuButton(name, items, { label = null } = {}) {
  const button = h(
    label ? "button" : "button.quiet.round.small.menu-button",
    {
      type: "button",
      "aria-label": name,
      title: name,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      onclick: () => openMenu(button, name, items()),
    },
    icon("more"),
    label,
  );
  return button;
}

export function openMenu(button, name, items) {
  const menu = h("div.menu", { role: "menu", "aria-label": name, popover: "auto" });
  const close = () => menu.hidePopover();
  menu.append(...items.map((item) => (item ? entry(item, close) : h("hr"))));
  document.body.append(menu);
  menu.addEventListener("keydown", walk);
  menu.addEventListener("beforetoggle", ({ newState }) => {
    if (newState === "closed" && menu.contains(document.activeElement))
      button.focus({ preventScroll: true });
  });
  const scrolled = new AbortController();
  menu.addEventListener("toggle", ({ newState }) => {
    if (newState === "open") return;
    scrolled.abort();
    button.setAttribute("aria-expanded", "false");
    menu.remove();
  });
  menu.showPopover();
  placeBeside(menu, button);
  button.setAttribute("aria-expanded", "true");
  menu.querySelector("[role=menuitem]")?.focus({ preventScroll: true });
  // News of a scroll that ended before the menu opened may come after it.
  const top = window.scrollY;
  const closeIfMoved = () => Math.abs(window.scrollY - top) > MARGIN && close();
  window.addEventListener("scroll", closeIfMoved, { signal: scrolled.signal });
  window.addEventListener("resize", close, { signal: scrolled.signal });
  window.addEventListener("hashchange", close, { signal: scrolled.signal });
}

function entry({ label, icon: drawing, run, href }, close) {
  const properties = { role: "menuitem", tabindex: "-1" };
  const words = h("span", {}, label);
  if (href) return h("a", { ...properties, href, onclick: close }, icon(drawing), words);
  const act = () => {
    close();
    run();
  };
  return h("button", { ...properties, type: "button", onclick: act }, icon(drawing), words);
}

// Below its button and flush with its right edge, or above it where there is no room below.
function placeBeside(menu, button) {
  const at = button.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const isBelow = at.bottom + height + MARGIN <= window.innerHeight || at.top < height + MARGIN;
  const top = isBelow ? at.bottom + 2 : at.top - height - 2;
  const highest = Math.max(MARGIN, window.innerHeight - height - MARGIN);
  const left = Math.max(MARGIN, Math.min(at.right - width, window.innerWidth - width - MARGIN));
  menu.style.setProperty("top", `${Math.min(Math.max(top, MARGIN), highest)}px`);
  menu.style.setProperty("left", `${left}px`);
}

function walk(event) {
  const menu = event.currentTarget;
  const entries = [...menu.querySelectorAll("[role=menuitem]")];
  const now = entries.indexOf(document.activeElement);
  const ways = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: -1 };
  if (event.key === "Tab") return menu.hidePopover();
  if (event.key in ways) {
    event.preventDefault();
    entries.at(ways[event.key] % entries.length).focus();
  } else if (event.key.length === 1 && /\S/.test(event.key) && !event.ctrlKey && !event.metaKey) {
    const begins = (one) => one.textContent.toLowerCase().startsWith(event.key.toLowerCase());
    [...entries.slice(now + 1), ...entries.slice(0, now + 1)].find(begins)?.focus();
  }
  event.stopPropagation(); // the letters are shortcuts elsewhere
}

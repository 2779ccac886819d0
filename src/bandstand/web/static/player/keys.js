// Shortcuts of the keyboard, on every page.

import { showPanel } from "../app/dialog.js";
import { h } from "../app/dom.js";
import { pause } from "../app/network.js";
import { go, route, way } from "../app/router.js";
import { markFavourite } from "./heart.js";
import { radio } from "./radio.js";
import { sound } from "./sound.js";
import { toggleWhy } from "./why.js";

const JUMP = 5; // seconds
const STEP = 0.05; // of the volume
const LIST = [
  [["1", "…", "5"], "Rate the song"],
  [["F"], "Favourite, or no longer"],
  [["Space", "K"], "Play or pause"],
  [["N"], "Next song"],
  [["P"], "Back"],
  [["←", "→"], "Five seconds back or on"],
  [["↑", "↓"], "Louder or quieter"],
  [["M"], "Mute"],
  [["U"], "Undo"],
  [["W"], "Why this song"],
  [["Q"], "What comes next"],
  [["/"], "Search the library"],
  [["?"], "This list"],
];
const RUN = {
  " ": () => radio.togglePlay(),
  k: () => radio.togglePlay(),
  f: () => radio.current && markFavourite(radio.current.song),
  n: () => radio.skip(),
  p: () => radio.back(),
  ArrowLeft: () => radio.seek(radio.position - JUMP),
  ArrowRight: () => radio.seek(radio.position + JUMP),
  ArrowUp: () => (sound.volume += STEP),
  ArrowDown: () => (sound.volume -= STEP),
  m: () => (sound.isMuted = !sound.isMuted),
  u: () => radio.undo(),
  w: () => radio.current && toggleWhy(radio.current),
  q: showQueue,
  "/": search,
  "?": showShortcuts,
};
const REPEATABLE = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);
const TYPING =
  "input:not([type=range], [type=checkbox], [type=radio]), select, textarea, [contenteditable]";
// Controls that use these keys themselves.
const OWN = [
  [[" "], "button, a, summary, input, [role=menuitem]"],
  [
    ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"],
    "input, [role=menu], [role=tablist], [role=application], [role=slider]",
  ],
];

export function listenToKeys() {
  document.addEventListener("keydown", onKey);
}

function onKey(event) {
  if (radio.phase !== "on" || event.defaultPrevented || isMeantElsewhere(event)) return;
  if (/^[1-5]$/.test(event.key)) {
    if (!event.repeat) radio.rate(Number(event.key));
  } else {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!Object.hasOwn(RUN, key) || (event.repeat && !REPEATABLE.has(key))) return;
    // Up and down move through a page that is longer than the window.
    if (["ArrowUp", "ArrowDown"].includes(key) && route().name !== "") return;
    RUN[key]();
  }
  event.preventDefault();
}

function isMeantElsewhere({ target, key, ctrlKey, metaKey, altKey, shiftKey }) {
  if (ctrlKey || metaKey || altKey || (shiftKey && key !== "?")) return true;
  if (target.closest?.(TYPING)) return true;
  const dialog = document.querySelector("dialog[open]");
  if (dialog && !(key === "w" && dialog.matches(".why-panel"))) return true;
  return OWN.some(([keys, controls]) => keys.includes(key) && target.closest?.(controls));
}

async function showQueue() {
  if (route().name !== "") go(way(""));
  const heading = await found("#coming-up");
  heading?.scrollIntoView({ block: "start" });
  heading?.focus({ preventScroll: true });
}

async function search() {
  if (route().name !== "library") go(way("library"));
  const field = await found("#page input[type=search]");
  field?.focus();
}

// What another page brings is there a moment later.
async function found(selector) {
  for (let attempt = 0; attempt < 40; attempt += 1) {
    const element = document.querySelector(selector);
    if (element) return element;
    await pause(50);
  }
  return null;
}

export function showShortcuts() {
  const rows = LIST.map(([keys, meaning]) =>
    h(
      "div",
      {},
      h(
        "dt",
        {},
        keys.map((key) => (key === "…" ? "–" : h("kbd", {}, key))),
      ),
      h("dd", {}, meaning),
    ),
  );
  showPanel("Keyboard shortcuts", h("dl.shortcuts", {}, rows));
}

// How the radio is wanted. Each change is saved at once.

import { call } from "../app/api.js";
import { h, icon } from "../app/dom.js";
import { problem } from "../app/notices.js";
import * as storage from "../app/storage.js";
import { link, way } from "../app/router.js";
import { load } from "../app/states.js";
import { radio } from "../player/radio.js";
import { account } from "./account.js";
import { algorithmChoice, hasDial } from "./algorithms.js";
import { choice, saved, section, toggle } from "./pieces.js";
import { rules } from "./rules.js";
import { scrobbling } from "./scrobbling.js";

export const title = "Settings";

const ADVANCE = [
  ["never", "Never"],
  ["low", "After 1 or 2 stars"],
  ["always", "Always"],
];
const LOUDNESS = [
  ["track", "Song by song"],
  ["album", "Album by album"],
  ["off", "Off"],
];

export async function show(main, { person, signal }) {
  const place = h("div.settings");
  main.append(h("h1", {}, "Settings"), place);
  const ask = () => call("GET", "/api/settings", undefined, { signal });
  await load(place, ask, (settings) => [
    listening(settings, { signal }),
    section(
      "kept-away",
      "Banned and snoozed",
      "What you do not want to hear, for good or for a while.",
      rules({ signal }),
    ),
    section(
      "scrobbling",
      "Other servers",
      "Where to send what you hear: ListenBrainz, or a server of your own.",
      scrobbling({ signal }),
    ),
    curious(settings),
    section(
      "account",
      "Account",
      "Your password, your devices, your data.",
      account(person, { signal }),
    ),
    about(person, settings),
  ]);
}

let before = Promise.resolve(); // one change at a time, so that the latest is what stays

// Resolves with whether it was saved; the next songs are chosen again.
function change(...what) {
  before = before.then(() => save(...what));
  return before;
}

async function save(settings, changes, words) {
  try {
    const answer = await call("PATCH", "/api/settings", changes);
    Object.assign(settings, answer);
    radio.settings = answer; // at once: what is said now is said under these
    radio.refresh();
    saved(words);
    return true;
  } catch (error) {
    problem(error);
    return false;
  }
}

// Settings of this browser alone.
function remember(name) {
  return async (value) => {
    const isKept = storage.set(name, value);
    radio.refresh();
    saved(isKept ? "Saved in this browser." : "This browser does not let the page remember it.");
    return isKept;
  };
}

// ── Listening ───────────────────────────────────────────────────────────────────────────

function listening(settings, { signal }) {
  return section(
    "listening",
    "Listening",
    "What the radio plays, and how.",
    dial(settings, { signal }),
    toggle(
      "Private mode",
      settings.private,
      (isOn) =>
        change(settings, { private: isOn }, isOn ? "Private mode is on." : "Private mode is off."),
      "While it is on, nothing you hear, rate or skip is noted, and the radio learns " +
        "nothing from it. Nothing of it is sent to another server either.",
    ),
    choice(
      "After a rating go on to the next song",
      ADVANCE,
      storage.get("advance", "never"),
      remember("advance"),
    ),
    choice(
      "Even out the loudness",
      LOUDNESS,
      storage.get("loudness", "track"),
      remember("loudness"),
      "Where files carry ReplayGain. Album by album keeps the quiet pieces of an album quiet.",
    ),
  );
}

function dial(settings, { signal }) {
  const words = h("p.hint", { id: "dial-words" });
  const input = h("input.slider", {
    id: "dial",
    type: "range",
    min: -1,
    max: 1,
    step: 0.1,
    "aria-describedby": "dial-words",
  });
  const tell = () => {
    words.textContent = hasDial(settings.algorithm)
      ? inWords(Number(input.value))
      : "The algorithm that you have chosen below has no dial.";
    input.setAttribute("aria-valuetext", inWords(Number(input.value)));
  };
  const put = () => {
    input.value = settings.dial;
    tell();
  };
  input.addEventListener("input", tell);
  input.addEventListener("change", async () => {
    if (!(await change(settings, { dial: Number(input.value) }))) put();
  });
  document.addEventListener("algorithm", tell, { signal });
  put();
  const ends = h(
    "div.row.apart.small",
    { "aria-hidden": "true" },
    h("span", {}, "Familiar"),
    h("span", {}, "Discover"),
  );
  return h(
    "div.stack.tight",
    {},
    h("h3", {}, h("label", { for: "dial" }, "From familiar to discover")),
    h("div", {}, input, ends),
    words,
  );
}

function inWords(value) {
  if (value <= -0.6) return "Almost only songs that you are known to like; hardly anything new.";
  if (value <= -0.2) return "More of what you know than usual.";
  if (value < 0.2)
    return "In balance: what you like, and now and then something to find out about.";
  if (value < 0.6) return "More that is new to you than usual.";
  return "Almost only songs that you have not heard here yet, also daring ones.";
}

// ── For the curious ─────────────────────────────────────────────────────────────────────

function curious(settings) {
  const choose = async (algorithm) => {
    const isSaved = await change(settings, { algorithm });
    document.dispatchEvent(new Event("algorithm"));
    return isSaved;
  };
  return section(
    "curious",
    "For the curious",
    "How the radio learns from your ratings. Your ratings stay; only the conclusions change.",
    algorithmChoice(settings, choose),
    toggle(
      "Learn how generous you are with stars",
      settings.intercept,
      (intercept) => change(settings, { intercept }),
      "Some people give five stars easily, others never. With this the radio learns that " +
        "about you, beside what you like in the sound. Without it, all liking must come from " +
        "the sound.",
    ),
  );
}

// ── About ───────────────────────────────────────────────────────────────────────────────

function about(person, settings) {
  const admin = [
    link(way("people"), { class: "button" }, icon("people"), "People"),
    link(way("scan"), { class: "button" }, icon("folder"), "Scan"),
  ];
  return section(
    "about",
    "About",
    null,
    h(
      "div.stack",
      {},
      h(
        "p",
        {},
        `Bandstand ${settings.version}, a radio that learns your taste. It contacts no other server but those under Other servers.`,
      ),
      h(
        "div.row",
        {},
        h("button", { type: "button", onclick: shortcuts }, "Keyboard shortcuts"),
        person.role === "admin" ? admin : null,
      ),
    ),
  );
}

async function shortcuts() {
  const keys = await import("../player/keys.js");
  keys.showShortcuts();
}

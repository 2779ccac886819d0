// Who is there, and which page is shown.

import * as bar from "../player/bar.js";
import { connection } from "../player/connection.js";
import * as player from "../player/page.js";
import { radio } from "../player/radio.js";
import { call, isTemporary, pause } from "./api.js";
import { fill } from "./dom.js";
import { isGone } from "./network.js";
import { clearNotices, notice, problem } from "./notices.js";
import { closeOutbox, openOutbox } from "./outbox.js";
import { route } from "./router.js";
import { hideShell, markWay, nameWindow, showShell } from "./shell.js";
import { failed } from "./states.js";
import { announce, hear } from "./tabs.js";

// Everything but the player is fetched when it is first shown.
const PAGES = {
  "": async () => player,
  taste: () => import("../taste/page.js"),
  library: () => import("../library/page.js"),
  song: () => import("../library/song.js"),
  playlists: () => import("../library/playlists.js"),
  playlist: () => import("../library/playlist.js"),
  scan: () => import("../library/scan.js"),
  history: () => import("../history/page.js"),
  settings: () => import("../settings/page.js"),
  people: () => import("../settings/people.js"),
  study: () => import("../study/page.js"),
};
// For an account that was made for the study only.
const FEW = { "": PAGES.study, account: () => import("../study/account.js") };
const TRY_AGAIN = 3_000; // milliseconds

const main = document.getElementById("page");
let person = null;
let settings = null; // as they were when the radio was last on the air
let shown = new AbortController(); // of the page that is shown

// ── Pages ───────────────────────────────────────────────────────────────────────────────

async function showPage({ isFirst = false } = {}) {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  const { name, id, query } = route();
  const pages = person.study?.only ? FEW : PAGES;
  const open = Object.hasOwn(pages, name) ? pages[name] : pages[""];
  markWay(open === PAGES.study ? "study" : name);
  bar.mount(document.getElementById("bar"), { isHidden: open === PAGES[""] });
  tune(open).catch(problem);
  try {
    const page = await open();
    if (signal.aborted) return;
    fill(main);
    nameWindow({ page: page.title });
    await page.show(main, { params: { id, query }, person, signal });
  } catch (error) {
    if (signal.aborted) return;
    fill(main, failed(error, showPage));
  }
  if (!isFirst && !signal.aborted) begin(main);
}

// The study has the sound to itself; everywhere else the radio is on the air.
async function tune(open) {
  if (open === PAGES.study || person.study?.only) {
    settings = radio.phase === "off" ? settings : radio.settings;
    radio.rest();
  } else if (radio.phase === "off") {
    await radio.begin({ person, settings });
  }
}

// Who reads with their ears, or walks with the keyboard, begins where the page does.
function begin(place) {
  const heading = place.querySelector("h1");
  if (place.contains(document.activeElement)) return;
  heading?.setAttribute("tabindex", "-1");
  (heading ?? place).focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

// ── Coming and going ────────────────────────────────────────────────────────────────────

async function enter() {
  try {
    [person, settings] = await Promise.all([
      call("GET", "/api/session"),
      call("GET", "/api/settings"),
    ]);
    openOutbox(person.id, outboxWatchers());
    showShell(person, { onLogOut: logOut });
    await showPage({ isFirst: true });
  } catch (error) {
    if (error.code === "login_required") return showDoor();
    fill(main, failed(error, enter));
    if (!isTemporary(error)) return;
    await pause(TRY_AGAIN);
    if (person === null) enter();
  }
}

function outboxWatchers() {
  let unsay = null; // takes away what was said
  return {
    onDelay: () => {
      // Being offline is said already, by the player.
      if (!isGone()) unsay ??= notice("Not delivered yet; trying again.", { lasts: true });
    },
    onDelivered: () => {
      unsay?.();
      unsay = null;
    },
    onRefused: problem,
    onUnkept: () => connection.admit(),
    onStranger: () => location.reload(),
  };
}

async function showDoor() {
  person = null;
  shown.abort();
  shown = new AbortController();
  radio.stop();
  closeOutbox();
  clearNotices();
  hideShell();
  const isNew = document.documentElement.dataset.setup === "open";
  const door = await (isNew ? import("../auth/setup.js") : import("../auth/login.js"));
  nameWindow({ page: door.title });
  fill(main);
  door.show(main, { onEnter: comeIn, signal: shown.signal });
}

async function comeIn() {
  document.documentElement.dataset.setup = "closed";
  announce("session");
  main.focus({ preventScroll: true }); // the form that had the focus goes
  await enter();
}

async function logOut() {
  radio.stopLooking(); // a pending question would be refused for want of a session
  try {
    await call("DELETE", "/api/session");
  } catch (error) {
    // A listener who believes to be logged out may leave the computer to others.
    if (error.status !== 401) {
      notice(`You are still logged in: ${begun(error.message)}`);
      return radio.lookAhead();
    }
  }
  announce("session");
  location.reload();
}

const begun = (text) => text.charAt(0).toLowerCase() + text.slice(1);

// The address says which page is shown, so the skip link does not become part of it.
document.querySelector(".skip-link").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.addEventListener("stranger", () => person === null || showDoor());
window.addEventListener("hashchange", () => {
  if (person !== null && location.hash.startsWith("#/")) showPage();
});
hear("session", () => location.reload()); // a login or logout in another tab

// "ask": the page was opened from another site, to which the browser does not show the cookie.
if (document.documentElement.dataset.session === "closed") showDoor();
else enter();

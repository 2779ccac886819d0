// The taste page: what the radio has learned about its listener.

import { call } from "../app/api.js";
import { fill, h } from "../app/dom.js";
import { link } from "../app/router.js";
import { empty, load } from "../app/states.js";
import { radio } from "../player/radio.js";
import { demoNote } from "../settings/demo_reset.js";
import { certainty } from "./certainty.js";
import { facts, summary } from "./facts.js";
import { favourites } from "./favourites.js";
import { freshness } from "./freshness.js";
import { soundYouLike } from "./sound_preferences.js";
import { ratingsOverTime } from "./ratings.js";
import { songsThatComeBack } from "./repeats.js";

export const title = "Taste";

export async function show(main, { person, signal }) {
  const place = h("div.stack.loose", {});
  fill(main, h("div.stack.loose.taste", {}, h("h1", {}, title), demoNote(person), place));
  const page = { place, signal, shown: null, drawing: null, isLate: false };
  await load(
    place,
    () => ask(signal),
    (taste) => drawn(page, taste),
  );
  // Ratings that are given while the page is open change it.
  const renew = () => renewed(page);
  const catchUp = () => page.isLate && setTimeout(renew);
  radio.addEventListener("song", renew, { signal });
  document.addEventListener(
    "visibilitychange",
    () => document.visibilityState === "visible" && renew(),
    { signal },
  );
  place.addEventListener("pointerout", catchUp);
  place.addEventListener("focusout", catchUp);
}

const ask = (signal) => call("GET", "/api/taste", undefined, { signal });

// Draw again if there is something new; what was open stays open.
async function renewed(page) {
  // A plot in use is not replaced before it loses the focus.
  page.isLate = page.place.querySelector(".plot-area:hover, .plot-slider:focus") !== null;
  if (page.shown === null || page.isLate || page.signal.aborted) return;
  try {
    const taste = await ask(page.signal);
    if (JSON.stringify(taste) === page.shown) return;
    const before = marks(page.place);
    fill(page.place, drawn(page, taste));
    restore(page.place, before);
  } catch {
    // What is shown was right a moment ago; the next song is the next occasion.
  }
}

const key = (element) => element.closest("figure")?.dataset.figure;

function marks(place) {
  const open = [...place.querySelectorAll("details[open]")].map(key);
  const active = place.contains(document.activeElement) ? document.activeElement : null;
  return {
    open,
    focused: active && {
      figure: key(active),
      tag: active.localName,
      href: active.getAttribute("href"),
    },
  };
}

function restore(place, { open, focused }) {
  for (const details of place.querySelectorAll("details"))
    details.open = open.includes(key(details));
  if (!focused?.figure) return;
  const same = [...place.querySelectorAll(`[data-figure="${focused.figure}"] ${focused.tag}`)];
  (same.find((element) => element.getAttribute("href") === focused.href) ?? same[0])?.focus({
    preventScroll: true,
  });
}

// ── What is shown ───────────────────────────────────────────────────────────────────────

function drawn(page, taste) {
  page.drawing?.abort();
  page.drawing = new AbortController();
  page.signal.addEventListener("abort", () => page.drawing.abort(), {
    signal: page.drawing.signal,
  });
  page.shown = JSON.stringify(taste);
  if (!taste.counts.plays) return nothing(taste);
  const tools = { signal: page.drawing.signal };
  const figures = [
    freshness(taste, tools),
    certainty(taste, tools),
    ratingsOverTime(taste, tools),
    soundYouLike(taste),
    songsThatComeBack(taste, tools),
    ...favourites(taste),
  ].filter(Boolean);
  // What has nothing to show yet stands at the end, and not beside something large.
  const isBare = (one) => one.classList.contains("is-bare");
  figures.sort((one, other) => isBare(one) - isBare(other));
  return [summary(taste), facts(taste), missing(taste), h("div.figures", {}, figures)];
}

function nothing({ sentences }) {
  const start = link("#/", { class: "button main" }, "Listen to something");
  return empty(
    "taste",
    `${sentences.join(" ")} Rate a few songs, and this page shows what the radio makes of it.`,
    start,
  );
}

// An algorithm may learn from answers and yet have no such thing as freshness or liking.
function missing({ uncertainty, recovery, artists, leanings }) {
  if (!uncertainty.length) return null;
  const lacks = [
    recovery === null ? "when songs are fresh again" : null,
    !leanings.length && !artists.most.length ? "which songs you like" : null,
  ].filter(Boolean);
  if (!lacks.length) return null;
  return h(
    "p.faint",
    {},
    `The algorithm that chooses your songs does not learn ${lacks.join(" or ")}. `,
    link("#/settings", {}, "Choose another in the settings"),
    ".",
  );
}

// One song: what it is, what the radio expects of it, what was said of it.

import { call } from "../app/api.js";
import { fill, h, icon } from "../app/dom.js";
import { menuButton } from "../app/menu.js";
import { link, way } from "../app/router.js";
import { empty, load } from "../app/states.js";
import { clock, stars } from "../app/words.js";
import { coverOf } from "../player/cover.js";
import { heartButton } from "../player/heart.js";
import { radio } from "../player/radio.js";
import { starButtons } from "../player/stars.js";
import { albumWay, artistWay } from "../player/song_links.js";
import { expectedInWords, freshInWords, freshness, scale } from "./expected.js";
import { rulesOf } from "./song_rules.js";
import { historyNote } from "./history_note.js";
import { isPlaying, songItems, startFrom } from "./song_menu.js";

export const title = "Song";

const COVER = 512; // pixels
const GONE = "Its file is gone. It comes back when the file does.";
const UNKNOWN = "Not known yet: it needs some of your ratings and the analysed sound of this song.";
const RATED = "Your last rating. Rate it again if you change your mind.";
const UNHEARD = "Nothing yet: you have neither heard nor rated it here.";

export async function show(main, { params, signal }) {
  const ask = () => details(params.id, signal);
  let questions = 0;
  const again = async () => {
    const mine = ++questions;
    const view = await ask().catch(() => null);
    // An answer that a later question has overtaken may not know the latest rating.
    if (view?.song && !signal.aborted && mine === questions) redraw(main, view, again);
  };
  const isThere = await load(main, ask, (view) => page(view, again, signal));
  // Events from elsewhere on the page, such as an undo, change what is expected.
  if (isThere) radio.addEventListener("upcoming", again, { signal });
}

// An unknown song is no problem of the server's.
async function details(id, signal) {
  try {
    const [view, rules] = await Promise.all([
      call("GET", `/api/songs/${encodeURIComponent(id ?? "")}`, undefined, { signal }),
      call("GET", "/api/settings/rules", undefined, { signal }),
    ]);
    return { ...view, rules: rules.rules };
  } catch (problem) {
    if (problem.status === 404 || problem.status === 422) return { song: null };
    throw problem;
  }
}

function page(view, again, signal) {
  if (!view.song) {
    const library = link(way("library"), { class: "button" }, "Go to the library");
    const note = empty("note", "There is no song with this address.", library);
    return [h("h1", {}, "No such song"), note];
  }
  return h(
    "article.song-page.stack.loose",
    {},
    header(view, signal),
    h("div.song-parts", { dataset: { parts: "" } }, parts(view, again)),
  );
}

// Only the parts that change, so that no button loses the focus.
function redraw(main, view, again) {
  const place = main.querySelector("[data-parts]");
  const held = [...place.querySelectorAll("button")].indexOf(document.activeElement);
  fill(place, parts(view, again));
  if (held >= 0) place.querySelectorAll("button")[held]?.focus({ preventScroll: true });
}

function header({ song }, signal) {
  return h(
    "header.song-head",
    {},
    h("div.song-picture", { class: song.is_present ? "" : "gone" }, coverOf(song, COVER)),
    h(
      "div.stack",
      {},
      h("div.stack.tight", {}, h("h1", {}, song.title), byline(song), facts(song)),
      song.is_present ? null : h("p.notes", {}, icon("warning"), GONE),
      actions(song, signal),
    ),
  );
}

function byline(song) {
  const names = [];
  if (song.artist) names.push(link(artistWay(song), {}, song.artist));
  if (song.album) names.push(link(albumWay(song), {}, song.album));
  return h("p.song-by", {}, names.length ? between(names, " · ") : "Unknown artist");
}

function facts(song) {
  const genre = song.genre && link(way("library", null, { genre: song.genre }), {}, song.genre);
  const known = [genre, song.year && String(song.year), clock(song.duration)].filter(Boolean);
  return h("p.faint", {}, between(known, " · "));
}

const between = (things, text) => things.flatMap((one, index) => (index ? [text, one] : [one]));

function actions(song, signal) {
  const name = `More for “${song.title}”`;
  const items = () => songItems(song, { isHere: true }).filter((item) => !isShown(item));
  const more = menuButton(name, items, { label: "More" });
  const heart = heartButton(() => song, { signal }).button;
  if (!song.is_present) return h("div.row", {}, heart, more);
  return h(
    "div.row",
    {},
    button("button.main", "Play now", "play", () => radio.playSong(song)),
    button("button", "Start radio from here", "radio", () => startFrom(song)),
    heart,
    more,
  );
}

function button(kind, label, drawing, run) {
  return h(kind, { type: "button", onclick: run }, icon(drawing), label);
}

const isShown = (item) => ["Play now", "Start radio from here"].includes(item?.label);

function parts(view, again) {
  const figures = [rate(view, again), expectation(view), fresh(view)];
  return [rulesOf(view, again), ...figures, said(view, again)];
}

function expectation(view) {
  const words = expectedInWords(view);
  return h(
    "section.card.stack",
    {},
    h("h2", {}, "Expected now"),
    words === null ? h("p.faint", {}, UNKNOWN) : [h("p.figure", {}, words), scale(view)],
  );
}

function fresh(view) {
  const [figure, words] = freshInWords(view);
  return h(
    "section.card.stack",
    {},
    h("h2", {}, "Freshness"),
    h("p.figure", {}, figure),
    freshness(view),
    h("p.faint.small", {}, words),
  );
}

function rate({ song, history }, again) {
  const last = history.find((event) => event.kind === "rating" && !event.is_retracted);
  const onRate = async (count) => {
    const event = { kind: "rating", song: song.id, stars: count };
    if (isPlaying(song)) await radio.rate(count);
    else await radio.sendEvent(event, `${stars(count)} for “${song.title}”`);
    again();
  };
  return h(
    "section.card.stack",
    {},
    h("h2", {}, "Your rating"),
    starButtons({ onRate, value: last?.stars ?? 0 }),
    h("p.faint.small", {}, last ? RATED : "You have not rated it yet."),
  );
}

function said({ history }, again) {
  return h(
    "section.card.stack.wide",
    {},
    h("h2", {}, "History"),
    history.length ? historyNote(history, again) : h("p.faint", {}, UNHEARD),
  );
}

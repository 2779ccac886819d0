// The songs that fit what is asked.

import { address, call } from "../app/api.js";
import { h, icon } from "../app/dom.js";
import { empty } from "../app/states.js";
import { length, plural, rating } from "../app/words.js";
import { endless } from "./endless.js";
import { followPlaying, songRow } from "./song_row.js";

const AT_ONCE = 100;
const NO_SONGS = "There are no songs here yet. They appear while the library is scanned.";
const FILTERS = ["q", "artist", "album", "album_artist", "genre", "heard"];

// `before` is what was listed when one left, if one has come back.
export function songsFound({ place, before, change, signal }) {
  const wanted = Object.fromEntries([...FILTERS, "sort"].map((name) => [name, place[name]]));
  if (wanted.heard === "favourites") Object.assign(wanted, { heard: "", favourite: "yes" });
  const shown = new Set(); // an order that moves with the taste may bring a song twice

  async function ask(after = null) {
    const question = address("/api/songs", { ...wanted, limit: AT_ONCE, after });
    const answer = await call("GET", question, undefined, { signal });
    const fresh = answer.songs.filter((song) => !shown.has(song.id));
    for (const song of fresh) shown.add(song.id);
    const items = fresh.map((song) => ({ song, expected: answer.expected?.[song.id] ?? null }));
    const { next, total = null, duration = null } = answer;
    return { items, next, total, duration };
  }

  function draw(start) {
    if (!start.items.length) return { elements: nothing(place, change), found: null };
    const list = h("ul.songs", { role: "list", "aria-label": "Songs" });
    const { foot, sofar } = endless(list, { start, ask, draw: row, signal });
    followPlaying(list, signal);
    const { total, duration } = start;
    const isWorth = isNarrowed(place) && total !== null;
    const summary = isWorth ? h("p.faint.small.found", {}, said(total, duration)) : null;
    const found = { sofar: () => ({ ...sofar(), total, duration }) };
    return { elements: [summary, list, foot], found };
  }

  return { ask: () => (before ? recalled(before, shown) : ask()), draw };
}

async function recalled(before, shown) {
  for (const { song } of before.items) shown.add(song.id);
  return before;
}

function row({ song, expected }) {
  if (expected === null) return songRow(song);
  const title = "The rating that is expected now";
  const aside = h("span.song-expected.small.number", { title }, icon("star"), rating(expected));
  return songRow(song, { aside });
}

const said = (total, duration) =>
  duration === null ? plural(total, "song") : `${plural(total, "song")} · ${length(duration)}`;

const isNarrowed = (place) => FILTERS.some((name) => place[name]);

function nothing(place, change) {
  if (!isNarrowed(place)) return empty("library", NO_SONGS);
  const cleared = Object.fromEntries(FILTERS.map((name) => [name, ""]));
  const text = place.q ? `Nothing found for “${place.q}”.` : "No song fits.";
  const run = () => change(cleared);
  return empty("search", text, h("button", { type: "button", onclick: run }, "Show all songs"));
}

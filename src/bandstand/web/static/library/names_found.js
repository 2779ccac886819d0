// Artists, albums or genres; each leads to its songs.

import { address, call } from "../app/api.js";
import { h, icon } from "../app/dom.js";
import { link } from "../app/router.js";
import { empty } from "../app/states.js";
import { plural } from "../app/words.js";
import { TINY, coverOf } from "../player/cover.js";
import { endless } from "./endless.js";
import { placeWay, readPlace } from "./view_state.js";

const AT_ONCE = 200;
const NOWHERE = readPlace(new URLSearchParams());
const KINDS = {
  artists: { of: "artist", label: "Artists", drawing: "people" },
  albums: { of: "album", label: "Albums", drawing: "note" },
  genres: { of: "genre", label: "Genres", drawing: "library" },
};

export function namesFound({ place, before, change, signal }) {
  const kind = KINDS[place.view] ?? KINDS.artists;
  const { of, label } = kind;

  async function ask(after = null) {
    const wanted = address("/api/songs/names", { of, q: place.q, limit: AT_ONCE, after });
    const { names, total, next } = await call("GET", wanted, undefined, { signal });
    return { items: names, total, next };
  }

  function draw(start) {
    if (!start.items.length) return { elements: nothing(place, kind, change), found: null };
    const list = h("ul.names", { role: "list", "aria-label": label });
    const row = (item) => named(item, kind, place);
    const { foot, sofar } = endless(list, { start, ask, draw: row, signal });
    const summary = h("p.faint.small.found", {}, plural(start.total, of));
    const found = { sofar: () => ({ ...sofar(), total: start.total }) };
    return { elements: [summary, list, foot], found };
  }

  return { ask: async () => before ?? ask(), draw };
}

function named(item, { of, drawing }, place) {
  const { name, artist = null, songs, cover = null } = item;
  const wanted = { ...NOWHERE, [of]: name, sort: of === "album" ? "album" : place.sort };
  if (of === "album" && artist) wanted.album_artist = artist;
  const asSong = { id: name, artist: artist ?? name, album: of === "album" ? name : null, cover };
  const picture = of === "genre" ? icon(drawing) : coverOf(asSong, TINY);
  return h(
    "li",
    {},
    link(
      placeWay(wanted),
      { class: "name" },
      h("span.name-picture", { class: of }, picture),
      h(
        "span.name-words",
        {},
        h("span.name-title.cut", { title: name }, name),
        h("span.faint.small.cut", {}, [artist, plural(songs, "song")].filter(Boolean).join(" · ")),
      ),
    ),
  );
}

function nothing(place, { label, drawing }, change) {
  const kinds = label.toLowerCase();
  if (!place.q) return empty(drawing, `No ${kinds} are named in the tags of the songs here.`);
  const run = () => change({ q: "" });
  const clear = h("button", { type: "button", onclick: run }, `Show all ${kinds}`);
  return empty("search", `Nothing found for “${place.q}”.`, clear);
}

// What narrows the list of songs, each with a way to let it go.

import { h, icon } from "../app/dom.js";
import { radio } from "../player/radio.js";

const KINDS = [
  ["artist", "Artist"],
  ["album", "Album"],
  ["genre", "Genre"],
];

export function chips(place, change) {
  const present = KINDS.filter(([kind]) => place[kind]);
  if (place.view || !present.length) return null;
  const also = { album: { album_artist: "" } }; // whose album it is goes with it
  const remove = (kind) => () => change({ [kind]: "", ...also[kind] });
  return h(
    "div.row.library-chips",
    {},
    present.map(([kind, label]) => chip(label, text(kind, place), remove(kind))),
    startButton(place),
  );
}

function text(kind, place) {
  const by = kind === "album" && place.album_artist && place.album_artist !== place.artist;
  return by ? `${place.album} by ${place.album_artist}` : place[kind];
}

function chip(label, name, remove) {
  const words = `Remove ${label.toLowerCase()} “${name}”`;
  return h(
    "span.chip.filter",
    {},
    h("span.faint", {}, label),
    h("strong.cut", { title: name }, name),
    h(
      "button.quiet.round.small",
      { type: "button", "aria-label": words, title: "Remove", onclick: remove },
      icon("close"),
    ),
  );
}

// The radio can start from an artist or a genre; the closer of the two is meant.
function startButton(place) {
  const kind = place.artist ? "artist" : "genre";
  const name = place[kind];
  if (!name) return null;
  const run = () => radio.startFrom({ [kind]: name, name });
  const words = h("span.cut", {}, `Start radio from ${name}`);
  return h("button.small", { type: "button", onclick: run }, icon("radio"), words);
}

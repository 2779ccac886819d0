// What keeps a song off the radio, with a way to end it.

import { h, icon } from "../app/dom.js";
import { date } from "../app/words.js";
import { once, takeBack } from "./history_note.js";

// Those of the account's rules that a song falls under.
function rulesFor(song, rules) {
  const names = { song: song.id, artist: song.artist, album: song.album, genre: song.genre };
  const same = (name, target) => name === target || name?.toLowerCase() === target?.toLowerCase();
  return rules.filter(({ scope, target }) => names[scope] && same(names[scope], target));
}

export function rulesOf({ song, rules }, again) {
  const found = rulesFor(song, rules);
  if (!found.length) return null;
  const rows = found.map((rule) => one(rule, again));
  return h("section.card.wide", { "aria-label": "Kept away" }, rows);
}

function one({ seq, scope, target, until }, again) {
  const what = scope === "song" ? "This song" : `The ${scope} “${target}”`;
  const run = once(async () => {
    if (await takeBack(seq)) again();
  });
  const end = h("button.small", { type: "button", onclick: run }, "Play it again");
  const isForEver = until === null;
  const when = isForEver ? "is never played." : `is not played until ${date(until)}.`;
  const words = h("p.row", {}, icon(isForEver ? "ban" : "snooze"), `${what} ${when}`);
  return h("div.row.apart", {}, words, end);
}

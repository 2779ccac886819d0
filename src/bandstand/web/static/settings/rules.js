// Bans and snoozes, and ending them.

import { call } from "../app/api.js";
import { fill, h, icon } from "../app/dom.js";
import { send } from "../app/outbox.js";
import { link, way } from "../app/router.js";
import { load } from "../app/states.js";
import { day } from "../history/words.js";
import { radio } from "../player/radio.js";
import { saved } from "./pieces.js";

// Returns an element that fills itself.
export function rules({ signal }) {
  const place = h("div");
  const ask = () => call("GET", "/api/settings/rules", undefined, { signal });
  const draw = ({ rules: found }) => {
    const newest = [...found].sort((one, other) => other.seq - one.seq);
    return newest.length ? list(newest, fill.bind(null, place)) : nothing();
  };
  load(place, ask, draw);
  return place;
}

function nothing() {
  return h(
    "p.faint",
    { tabindex: "-1" },
    "Nothing is banned or snoozed. The menu of a song does that; here you undo it.",
  );
}

function list(found, refill) {
  const items = h("ul.list.rules", { role: "list" });
  items.append(...found.map((rule) => row(rule, gone)));
  function gone(item) {
    const next = item.nextElementSibling ?? item.previousElementSibling;
    item.remove();
    if (next) next.querySelector("button").focus();
    else refill(nothing()).firstElementChild.focus();
  }
  return items;
}

function row(rule, onGone) {
  const name = nameOf(rule);
  const allow = h(
    "button.small",
    { type: "button", "aria-label": `Allow again: ${name}` },
    "Allow again",
  );
  const item = h(
    "li.rule",
    {},
    h("span.rule-drawing", {}, icon(rule.until === null ? "ban" : "snooze")),
    h("div", {}, h("p", {}, shown(rule)), h("p.small.faint", {}, since(rule))),
    allow,
  );
  allow.addEventListener("click", async () => {
    allow.disabled = true;
    const answer = await send({ kind: "retract", retracts: rule.seq });
    if (answer) saved(`${name} may be played again.`);
    radio.refresh();
    onGone(item);
  });
  return item;
}

function nameOf({ scope, target, title, artist }) {
  if (scope !== "song") return target;
  if (!title) return "A song that is gone";
  return artist ? `${title} – ${artist}` : title;
}

function shown(rule) {
  if (rule.scope !== "song" || !rule.title) return nameOf(rule);
  return [link(way("song", rule.target), {}, rule.title), rule.artist ? ` – ${rule.artist}` : ""];
}

const KINDS = { song: "Song", artist: "Artist", album: "Album", genre: "Genre" };

function since({ scope, until, at }) {
  const what = until === null ? `never again, since ${day(at)}` : `not until ${day(until)}`;
  return `${KINDS[scope]}, ${what}`;
}

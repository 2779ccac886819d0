// The demo's listener: a history that is made up, and starting without one.

import { call } from "../app/api.js";
import { h } from "../app/dom.js";
import { ask, problem } from "../app/notices.js";
import * as storage from "../app/storage.js";
import { announce } from "../app/tabs.js";

// A note for pages that show a made-up history or its results; null for a listener's own.
export function demoNote(person) {
  if (!person.made_up) return null;
  return h(
    "aside.card.row.apart",
    { "aria-label": "About this listener" },
    h(
      "p.small",
      {},
      "This listener's history is made up, so that there is something to see. " +
        "What you rate is added to it.",
    ),
    startAfresh(person),
  );
}

export function startAfresh(person) {
  return h("button.small", { type: "button", onclick: () => begin(person) }, "Start afresh…");
}

async function begin(person) {
  const isWanted = await ask("Start afresh?", {
    body: h(
      "p.faint",
      {},
      "The history is removed, yours as well as what was made up, with all that was learned from " +
        "it, playlists and settings. The music stays. This cannot be undone.",
    ),
    yes: "Start afresh",
    danger: true,
    read: () => true,
  });
  if (!isWanted) return;
  try {
    await call("DELETE", "/api/demo/history");
  } catch (error) {
    problem(error);
    return;
  }
  storage.namesBelow(`outbox.${person.id}.`).forEach(storage.remove);
  announce("session");
  location.reload();
}

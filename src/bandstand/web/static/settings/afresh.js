// The demo's listener: a history that is made up, and starting without one.

import { call } from "../app/api.js";
import { h } from "../app/dom.js";
import { ask, problem } from "../app/notices.js";
import * as preferences from "../app/preferences.js";
import { announce } from "../app/tabs.js";

// A note for pages that show the history or what was learnt from it; null where it is one's own.
export function madeUp(person) {
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
      "The history is removed, yours as well as what was made up, with all that was learnt from " +
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
  preferences.namesBelow(`outbox.${person.id}.`).forEach(preferences.remove);
  announce("session");
  location.reload();
}

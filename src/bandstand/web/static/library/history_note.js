// A song's events in words, each with an undo.

import { h, icon } from "../app/dom.js";
import { notice } from "../app/notices.js";
import { send } from "../app/outbox.js";
import { moment, skipped, stars } from "../app/words.js";
import { radio } from "../player/radio.js";

function eventWords(event) {
  const { kind, stars: given, played_seconds: played = null, scope, until } = event;
  const what = scope === "song" || !scope ? "" : ` (${scope})`;
  return {
    rating: () => stars(given),
    skip: () => (played === null ? "Skipped" : skipped(played)),
    listen: () => "Heard to the end",
    ban: () => `Never again${what}`,
    snooze: () => `Not until ${moment(until)}${what}`,
    retract: () => "Undone",
  }[kind]();
}

// A list of events about one song; `onChange` is called when one was taken back.
export function historyNote(events, onChange) {
  return h(
    "ul.list.said",
    { role: "list" },
    events.map((event) => historyRow(event, onChange)),
  );
}

function historyRow(event, onChange) {
  const words = eventWords(event);
  const name = `Undo: ${words}, ${moment(event.at)}`;
  const run = once(async () => {
    if (await takeBack(event.seq)) onChange();
  });
  const properties = { type: "button", "aria-label": name, onclick: run };
  const undo = h("button.quiet.small", properties, icon("undo"), "Undo");
  return h(
    "li.row.apart",
    {},
    h(
      "div",
      {},
      event.is_retracted ? h("s.faint", {}, words) : h("span", {}, words),
      h("p.faint.small", {}, moment(event.at), event.is_retracted ? " · undone" : ""),
    ),
    event.is_retracted ? null : undo,
  );
}

// A second press while the first is on its way does nothing. (A button that is disabled meanwhile
// would lose the focus.)
export function once(run) {
  let isRunning = false;
  return async () => {
    if (isRunning) return;
    isRunning = true;
    await run();
    isRunning = false;
  };
}

// Resolves with whether it was taken back.
export async function takeBack(seq) {
  const answer = await send({ kind: "retract", retracts: seq });
  if (answer === null) return false;
  notice("Undone.");
  radio.forgetEvent(seq);
  radio.refresh();
  return true;
}

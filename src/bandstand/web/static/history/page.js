// The listener's events by day, each with an undo.

import { fill, h, icon } from "../app/dom.js";
import { notice, problem } from "../app/notices.js";
import { send } from "../app/outbox.js";
import { link, rename, way } from "../app/router.js";
import { empty, load } from "../app/states.js";
import { announce } from "../app/tabs.js";
import { showFavourite } from "../player/heart.js";
import { radio } from "../player/radio.js";
import { demoNote } from "../settings/demo_reset.js";
import { forgetPeriod } from "./forget.js";
import { days, focusOn, redraw } from "./list.js";
import { Log } from "./log.js";
import { spoken } from "./words.js";

export const title = "History";

// What can be shown alone: its name in the address, in words, and the kinds of event.
const FILTERS = [
  ["", "Everything", []],
  ["ratings", "Stars", ["rating"]],
  ["skips", "Skipped", ["skip"]],
  ["listens", "Heard", ["listen"]],
  ["rules", "Banned and snoozed", ["ban", "snooze"]],
  ["favourites", "Favourites", ["favourite"]],
  ["undone", "Undone", ["retract"]],
];

export async function show(main, { params, person, signal }) {
  const log = new Log(signal);
  const list = h("div.days");
  let [name, , kinds] = FILTERS.find(([known]) => known === params.query.get("show")) ?? FILTERS[0];

  const pieces = () =>
    log.events.length ? days(log.events, { undo, more: log.hasMore ? more : null }) : nothing(name);
  const start = () => load(list, () => log.begin(kinds), pieces);
  const renew = async () => (await log.renew()) && redraw(list, pieces());

  async function more() {
    try {
      const first = await log.more();
      redraw(list, pieces());
      // A keyboard user continues where the new ones begin.
      if (first) focusOn(list, first.seq);
    } catch (error) {
      problem(error);
    }
  }
  async function undo(event) {
    const sent = send({ kind: "retract", retracts: event.seq });
    log.strike(event.seq);
    redraw(list, pieces());
    if (await sent) notice(`Undone: ${spoken(event)}.`);
    else log.unstrike(event.seq);
    refreshRadio(event);
    await renew().catch(problem);
  }
  // Anything may have been undone: the list begins again at the top.
  async function forget() {
    if (!(await forgetPeriod({ signal }))) return;
    radio.refresh();
    await start();
  }
  function choose(filter) {
    [name, , kinds] = filter;
    rename(way("history", null, name ? { show: name } : {}));
    return start();
  }

  fill(main, head(forget), demoNote(person), filters(name, choose), list, foot());
  // Another song is next: there was an event. If it cannot be fetched now, nothing is lost.
  radio.addEventListener("upcoming", () => renew().catch(() => {}), { signal });
  await start();
}

// What is next may be another song now, here and in other tabs.
function refreshRadio(event) {
  radio.forgetEvent(event.seq);
  if (event.kind === "favourite") showFavourite(event.target, false);
  radio.refresh();
  announce("event", event.kind === "rating" ? { song: event.song, stars: 0 } : {});
}

function head(forget) {
  return h(
    "header.row.apart.history-head",
    {},
    h("h1", {}, "History"),
    h(
      "div.row",
      {},
      h("button.small", { type: "button", onclick: forget }, icon("trash"), "Forget a period…"),
      link(
        "/api/history/export",
        { class: "button small", download: "" },
        icon("download"),
        "Export my data",
      ),
    ),
  );
}

function filters(name, onChoose) {
  const buttons = FILTERS.map((filter) =>
    h("button.small.filter", { type: "button", onclick: () => choose(filter) }, filter[1]),
  );
  const mark = (chosen) =>
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", FILTERS[at][0] === chosen));
  const choose = (filter) => {
    mark(filter[0]);
    onChoose(filter);
  };
  mark(name);
  return h("div.row.filters", { role: "group", "aria-label": "What is shown" }, buttons);
}

function nothing(filter) {
  if (filter) return empty("history", "There is nothing of this kind.");
  return empty(
    "history",
    "Nothing yet. What you rate, skip and hear will be listed here, " +
      "and you can take each of it back.",
    link(way(""), { class: "button main" }, "Listen to the radio"),
  );
}

function foot() {
  return h(
    "p.small.faint.history-foot",
    {},
    "All of this is yours alone. To remove it together with your account, see ",
    link(way("settings"), {}, "Settings"),
    ".",
  );
}

// Everything that was told to the radio, by day, and how to take it back.

import { fill, h, icon } from "../app/dom.js";
import { notice, problem } from "../app/notices.js";
import { tell } from "../app/outbox.js";
import { link, rename, way } from "../app/router.js";
import { empty, load } from "../app/states.js";
import { announce } from "../app/tabs.js";
import { radio } from "../player/radio.js";
import { madeUp } from "../settings/afresh.js";
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
  ["rules", "Never and not now", ["ban", "snooze"]],
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
      // Whoever asked by keyboard goes on where the new ones begin.
      if (first) focusOn(list, first.seq);
    } catch (error) {
      problem(error);
    }
  }
  async function undo(event) {
    const told = tell({ kind: "retract", retracts: event.seq });
    log.strike(event.seq);
    redraw(list, pieces());
    if (await told) notice(`Undone: ${spoken(event)}.`);
    else log.unstrike(event.seq);
    tellTheRadio(event);
    await renew().catch(problem);
  }
  // As much may be undone as was ever told: one begins again at the top.
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

  fill(main, head(forget), madeUp(person), filters(name, choose), list, foot());
  // Another song is next: something was told. If it cannot be asked what, nothing is lost.
  radio.addEventListener("upcoming", () => renew().catch(() => {}), { signal });
  await start();
}

// What is next may be another song now, here and in other tabs.
function tellTheRadio(event) {
  radio.forgetTold(event.seq);
  radio.refresh();
  announce("told", event.kind === "rating" ? { song: event.song, stars: 0 } : {});
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

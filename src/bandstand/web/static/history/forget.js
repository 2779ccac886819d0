// "Forget a period…": from when to when, how much that is, and then it is taken back.

import { address, call } from "../app/api.js";
import { h } from "../app/dom.js";
import { ask, notice, problem } from "../app/notices.js";
import { plural } from "../app/words.js";

const HOUR = 3_600_000; // milliseconds
const MINUTE = 60_000;
const PAGE = 500;
const HEARD = ["rating", "skip", "listen"]; // what is forgotten; bans and snoozes stay

// Resolves with whether something was forgotten.
export async function forgetPeriod({ signal }) {
  const known = counter(signal);
  const fields = stretch();
  const tally = h("p.small");
  let asked = 0;
  const count = async () => {
    const { from, to } = fields.read();
    const turn = ++asked;
    tally.textContent = "Counting …";
    const words = await said(known, from, to);
    if (turn === asked) tally.textContent = words;
  };
  fields.onChange(count);
  count();
  const wanted = await ask("Forget a period", {
    body: [
      h(
        "p.faint",
        {},
        "Your ratings, skips and listens in this period are removed from what the radio learns. " +
          "What you have banned or snoozed stays away. This cannot be undone.",
      ),
      fields.presets,
      fields.pair,
      tally,
    ],
    yes: "Forget it",
    danger: true,
    read: fields.read,
  });
  return wanted ? forget(wanted) : false;
}

async function forget({ from, to }) {
  try {
    const { forgotten } = await call("POST", "/api/history/forget", { from, to });
    notice(
      forgotten ? `Forgotten: ${things(forgotten)}.` : "There was nothing to forget in that time.",
    );
    return forgotten > 0;
  } catch (error) {
    problem(error);
    return false;
  }
}

const things = (count) => plural(count, "rating, skip or listen", "ratings, skips and listens");

// ── The fields ──────────────────────────────────────────────────────────────────────────

function stretch() {
  const [from, to] = [momentField(), momentField()];
  const read = () => ({ from: from.read(), to: to.read() });
  const check = () => {
    const isFine = from.read() < to.read();
    to.input.setCustomValidity(isFine ? "" : "The end must be after the beginning.");
  };
  const listeners = [check];
  const tell = () => listeners.forEach((listener) => listener());
  const set = (start) => {
    from.set(start);
    to.set(Date.now() + MINUTE); // the minute that is not over yet included
    tell();
  };
  [from, to].forEach(({ input }) => input.addEventListener("change", tell));
  set(Date.now() - HOUR);
  const preset = ([name, start]) =>
    h("button.small", { type: "button", onclick: () => set(start()) }, name);
  return {
    read,
    onChange: (listener) => listeners.push(listener),
    presets: h(
      "div.row.presets",
      { role: "group", "aria-label": "Common periods" },
      PRESETS.map(preset),
    ),
    pair: h("div.period", {}, labelled("From", from.input), labelled("To", to.input)),
  };
}

const PRESETS = [
  ["Last hour", () => Date.now() - HOUR],
  ["Today", () => new Date().setHours(0, 0, 0, 0)],
  ["This week", monday],
];

function monday() {
  const today = new Date();
  today.setDate(today.getDate() - ((today.getDay() + 6) % 7));
  return today.setHours(0, 0, 0, 0);
}

// A field for a local time, to the minute. In the hour that comes twice when the clocks go back,
// the text alone would not say which is meant: as long as it is untouched, the moment is kept.
function momentField() {
  const input = h("input", { type: "datetime-local", required: true });
  let given = { text: "", moment: NaN };
  const set = (moment) => {
    const whole = moment - (moment % MINUTE);
    given = { text: written(whole), moment: whole };
    input.value = given.text;
  };
  const read = () => {
    return input.value === given.text ? given.moment : new Date(input.value).getTime();
  };
  return { input, set, read };
}

const labelled = (name, input) => h("label.field", {}, h("span", {}, name), input);

// As the field wants it.
function written(moment) {
  const local = new Date(moment - new Date(moment).getTimezoneOffset() * MINUTE);
  return local.toISOString().slice(0, 16);
}

// ── How much that is ────────────────────────────────────────────────────────────────────

async function said(known, from, to) {
  if (!(from < to)) return "";
  try {
    const count = await known(from, to);
    return count ? `In this period: ${things(count)}.` : "There is nothing in this period.";
  } catch {
    return ""; // the answer says it afterwards
  }
}

// Counts what was heard in a stretch; the log is read backwards once, as far as it is needed. One
// count waits for the other, since each goes on where the one before has stopped reading.
function counter(signal) {
  const found = [];
  let before = null;
  let isWhole = false;
  let last = Promise.resolve();

  async function readBackTo(from) {
    while (!isWhole && !(found.at(-1)?.at < from)) {
      const where = address("/api/history", { kind: HEARD, limit: PAGE, before });
      const { events, next_before: next } = await call("GET", where, undefined, { signal });
      found.push(...events);
      before = next;
      isWhole = next === null;
    }
  }
  return async (from, to) => {
    const read = last.then(() => readBackTo(from));
    last = read.catch(() => {}); // the next one tries again
    await read;
    return found.filter((event) => !event.is_retracted && from <= event.at && event.at < to).length;
  };
}

// Why a song was chosen: the sums of its score as bars of stars, with the words beside them.

import { showPanel } from "../app/dialog.js";
import { h, icon } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { length, plural } from "../app/words.js";
import { sentence } from "./reasons.js";
import { inTenths, steps, tenths } from "./score_steps.js";

// One decimal: the radio does not know more than that.
const TENTHS = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
const NUMBER = new Intl.NumberFormat("en-GB", TENTHS);
const CHANGE = new Intl.NumberFormat("en-GB", { ...TENTHS, signDisplay: "exceptZero" });
const shown = (format, value) => format.format(value / 10).replace("-", "−"); // of tenths
const [LOWEST, HIGHEST] = [1, 5]; // stars

export function toggleWhy(offer) {
  const open = document.querySelector("dialog.why-panel");
  if (open) open.close();
  else showWhy(offer);
}

export function showWhy(offer) {
  const { song, why } = offer;
  const body = [
    h("p", {}, sentence(offer) || "You asked for it."),
    why && why.expected !== null ? sums(why) : null,
    h("dl.facts", {}, factsOf(why)),
  ];
  const about = [icon("note"), "More about it"];
  const actions = (close) =>
    link(way("song", song.id), { class: "button quiet", onclick: close }, about);
  showPanel(`Why “${song.title}”?`, body, { kind: "dialog.why-panel", actions });
}

// ── The sums ────────────────────────────────────────────────────────────────────────────

function sums(why) {
  const isScored = why.score !== null && why.exploration !== null;
  const hint = "In stars. The song with the highest score is played.";
  return h("div.stack.tight", {}, waterfall(why), isScored ? h("p.hint", {}, hint) : null);
}

function waterfall(why) {
  const all = placed(inTenths(steps(why)));
  const low = Math.min(0, ...all.flatMap(({ from, to }) => [from, to]));
  const high = Math.max(10 * HIGHEST, ...all.flatMap(({ from, to }) => [from, to]));
  const share = (value) => (value - low) / (high - low);
  const rows = all.map((step) => row(step, share));
  return h(
    "table.waterfall",
    {},
    h("caption.unseen", {}, "How the choice adds up, in stars"),
    h(
      "thead.unseen",
      {},
      h("tr", {}, h("th", { scope: "col" }, "Part"), h("th", { scope: "col" }, "Stars")),
    ),
    h("tbody", {}, rows),
  );
}

// Each change begins where the one before it has ended.
function placed(found) {
  let now = 0;
  return found.map((step) => {
    const from = step.total === undefined ? now : 0;
    now = step.total === undefined ? now + step.change : step.total;
    return { ...step, from, to: now };
  });
}

function row({ label, change, total, from, to }, share) {
  const bar = h("i");
  bar.style.setProperty("--from", share(Math.min(from, to)));
  bar.style.setProperty("--to", share(Math.max(from, to)));
  const kind = total === undefined ? (change < 0 ? "loss" : "gain") : "sum";
  const value = total === undefined ? shown(CHANGE, change) : shown(NUMBER, total);
  return h(
    "tr",
    { class: kind },
    h("th", { scope: "row" }, label),
    h("td.number", {}, h("span.bar", { "aria-hidden": "true" }, bar), value),
  );
}

// ── The facts ───────────────────────────────────────────────────────────────────────────

function factsOf(why) {
  if (!why) return [];
  const heard = why.minutes_since_heard;
  const isRecovering = why.novelty !== null && heard !== null;
  return [
    why.expected === null ? null : fact("Expected now", expectedInWords(why.expected)),
    why.rating_deviation === null ? null : fact("Give or take", doubtInWords(why.rating_deviation)),
    fact("Last heard", heard === null ? "never" : `${length(60 * heard)} ago`),
    isRecovering ? fact("As good as new", `${Math.round(100 * why.novelty)} %`) : null,
    why.answers ? fact("Learned from", plural(why.answers, "answer")) : null,
    why.mainly_to_learn ? fact("Chosen", "mainly to learn what you think of it") : null,
  ];
}

// The scale of stars has ends, the sum does not know that.
export function expectedInWords(expected) {
  const value = tenths(expected);
  const end = value > 10 * HIGHEST ? HIGHEST : value < 10 * LOWEST ? LOWEST : null;
  if (end === null) return `about ${shown(NUMBER, value)} stars`;
  return `about ${plural(end, "star")}: the scale ends there`;
}

// Of the rating itself: what is not known of the song, and the scatter of ratings.
const doubtInWords = (deviation) => `${shown(NUMBER, tenths(deviation))} stars`;

function fact(name, value) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}

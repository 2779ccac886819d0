// Why a song was chosen: the sums of its score as bars of stars, with the words beside them.

import { call } from "../app/api.js";
import { h, icon } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { length, plural, rating } from "../app/words.js";
import { sentence } from "./reasons.js";

const SMALL = 0.05; // stars; what is less than this is told together
const GROUPS = {
  tempo: "Its tempo",
  brightness: "How bright it is",
  harmony: "Its harmony",
  timbre: "Its timbre",
  movement: "How restless it is",
  sound: "Its sound",
};
// One decimal: the radio does not know more than that.
const TENTHS = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
const NUMBER = new Intl.NumberFormat("en-GB", TENTHS);
const CHANGE = new Intl.NumberFormat("en-GB", { ...TENTHS, signDisplay: "exceptZero" });
const shown = (format, value) => format.format(value).replace("-", "−");

export function toggleWhy(offer) {
  const open = document.querySelector("dialog.why-panel");
  if (open) open.close();
  else showWhy(offer);
}

export function showWhy(offer) {
  const facts = h("dl.facts", {}, factsOf(offer.why));
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const dialog = h(
    "dialog.why-panel",
    { "aria-labelledby": "why" },
    h(
      "div.stack",
      {},
      h("h2", { id: "why", tabindex: "-1", autofocus: true }, `Why “${offer.song.title}”?`),
      h("p", {}, sentence(offer) || "You asked for it."),
      offer.why && offer.why.expected !== null ? sums(offer.why) : null,
      facts,
      h(
        "div.row",
        {},
        link(
          way("song", offer.song.id),
          { class: "button quiet", onclick: () => dialog.close() },
          icon("note"),
          "More about it",
        ),
        close,
      ),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  addCertainty(offer, facts);
}

// ── The sums ────────────────────────────────────────────────────────────────────────────

// The steps from what any song gets to what this one was chosen by: {label, change} adds to what
// is above it, {label, total} says where that has led.
export function steps(why) {
  const known = (value) => value !== null && value !== undefined;
  const groups = groupsOf(why.groups ?? {});
  const isSum = known(why.base);
  return [
    isSum && why.base !== 0 && { label: "What an average song gets", total: why.base },
    isSum && groups,
    known(why.staleness) && known(why.liking) && { label: "When it is new", total: why.liking },
    known(why.staleness) && { label: "Heard lately", change: why.staleness },
    { label: "Expected now", total: why.expected },
    known(why.exploration) && { label: "Curiosity", change: why.exploration },
    known(why.score) && known(why.exploration) && { label: "Its score", total: why.score },
  ]
    .flat()
    .filter(Boolean);
}

// What the sound adds, the most important first; the rest is one part.
function groupsOf(groups) {
  const all = Object.entries(groups).sort(([, one], [, other]) => Math.abs(other) - Math.abs(one));
  const isLarge = ([name, value]) => name in GROUPS && Math.abs(value) >= SMALL;
  const large = all.filter(isLarge).map(([name, change]) => ({ label: GROUPS[name], change }));
  const rest = all.filter((one) => !isLarge(one)).reduce((sum, [, value]) => sum + value, 0);
  const label = large.length ? "The rest of its sound" : "Its sound";
  return Math.abs(rest) < SMALL && large.length ? large : [...large, { label, change: rest }];
}

function sums(why) {
  const isScored = why.score !== null && why.exploration !== null;
  const hint = "In stars. The song with the highest score is played.";
  return h("div.stack.tight", {}, waterfall(why), isScored ? h("p.hint", {}, hint) : null);
}

function waterfall(why) {
  const all = placed(steps(why));
  const low = Math.min(0, ...all.flatMap(({ from, to }) => [from, to]));
  const high = Math.max(5, ...all.flatMap(({ from, to }) => [from, to]));
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
  return [
    why.expected === null ? null : fact("Expected now", `about ${rating(why.expected)} stars`),
    fact("Last heard", heard === null ? "never" : `${length(60 * heard)} ago`),
    why.novelty === null ? null : fact("As good as new", `${Math.round(100 * why.novelty)} %`),
    why.answers ? fact("Learnt from", plural(why.answers, "answer")) : null,
    why.mainly_to_learn ? fact("Chosen", "mainly to learn what you think of it") : null,
  ];
}

function fact(name, value) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}

// How sure the radio is stands with the song, as long as nothing has been learnt since.
async function addCertainty({ song, seq }, facts) {
  try {
    const found = await call("GET", `/api/songs/${song.id}`);
    if (found.standard_deviation === null || found.seq !== seq || !facts.firstElementChild) return;
    facts.firstElementChild.after(
      fact("Give or take", `${found.standard_deviation.toFixed(1)} stars`),
    );
  } catch {
    // the choice is explained without it
  }
}

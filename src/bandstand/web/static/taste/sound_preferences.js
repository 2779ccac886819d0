// Preferences in sound: fast or slow, bright or dark. One scale each, from one word to the other,
// with a bar towards the side that is liked and a whisker for the uncertainty.

import { h } from "../app/dom.js";
import { list } from "../app/words.js";
import { figure, percent } from "./figure.js";
import { hasRated } from "./uncertainty.js";

const TITLE = "The sound you like";
// These stand at the right, so that a scale stays as it is when the preference changes.
const AT_THE_RIGHT = new Set(["fast", "bright", "dense", "rough", "restless"]);
const LIKELY = 0.8;
const SURE = 0.975;
const WORTH_SAYING = 0.1; // stars
const STEPS = [0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 10, 20, 50];

export function soundYouLike(taste) {
  const { leanings, counts } = taste;
  if (!leanings.length) return null;
  return figure({
    key: "leanings",
    title: TITLE,
    sentence: sentenceOf(leanings, counts),
    body: scales(leanings),
    table: tableOf(leanings),
  });
}

const isWorthSaying = ({ certainty, stars }) => (certainty ?? 1) >= LIKELY && stars >= WORTH_SAYING;

function sentenceOf(leanings, counts) {
  const clear = leanings.filter(isWorthSaying);
  const rest = leanings.filter((leaning) => !isWorthSaying(leaning));
  if (!clear.length)
    return "Nothing in the sound makes a difference yet that the radio could be sure of.";
  const [first] = clear;
  const liked = list(clear.map((leaning) => leaning.likes));
  const amount = `a clearly ${first.likes} one gets about ${first.stars.toFixed(1)} stars more than the average song`;
  const isSure = clear.every(({ certainty }) => (certainty ?? 1) >= SURE);
  const small = whether(rest.filter(isSmall), "hardly counts");
  const open = whether(
    rest.filter((leaning) => !isSmall(leaning)),
    "is not known yet",
  );
  const you = hasRated(counts) ? "You" : "You would"; // a skip is no rating
  return `${you} ${isSure ? "" : "probably "}rate ${liked} songs higher: ${amount}.${small}${open}`;
}

// What is small even if it is as large as it may well be.
const isSmall = ({ stars, standard_deviation: spread }) => stars + (spread ?? 0) < 2 * WORTH_SAYING;

const whether = (leanings, verdict) =>
  leanings.length
    ? ` Whether a song is ${list(leanings.map(({ likes, dislikes }) => `${likes} or ${dislikes}`))} ${verdict}.`
    : "";

const howSure = ({ certainty, stars }) => {
  if (certainty === null) return "";
  if (stars < WORTH_SAYING && certainty >= LIKELY) return "sure, but hardly any";
  return certainty >= SURE ? "sure" : certainty >= LIKELY ? "likely" : "unsure";
};

function scales(leanings) {
  const farthest = Math.max(
    ...leanings.map(({ stars, standard_deviation: spread }) => stars + (spread ?? 0)),
  );
  const end = STEPS.find((step) => step >= farthest) ?? farthest;
  const mark = (share, text) => {
    const element = h("span", {}, text);
    element.style.setProperty("--at", String(share));
    return element;
  };
  return h(
    "div.leanings",
    {},
    h("p.plot-axis", {}, "Stars more than the average song"),
    h(
      "ul",
      { role: "list" },
      leanings.map((leaning) => scale(leaning, end)),
    ),
    h(
      "div.leaning-axis",
      { "aria-hidden": "true" },
      [-1, -0.5, 0, 0.5, 1].map((side) =>
        mark(side, side ? `+${trimmed(Math.abs(side) * end)}` : "0"),
      ),
    ),
  );
}

const trimmed = (value) => String(Number(value.toFixed(2)));

function scale(leaning, end) {
  const { likes, dislikes, stars, standard_deviation: spread } = leaning;
  const isRight = AT_THE_RIGHT.has(likes) || !AT_THE_RIGHT.has(dislikes);
  const words = isRight ? [dislikes, likes] : [likes, dislikes];
  const side = isRight ? 1 : -1;
  const track = h(
    "span.leaning-track",
    { "aria-hidden": "true" },
    h("i.leaning-bar"),
    spread === null ? null : h("i.leaning-whisker"),
  );
  track.style.setProperty("--to", String((side * stars) / end));
  track.style.setProperty("--spread", String((spread ?? 0) / end));
  const text = [
    `${likes} rather than ${dislikes}: ${stars.toFixed(2)} stars`,
    spread === null ? "" : `give or take ${spread.toFixed(2)}`,
    howSure(leaning),
  ]
    .filter(Boolean)
    .join(", ");
  return h(
    "li.leaning",
    { class: isWorthSaying(leaning) ? "" : "is-open", title: text },
    words.map((word) =>
      h(
        "span.leaning-word",
        { class: word === likes ? "is-liked" : "", "aria-hidden": "true" },
        word,
      ),
    ),
    track,
    h("span.unseen", {}, text),
  );
}

function tableOf(leanings) {
  const rows = leanings.map((leaning) => [
    `${leaning.likes} rather than ${leaning.dislikes}`,
    `+${leaning.stars.toFixed(2)}`,
    leaning.standard_deviation === null ? "–" : `± ${leaning.standard_deviation.toFixed(2)}`,
    leaning.certainty === null
      ? "–"
      : percent(Math.min(leaning.certainty, 0.99)).replace(
          "99",
          leaning.certainty > 0.99 ? "> 99" : "99",
        ),
  ]);
  return { head: ["Liked", "Stars", "One sd", "Certain"], rows };
}

// The artists and genres that should please most and least.

import { h } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { plural, rating } from "../app/words.js";
import { figure } from "./figure.js";

const TOO_UNSURE = 1.5; // stars; then nobody can say who is liked best
const [WORST, BEST] = [1, 5];

// `kind` is "artist" or "genre".
export function favourites(taste, kind) {
  const found = taste[`${kind}s`];
  if (!found.most.length) return null;
  return figure({
    key: `${kind}s`,
    title: kind === "artist" ? "Artists" : "Genres",
    sentence: sentenceOf(taste, kind),
    body: h(
      "div.favourites",
      {},
      names("Should please most", found.most, kind),
      found.least.length ? names("Should please least", found.least, kind) : null,
    ),
  });
}

export function sentenceOf(taste, kind) {
  const { most, least } = taste[`${kind}s`];
  const doubt = taste.uncertainty.at(-1)?.stars ?? Infinity;
  const basis = "Mean of what their songs should get from you when they are new.";
  if (doubt >= TOO_UNSURE) return `Hardly more than a guess yet. ${basis}`;
  const best = `${most[0].name} should please you best (${rating(most[0].expected)} stars)`;
  return `${best}${least.length ? `, ${least[0].name} least (${rating(least[0].expected)})` : ""}. ${basis}`;
}

function names(title, found, kind) {
  return h(
    "section",
    {},
    h("h3", {}, title),
    h(
      "ol",
      { role: "list" },
      found.map((each) => item(each, kind)),
    ),
  );
}

function item({ name, songs, expected }, kind) {
  const meter = h("span.favourite-meter", { "aria-hidden": "true" });
  const share = (Number(rating(expected)) - WORST) / (BEST - WORST);
  meter.style.setProperty("--share", String(share));
  return h(
    "li.favourite",
    {},
    link(way("library", null, { [kind]: name }), { title: name }, name),
    h("span.faint.small.favourite-songs", {}, plural(songs, "song")),
    h("span.number", {}, rating(expected), h("span.unseen", {}, " stars")),
    meter,
  );
}

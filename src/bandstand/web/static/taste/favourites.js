// The artists and genres that the listener will probably like most and least.

import { h } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { plural, rating } from "../app/words.js";
import { SCALE, TOO_UNSURE, uncertaintyOf, isTooUnsure } from "./uncertainty.js";
import { figure, inStars } from "./figure.js";

const APART = 0.2; // stars; names that are closer are as good as each other
const [WORST, BEST] = [1, 5];
const TITLES = { artist: "Artists", genre: "Genres" };

// The figures of both kinds; while too little is known, one that says so.
export function favourites(taste) {
  const kinds = Object.keys(TITLES).filter((kind) => taste[`${kind}s`].most.length);
  if (!kinds.length) return [];
  if (isTooUnsure(taste)) return [tooEarly(taste, kinds)];
  return kinds.map((kind) => ranked(taste[`${kind}s`], kind));
}

function tooEarly(taste, kinds) {
  const what = kinds.map((kind) => `${kind}s`).join(" and ");
  const answers = plural(taste.uncertainty.at(-1).answers, "answer");
  const doubt = uncertaintyOf(taste);
  const known =
    doubt > SCALE
      ? "hardly knows what a new song is worth to you. Once it does to within"
      : `knows what a new song is worth to you to within ${inStars(doubt)}. Once that is below`;
  return figure({
    key: "favourites",
    title: `${what[0].toUpperCase()}${what.slice(1)}`,
    sentence: `Too early to tell. After ${answers} the radio ${known} ${inStars(TOO_UNSURE)}, the ${what} that you will probably like most and least stand here.`,
  });
}

// `kind` is "artist" or "genre".
function ranked({ most, least }, kind) {
  const common = { key: `${kind}s`, title: TITLES[kind] };
  const [best, worst] = [most[0], least[0]];
  const basis = "Mean of what their songs should get from you when they are new.";
  if (!worst) return figure({ ...common, sentence: `${named(best)} should get ${said(best)}.` });
  if (onScale(best) - onScale(worst) < APART)
    return figure({
      ...common,
      sentence: `So far all ${kind}s are about equal for you: ${rating(worst.expected)} to ${rating(best.expected)} stars.`,
    });
  return figure({
    ...common,
    sentence: `${best.name} is probably your favourite (${said(best)}), ${worst.name} least (${rating(worst.expected)}). ${basis}`,
    body: h(
      "div.favourites",
      {},
      names("You will probably like most", most, kind),
      names("You will probably like least", least, kind),
    ),
  });
}

const named = ({ name, songs }) => `The ${plural(songs, "song")} of ${name}`;
const said = ({ expected }) => `${rating(expected)} stars`;
const onScale = ({ expected }) => Number(rating(expected));

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

function item(found, kind) {
  const { name, songs, expected } = found;
  const meter = h("span.favourite-meter", { "aria-hidden": "true" });
  meter.style.setProperty("--share", String((onScale(found) - WORST) / (BEST - WORST)));
  return h(
    "li.favourite",
    {},
    link(way("library", null, { [kind]: name }), { title: name }, name),
    h("span.faint.small.favourite-songs", {}, plural(songs, "song")),
    h("span.number", {}, rating(expected), h("span.unseen", {}, " stars")),
    meter,
  );
}

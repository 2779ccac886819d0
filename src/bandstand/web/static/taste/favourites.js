// The artists and genres that the listener will probably like most and least.

import { h } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { list, plural, rating } from "../app/words.js";
import { SCALE, TOO_UNSURE, uncertaintyOf, isTooUnsure } from "./uncertainty.js";
import { figure, inStars } from "./figure.js";

const APART = 0.2; // stars; names that are closer than that or than the doubt are not ranked
const [WORST, BEST] = [1, 5];
const TITLES = { artist: "Artists", genre: "Genres" };

// The figures of both kinds; while too little is known, one that says so.
export function favourites(taste) {
  const kinds = Object.keys(TITLES).filter((kind) => taste[`${kind}s`].most.length);
  if (!kinds.length) return [];
  if (isTooUnsure(taste)) return [tooEarly(taste, kinds)];
  const apart = Math.max(APART, uncertaintyOf(taste));
  return kinds.map((kind) => ranked(taste[`${kind}s`], kind, apart));
}

function tooEarly(taste, kinds) {
  const what = kinds.map((kind) => `${kind}s`).join(" and ");
  const doubt = uncertaintyOf(taste);
  const known =
    doubt > SCALE
      ? "hardly knows what a new song is worth to you. Once it does to within"
      : `knows what a new song is worth to you only to within ${inStars(doubt)}. Once that is below`;
  return figure({
    key: "favourites",
    title: `${what[0].toUpperCase()}${what.slice(1)}`,
    sentence: `Too early to tell: the radio ${known} ${inStars(TOO_UNSURE)}, your most and least liked ${what} appear here.`,
  });
}

// `kind` is "artist" or "genre".
function ranked({ most, least, usual }, kind, apart) {
  const common = { key: `${kind}s`, title: TITLES[kind] };
  const [best, worst] = [most[0], least[0]];
  const middle = Number(rating(usual));
  const liked = most.filter((each) => onScale(each) >= middle + apart);
  const disliked = least.filter((each) => onScale(each) <= middle - apart);
  const basis = "Mean of what their songs should get from you when they are new.";
  if (!worst) return figure({ ...common, sentence: `${named(best)} should get ${said(best)}.` });
  if (!liked.length && !disliked.length)
    return figure({
      ...common,
      sentence: `No ${kind} stands out so far: none should get clearly more or less from you than the usual ${rating(usual)} stars.`,
    });
  const ends = [
    ...liked.slice(0, 1).map((each) => `${each.name} best (${said(each)})`),
    ...disliked.slice(0, 1).map((each) => `${each.name} least (${said(each)})`),
  ];
  return figure({
    ...common,
    sentence: `You will probably like ${list(ends)}; the usual ${kind} should get ${rating(usual)}. ${basis}`,
    body: h("div.favourites", {}, [
      liked.length ? names("You will probably like most", liked, kind) : null,
      disliked.length ? names("You will probably like least", disliked, kind) : null,
    ]),
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

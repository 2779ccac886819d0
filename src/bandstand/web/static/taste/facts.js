// What the radio has learned, in a few words and a few large numbers.

import { h } from "../app/dom.js";
import { length, plural } from "../app/words.js";
import {
  ratingDoubtOf,
  uncertaintyOf,
  hasRated,
  isGuess,
  isSureOfFreshness,
  isTooUnsure,
} from "./uncertainty.js";

const MOST_SENTENCES = 3;

// The server says what matters most first; the rest stands in the numbers and beside the figures.
export function summary({ sentences }) {
  return h("p.taste-summary", {}, sentences.slice(0, MOST_SENTENCES).join(" "));
}

export function facts(taste) {
  return h(
    "dl.taste-facts",
    {},
    factsOf(taste).map(([number, label]) => h("div", {}, h("dt", {}, label), h("dd", {}, number))),
  );
}

function factsOf(taste) {
  const { counts, recovery, uncertainty } = taste;
  const found = [
    [counts.ratings.toLocaleString("en-GB"), counts.ratings === 1 ? "rating" : "ratings"],
    [
      counts.songs.toLocaleString("en-GB"),
      `${counts.songs === 1 ? "song" : "songs"} heard, in ${plural(counts.plays, "play")}`,
    ],
  ];
  if (recovery !== null) found.push(freshAfter(taste));
  if (uncertainty.length) {
    found.push(
      isTooUnsure(taste) || !hasRated(counts)
        ? ["?", "what a new song is worth to you: too early to tell"]
        : doubtAbout(taste),
    );
  }
  return found;
}

function doubtAbout(taste) {
  const doubt = ratingDoubtOf(taste);
  const shown = `± ${Math.max(doubt ?? uncertaintyOf(taste), 0.1).toFixed(1)} stars`;
  return [
    shown,
    doubt === null
      ? "on what a new song is worth to you, on average"
      : "on what you would give a new song",
  ];
}

function freshAfter(taste) {
  const label = "until a song is fresh again";
  const minutes = taste.recovery.fresh_after;
  if (isGuess(taste)) return ["?", `${label}: hear some songs twice`];
  if (isSureOfFreshness(taste))
    return [minutes === null ? "over 3 months" : length(60 * minutes), label];
  if (minutes === null) return ["?", `${label}: too early to tell`];
  return [length(60 * minutes), `${label}: far from sure`];
}

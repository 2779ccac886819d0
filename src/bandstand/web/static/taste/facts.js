// What was learnt in a few words, and in a few large numbers.

import { h } from "../app/dom.js";
import { length, plural } from "../app/words.js";
import { isGuess } from "./freshness.js";

// Beyond this many stars a number would pretend to know something.
const TOO_UNSURE = 1.5;
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

export function factsOf(taste) {
  const { counts, recovery, uncertainty } = taste;
  const found = [
    [counts.ratings.toLocaleString("en-GB"), counts.ratings === 1 ? "rating" : "ratings"],
    [
      counts.songs.toLocaleString("en-GB"),
      `${counts.songs === 1 ? "song" : "songs"} heard, in ${plural(counts.plays, "play")}`,
    ],
  ];
  if (recovery !== null) {
    const number =
      recovery.fresh_after === null ? "over 3 months" : length(60 * recovery.fresh_after);
    found.push([number, `until a song is fresh again${isGuess(taste) ? ": a guess so far" : ""}`]);
  }
  const doubt = uncertainty.at(-1)?.stars;
  if (doubt !== undefined) {
    found.push(
      doubt < TOO_UNSURE
        ? [`± ${Math.max(doubt, 0.1).toFixed(1)} stars`, "on what a new song is worth to you"]
        : ["?", "what a new song is worth to you: too early to tell"],
    );
  }
  return found;
}

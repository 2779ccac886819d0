// What each algorithm does, for the curious.

import { h } from "../app/dom.js";

// Names and words for people; one that is not here is shown by its own name and summary.
const KNOWN = {
  "mixed-effects": [
    "Sound, genres and names",
    "Learns what you like of a sound, a genre, an artist, an album and a single song, tries out " +
      "what it is unsure of, and lets a song rest until it is fresh for you again. Recommended.",
  ],
  "bayes-ucb-cn-x": [
    "Bayes-UCB, sound only",
    "Weighs what it knows of the sound that you like against what it may still find out, and " +
      "lets a song rest.",
  ],
  "bayes-ucb-cn-v": [
    "Bayes-UCB, approximate",
    "The same idea with the quick approximation of the paper that Bandstand builds on.",
  ],
  "bayes-ucb-cn": [
    "Bayes-UCB, by sampling",
    "The same idea, computed by random sampling as in the paper. Takes some seconds after " +
      "each rating.",
  ],
  "thompson-cn-x": [
    "Thompson sampling",
    "Plays each song about as often as it believes it to be the best for you. More varied " +
      "from hour to hour.",
  ],
  "greedy-cn-x": [
    "Always the favourite",
    "Plays what it expects you to like best at the moment, and never tries anything out.",
  ],
  "greedy-cn-map": [
    "Least squares, cautious",
    "A simpler estimate of your taste that is careful at first. Never tries anything out.",
  ],
  "greedy-cn": ["Least squares", "The simplest estimate of your taste. Trusts its first guesses."],
  "linucb-cn": [
    "LinUCB, sound and time",
    "Tries out what it is unsure of, and counts the days since a song was heard, evenly.",
  ],
  "linucb-c": [
    "LinUCB, sound only",
    "Tries out what it is unsure of, but does not know that one tires of a song. Repeats much.",
  ],
  random: ["Any song", "Draws at random and learns nothing: what all the others are measured by."],
};
const WITH_DIAL = /^(bayes-ucb-|mixed-effects$)/;

export const hasDial = (algorithm) => WITH_DIAL.test(algorithm);
export const nameOf = (algorithm) => KNOWN[algorithm]?.[0] ?? algorithm;

// A list to choose from, folded away; `save(name)` tells whether it was saved.
export function algorithmChoice(settings, save) {
  const shown = h("span.faint", {}, nameOf(settings.algorithm));
  let current = settings.algorithm;
  const inputs = new Map();
  const change = async (name) => {
    if (await save(name)) current = name;
    inputs.get(current).checked = true;
    shown.textContent = nameOf(current);
  };
  const known = Object.keys(KNOWN);
  const place = (name) => (known.includes(name) ? known.indexOf(name) : known.length);
  const sorted = [...settings.algorithms].sort((one, other) => place(one) - place(other));
  const options = sorted.map((name) => {
    const input = h("input", {
      type: "radio",
      name: "algorithm",
      value: name,
      checked: name === current,
      onchange: () => change(name),
    });
    inputs.set(name, input);
    return option(input, name, settings.summaries[name]);
  });
  return h(
    "details.algorithms",
    {},
    h("summary", {}, h("span", {}, h("h3", {}, "How songs are chosen"), shown)),
    h("fieldset", {}, h("legend.unseen", {}, "Algorithm"), options),
  );
}

function option(input, name, summary) {
  const [title, words] = KNOWN[name] ?? [name, summary];
  input.setAttribute("aria-labelledby", `algorithm-${name}`);
  input.setAttribute("aria-describedby", `algorithm-${name}-words`);
  return h(
    "label.option",
    {},
    input,
    h(
      "span",
      {},
      h("b", { id: `algorithm-${name}` }, title),
      " ",
      h("code.faint", {}, name),
      h("span.hint", { id: `algorithm-${name}-words` }, words),
    ),
  );
}

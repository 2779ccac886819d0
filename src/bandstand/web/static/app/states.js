// What a page shows while it waits, when there is nothing, and when something went wrong.

import { fill, h, icon } from "./dom.js";
import { pause } from "./network.js";

const PATIENCE = 200; // milliseconds; what is there sooner needs no placeholder

function skeleton(lines = 5) {
  return h(
    "div.skeleton",
    { "aria-hidden": "true" },
    Array.from({ length: lines }, () => h("i")),
  );
}

// empty("history", "Nothing yet.", link("#/", "Listen to something"))
export function empty(drawing, text, ...actions) {
  return h(
    "div.empty",
    {},
    icon(drawing),
    h("p", {}, text),
    actions.length ? h("div.row", {}, actions) : null,
  );
}

export function failed(problem, again) {
  return h(
    "div.empty",
    { role: "alert" },
    icon("warning"),
    h("p", {}, problem.message),
    again && h("button", { type: "button", onclick: again }, "Try again"),
  );
}

// Fill `place` with what `draw` makes of the answer to `ask`: a placeholder meanwhile, and
// "Try again" after a problem. Resolves with whether it was drawn.
export async function load(place, ask, draw) {
  let isOver = false;
  pause(PATIENCE).then(() => isOver || place.hasChildNodes() || fill(place, skeleton()));
  try {
    const answer = await ask();
    isOver = true;
    fill(place, await draw(answer));
    return true;
  } catch (problem) {
    isOver = true;
    if (problem.name === "AbortError") return false;
    fill(
      place,
      failed(problem, () => {
        fill(place);
        load(place, ask, draw);
      }),
    );
    return false;
  }
}

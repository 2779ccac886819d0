// Five stars to press.

import { h, icon } from "../app/dom.js";
import { stars as words } from "../app/words.js";

const COUNT = 5;

// A group of five buttons, of which `value` are lit.
export function starButtons({ onRate, value = 0, label = "Your rating", isSmall = false }) {
  const buttons = Array.from({ length: COUNT }, (_, place) => starButton(place + 1, onRate));
  const group = h("div.stars", { role: "group", "aria-label": label }, buttons);
  group.classList.toggle("small", isSmall);
  light(group, value);
  return group;
}

function starButton(count, onRate) {
  const properties = { type: "button", "aria-label": words(count), onclick: () => onRate(count) };
  return h("button.star", properties, icon("star"));
}

export function light(group, count) {
  [...group.children].forEach((button, place) => {
    button.classList.toggle("lit", place < count);
    button.setAttribute("aria-pressed", String(place + 1 === count));
  });
}

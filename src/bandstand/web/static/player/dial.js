// From familiar to discover: how daring the radio is with what comes.

import { h } from "../app/dom.js";
import { radio } from "./radio.js";
import { range } from "./transport.js";

export function dial(signal) {
  const slider = range({
    id: "dial",
    min: -1,
    max: 1,
    step: 0.1,
    "aria-label": "From familiar to discover",
  });
  const draw = () => {
    if (document.activeElement !== slider) slider.value = String(radio.settings?.dial ?? 0);
    slider.style.setProperty("--done", (Number(slider.value) + 1) / 2);
    slider.setAttribute("aria-valuetext", dialWords(Number(slider.value)));
  };
  slider.addEventListener("input", draw);
  slider.addEventListener("change", () => radio.setDial(Number(slider.value)));
  radio.addEventListener("state", draw, { signal });
  draw();
  return h(
    "div.dial.faint",
    {},
    h("span.small", { "aria-hidden": "true" }, "Familiar"),
    slider,
    h("span.small", { "aria-hidden": "true" }, "Discover"),
  );
}

function dialWords(value) {
  if (Math.abs(value) < 0.05) return "balanced";
  const how = Math.abs(value) > 0.66 ? "mostly" : "rather";
  return `${how} ${value < 0 ? "what you know" : "new songs"}`;
}

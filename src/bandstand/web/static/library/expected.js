// What the radio expects of a song, drawn on the scale of stars, and how fresh the song is.

import { h } from "../app/dom.js";
import { ago, rating } from "../app/words.js";

const SVG = "http://www.w3.org/2000/svg";
const [LOWEST, HIGHEST] = [1, 5];
const [WIDTH, HEIGHT, EDGE, LEVEL] = [240, 44, 10, 14];

// "4.2 ± 0.9 stars", where one would fall in two cases of three; null where nothing can be said.
export function expectedInWords({ expected, standard_deviation: spread, rating_deviation: doubt }) {
  if (expected === null) return null;
  if (isGuess(spread)) return "Hard to say yet";
  const about = doubt === null ? "" : ` ± ${doubt.toFixed(1)}`;
  return `${rating(expected)}${about} stars`;
}

// A line from 1 to 5 with a band of one standard deviation on either side, and a dot.
export function scale({ expected, standard_deviation: spread, rating_deviation: doubt }) {
  const step = (WIDTH - 2 * EDGE) / (HIGHEST - LOWEST);
  const at = (value) => EDGE + (clipped(value) - LOWEST) * step;
  const viewBox = `0 0 ${WIDTH} ${HEIGHT}`;
  const drawing = svg("svg", { class: "scale", viewBox, "aria-hidden": "true" });
  const line = { x1: EDGE, x2: WIDTH - EDGE, y1: LEVEL, y2: LEVEL };
  drawing.append(svg("line", { class: "scale-line", ...line }));
  if (doubt !== null) {
    const [from, to] = [at(expected - doubt), at(expected + doubt)];
    const band = { x: from - 4, width: to - from + 8, y: LEVEL - 5, height: 10, rx: 5 };
    drawing.append(svg("rect", { class: "scale-band", ...band }));
  }
  for (let star = LOWEST; star <= HIGHEST; star += 1) {
    const below = { x: at(star), y: HEIGHT - 4, "text-anchor": "middle" };
    const label = svg("text", { class: "scale-text", ...below });
    label.textContent = String(star);
    drawing.append(label);
  }
  const dot = { cx: at(expected), cy: LEVEL, r: 6.5 };
  if (!isGuess(spread)) drawing.append(svg("circle", { class: "scale-dot", ...dot }));
  return drawing;
}

// ["68 % fresh", "You heard it 2 days ago."]
export function freshInWords({ novelty, heard_at: heard }) {
  if (heard === null) return ["Entirely fresh", "You have not heard it here yet."];
  const when = `You heard it ${ago(heard)}.`;
  return novelty === null ? ["Heard before", when] : [`${percent(novelty)} % fresh`, when];
}

export function freshness({ novelty, heard_at: heard }) {
  if (novelty === null && heard !== null) return null;
  const bar = h("div.fresh", { "aria-hidden": "true" }, h("i"));
  bar.firstElementChild.style.setProperty("width", `${heard === null ? 100 : percent(novelty)}%`);
  return bar;
}

// Half of the scale to either side says nothing.
const isGuess = (spread) => spread !== null && spread >= (HIGHEST - LOWEST) / 2;

const percent = (share) => Math.round(100 * Math.min(Math.max(share, 0), 1));

const clipped = (value) => Math.min(Math.max(value, LOWEST), HIGHEST);

function svg(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

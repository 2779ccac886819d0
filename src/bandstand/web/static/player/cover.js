// The picture of a song: its own, or one that is drawn from its names.

import { h } from "../app/dom.js";
import { isGone } from "../app/network.js";

export const LARGE = 416; // pixels, on the player
export const TINY = 48; // pixels, in lists and at the foot of other pages
const SVG = "http://www.w3.org/2000/svg";
const SIZES = [256, 512]; // pixels in which the server has pictures
const SMALL = 200;
const MOST_KEPT = 6;
const SIDE = 120; // of a drawing
// Ground, and three colours that go with it. An artist always gets the same four.
const PALETTES = [
  ["#f2c9a1", "#c8553d", "#8c2f39", "#f5e6d0"],
  ["#e9d8a6", "#bb7d2b", "#7f4f24", "#faf0d7"],
  ["#d9594c", "#f2b880", "#5e2a35", "#f8dcc0"],
  ["#40312f", "#d98a5b", "#a4503a", "#f0c987"],
  ["#c97b63", "#f1d5b5", "#6b3b46", "#e8a87c"],
  ["#e6c5b4", "#a44a3f", "#d68c6a", "#5b2c2a"],
  ["#5d4037", "#e0a458", "#c26a4a", "#f4dfbe"],
  ["#ddb892", "#7f5539", "#b5651d", "#fdf3e3"],
  ["#8f3b3b", "#e7a977", "#c7613f", "#fae3c6"],
  ["#f0d9b5", "#b6543f", "#e29e57", "#704030"],
];
const PATTERNS = [rings, quarters, hills, discs, rays];

const kept = new Map(); // covers fetched ahead, by song and size

// The cover of a song, at most `pixels` wide. Without a network only what was fetched ahead
// can be shown.
export function coverOf(song, pixels) {
  const ahead = kept.get(nameOf(song, pixels));
  if (ahead && !ahead.isConnected) return ahead;
  return made(song, pixels, { isPossible: !isGone(), isLazy: pixels < SMALL });
}

// Fetch the covers of a song that comes next, as the player and its small form show them.
export function keepCovers(song) {
  if (!song.cover || isGone()) return;
  for (const pixels of [LARGE, TINY]) {
    const name = nameOf(song, pixels);
    if (!kept.has(name)) kept.set(name, made(song, pixels, { isPossible: true, isLazy: false }));
  }
  for (const name of [...kept.keys()].slice(0, -MOST_KEPT)) kept.delete(name);
}

const nameOf = (song, pixels) => `${song.id} ${pixels}`;

function made(song, pixels, { isPossible, isLazy }) {
  const place = h("div.cover");
  const draw = () => place.replaceChildren(drawn(song));
  if (song.cover && isPossible) place.append(picture(song.cover, pixels, isLazy, draw));
  else draw();
  return place;
}

// The title stands beside it, so it has nothing to add for who does not see it. In lists, most are
// never looked at.
function picture(address, pixels, isLazy, onFail) {
  const size = { width: pixels, height: pixels, loading: isLazy ? "lazy" : null };
  const image = h("img", { alt: "", decoding: "async", draggable: "false", ...size });
  image.addEventListener("error", onFail, { once: true });
  image.sizes = `${pixels}px`;
  image.srcset = SIZES.map((one) => `${address}?size=${one} ${one}w`).join(", ");
  image.src = `${address}?size=${pixels < SMALL ? SIZES[0] : SIZES[1]}`;
  return image;
}

// The songs of an album share a pattern, those of an artist their colours.
export function drawn(song) {
  const palette = PALETTES[hash(song.artist ?? song.id) % PALETTES.length];
  const seed = hash(`${song.artist ?? ""}|${song.album ?? song.id}`);
  const random = chance(seed);
  const drawing = shape("svg", {
    viewBox: `0 0 ${SIDE} ${SIDE}`,
    "aria-hidden": "true",
    class: "drawn",
  });
  drawing.append(shape("rect", { width: SIDE, height: SIDE, fill: palette[0] }));
  PATTERNS[seed % PATTERNS.length](drawing, palette, random);
  return drawing;
}

function shape(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// ── Patterns ────────────────────────────────────────────────────────────────────────────

function rings(drawing, [ground, ...colours], random) {
  const [x, y] = [SIDE * (0.3 + 0.4 * random()), SIDE * (0.6 + 0.5 * random())];
  for (let ring = 6; ring > 0; ring -= 1) {
    const fill = ring % 2 ? ground : colours[(ring / 2) % colours.length];
    drawing.append(shape("circle", { cx: x, cy: y, r: ring * 17, fill }));
  }
}

function quarters(drawing, [, ...colours], random) {
  const step = SIDE / 3;
  for (let place = 0; place < 9; place += 1) {
    const [x, y] = [(place % 3) * step, Math.floor(place / 3) * step];
    const turn = Math.floor(4 * random()) * 90;
    const attributes = {
      d: `M0 0H${step}A${step} ${step} 0 0 1 0 ${step}Z`,
      transform: `translate(${x} ${y}) rotate(${turn} ${step / 2} ${step / 2})`,
      fill: colours[Math.floor(colours.length * random())],
    };
    drawing.append(shape("path", attributes));
  }
}

function hills(drawing, [, ...colours], random) {
  const sun = {
    cx: SIDE * (0.25 + 0.5 * random()),
    cy: SIDE * (0.28 + 0.15 * random()),
    r: 17,
    fill: colours[2],
  };
  drawing.append(shape("circle", sun));
  for (let hill = 0; hill < 3; hill += 1) {
    const y = 62 + 19 * hill;
    const [one, other] = [y - 34 * random(), y + 26 * random() - 6];
    const d = `M0 ${y}C${SIDE * 0.3} ${one} ${SIDE * 0.6} ${other} ${SIDE} ${y - 10 + 20 * random()}V${SIDE}H0Z`;
    drawing.append(
      shape("path", { d, fill: colours[hill % 2], "fill-opacity": hill === 1 ? 1 : 0.78 }),
    );
  }
}

function discs(drawing, [, ...colours], random) {
  for (let disc = 0; disc < 4; disc += 1) {
    const attributes = {
      cx: SIDE * (0.2 + 0.6 * random()),
      cy: SIDE * (0.2 + 0.6 * random()),
      r: 20 + 24 * random(),
      fill: colours[disc % colours.length],
      "fill-opacity": 0.8,
    };
    drawing.append(shape("circle", attributes));
  }
}

function rays(drawing, [, ...colours], random) {
  const [x, count] = [SIDE * (0.2 + 0.6 * random()), 14];
  for (let ray = 0; ray < count; ray += 2) {
    const [one, other] = [edge(ray / count), edge((ray + 1) / count)];
    drawing.append(
      shape("path", { d: `M${x} ${SIDE}L${one}L${other}Z`, fill: colours[(ray / 2) % 2] }),
    );
  }
  drawing.append(shape("circle", { cx: x, cy: SIDE, r: 30 + 12 * random(), fill: colours[2] }));
}

// A point far outside, on the upper half of a circle, from left (0) to right (1).
function edge(share) {
  const angle = Math.PI * (1 - share);
  return `${SIDE / 2 + 2 * SIDE * Math.cos(angle)} ${SIDE - 2 * SIDE * Math.sin(angle)}`;
}

// ── Chance that is always the same ──────────────────────────────────────────────────────

function hash(text) {
  let value = 2_166_136_261;
  for (const letter of text) value = Math.imul(value ^ letter.codePointAt(0), 16_777_619);
  value = Math.imul(value ^ (value >>> 15), 2_246_822_519);
  return (value ^ (value >>> 13)) >>> 0;
}

function chance(seed) {
  let state = seed || 1;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9;
    const mixed = Math.imul(state ^ (state >>> 13), 3_266_489_917);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
}

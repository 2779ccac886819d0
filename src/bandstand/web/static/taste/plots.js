// A plot with two axes: uPlot draws it; this file sizes it, colours it after the page's tokens,
// and says what stands at a place that is pointed at, touched or walked to with the arrow keys.

import { h } from "../app/dom.js";
import uPlot from "../vendor/uplot.js";
import { thinned } from "./ticks.js";

const WIDE = 480; // pixels; from here on there is room for larger letters
const NARROW_LABEL = 12;
const WIDE_LABEL = 13;
const LINE = 1.3; // of the height of a letter
const TOP = 10;
const GAP = 8;
const POINT = 7; // pixels across

const styleSheet = new Promise((resolve) => {
  const href = new URL("../vendor/uplot.css", import.meta.url).pathname;
  document.head.append(h("link", { rel: "stylesheet", href, onload: resolve, onerror: resolve }));
});

// spec
//   title, sentence     what it shows; what is to be seen
//   x, y                {name, min, max, isLog, ticks(pixels) → [[at, name], …]}; x may use lines
//   columns             the x of all points, in order, then the y of each series
//   series              for each: "line" | "edge" | "dashed" | "dots" | "marks"
//   bands               [[upper, lower], …] numbers of series with a filled space between
//   pointed             the number of the series that a place is about
//   describe(index)     what stands at a point;  rest: the same while nothing is pointed at
//   marks(pen)          draws what else there is to say
export function plot(spec, { signal }) {
  const picture = h("div.plot-picture", { role: "img", "aria-label": spec.sentence });
  const slider = h("input.plot-slider", {
    type: "range",
    min: 0,
    max: spec.columns[0].length - 1,
    step: 1,
    "aria-label": `${spec.title}: walk along the values`,
  });
  const readout = h("p.plot-readout", {});
  const area = h("div.plot-area", {}, picture, slider);
  follow(spec, { area, picture, slider, readout, signal });
  return h(
    "div.plot",
    {},
    h("div.plot-top", {}, h("p.plot-axis", {}, spec.y.name), readout),
    area,
    h("p.plot-axis.of-x", {}, spec.x.name),
  );
}

// Draw once the place has a size, and again whenever that or the colours change.
function follow(spec, { area, picture, slider, readout, signal }) {
  let drawing = null;
  const isUsed = () => document.activeElement === slider;
  const say = (index) => {
    readout.textContent = index === null ? spec.rest : spec.describe(index);
    readout.classList.toggle("faint", index === null);
    const place = index ?? spec.start;
    slider.value = String(place);
    slider.setAttribute("aria-valuetext", spec.describe(place));
  };
  const walk = () => drawing && pointAt(drawing, Number(slider.value));
  const draw = () => {
    drawing?.destroy();
    drawing = drawn(spec, picture, say);
    if (isUsed()) walk();
  };
  let width = 0;
  const observer = new ResizeObserver(() => {
    if (picture.clientWidth === width || !picture.clientWidth) return;
    width = picture.clientWidth;
    requestAnimationFrame(() => signal.aborted || draw());
  });
  say(null);
  styleSheet.then(() => signal.aborted || observer.observe(picture));
  const theme = matchMedia("(prefers-color-scheme: dark)");
  theme.addEventListener("change", () => drawing && draw(), { signal });
  slider.addEventListener("input", walk);
  slider.addEventListener("focus", walk);
  slider.addEventListener("blur", () => drawing && leave(drawing));
  // The arrows belong to the plot while it has the focus, and not to the song that plays.
  slider.addEventListener(
    "keydown",
    (event) => /^(Arrow|Home|End|Page)/.test(event.key) && event.stopPropagation(),
  );
  touchable(area, () => drawing);
  signal.addEventListener("abort", () => {
    observer.disconnect();
    drawing?.destroy();
    drawing = null;
  });
}

// A finger points as a mouse does, and what it has found stays when it is lifted.
function touchable(area, drawing) {
  const point = (event) => {
    if (event.pointerType !== "touch" || !drawing()) return;
    const { left } = drawing().over.getBoundingClientRect();
    pointAt(drawing(), drawing().posToIdx(event.clientX - left));
  };
  area.addEventListener("pointerdown", point);
  area.addEventListener("pointermove", point);
}

function pointAt(drawing, index) {
  drawing.setCursor({ left: drawing.valToPos(drawing.data[0][index], "x"), top: 0 });
}

function leave(drawing) {
  drawing.setCursor({ left: -10, top: -10 });
}

// ── One drawing ─────────────────────────────────────────────────────────────────────────

function drawn(spec, place, say) {
  const colours = tokens(place);
  const width = place.clientWidth;
  const size = width < WIDE ? NARROW_LABEL : WIDE_LABEL;
  const font = `${size}px ${getComputedStyle(place).fontFamily}`;
  const wide = measured(font);
  const height = place.clientHeight;
  const layout = laidOut(spec, { width, height, size, wide });
  const pointer = h("div.plot-point", { hidden: true });
  const options = {
    width,
    height,
    pxAlign: 0, // whole pixels make stairs of a gentle slope
    padding: [TOP, layout.right, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false, setScale: false } },
    scales: { x: { time: false, ...scale(spec.x) }, y: scale(spec.y) },
    axes: [
      { ...axis(spec.x, layout.xTicks, colours, font), size: layout.bottom, grid: { show: false } },
      { ...axis(spec.y, layout.yTicks, colours, font), size: layout.left, scale: "y" },
    ],
    series: [{}, ...spec.series.map((kind) => look(kind, colours))],
    bands: (spec.bands ?? []).map((series) => ({ series, fill: colours.band })),
    hooks: {
      draw: [(drawing) => spec.marks?.(penOf(drawing, colours, font, wide))],
      setCursor: [(drawing) => pointed(spec, drawing, pointer, say)],
    },
  };
  const drawing = new uPlot(options, spec.columns, place);
  drawing.over.append(pointer);
  return drawing;
}

function tokens(place) {
  const style = getComputedStyle(place);
  const of = (name) => style.getPropertyValue(name).trim();
  return {
    line: of("--plot-line"),
    band: of("--plot-band"),
    dots: of("--plot-dots"),
    grid: of("--plot-grid"),
    ink: of("--ink"),
    faint: of("--faint"),
    surface: of("--surface"),
  };
}

// How much room the names of the marks need, and which of them find any.
function laidOut(spec, { width, height, size, wide }) {
  const left = Math.ceil(Math.max(...spec.y.ticks().map(([, name]) => wide(name)), 8)) + 2 * GAP;
  const xTicks = spec.x.ticks(width - left - GAP);
  const lines = Math.max(...xTicks.map(([, name]) => name.split("\n").length), 1);
  const bottom = Math.ceil(lines * LINE * size) + 2 * GAP;
  const [last, name] = xTicks.at(-1) ?? [spec.x.max, ""];
  // A name in the middle below the last mark must not be cut off at the edge.
  const beyond = wide(name) / 2 - (1 - share(spec.x, last)) * (width - left - GAP);
  const right = Math.ceil(Math.max(GAP, beyond + 2));
  const across = (at) => share(spec.x, at) * (width - left - right);
  const up = (at) => share(spec.y, at) * (height - bottom - TOP);
  return {
    left,
    right,
    bottom,
    yTicks: thinned(spec.y.ticks(), up, () => size, 4),
    xTicks: thinned(xTicks, across, wide),
  };
}

// Where a value stands between the ends of an axis, from 0 to 1.
function share({ min, max, isLog }, value) {
  const of = isLog ? Math.log : (number) => number;
  return (of(value) - of(min)) / (of(max) - of(min));
}

function measured(font) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = font;
  return (text) => Math.max(...text.split("\n").map((line) => context.measureText(line).width));
}

const scale = ({ min, max, isLog }) => ({ distr: isLog ? 3 : 1, range: () => [min, max] });

function axis({ min, max }, ticks, colours, font) {
  return {
    font,
    stroke: colours.faint,
    gap: GAP,
    lineGap: LINE,
    // The marks are given; one step across everything keeps uPlot from looking for its own.
    incrs: [Math.max(5, Math.ceil(max - min))],
    splits: () => ticks.map(([at]) => at),
    filter: (_, splits) => splits,
    values: () => ticks.map(([, name]) => name),
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
    border: { show: false },
  };
}

function look(kind, colours) {
  const none = { points: { show: false }, paths: () => null };
  const line = { stroke: colours.line, width: 2.25, points: { show: false } };
  return {
    line,
    edge: { ...none, stroke: "transparent", paths: undefined, width: 0 },
    dashed: { ...line, stroke: colours.faint, width: 1.5, dash: [5, 5] },
    dots: { ...none, stroke: colours.dots, points: dots(colours.dots, POINT - 1) },
    solid: { ...none, stroke: colours.line, points: dots(colours.line, POINT) },
    marks: { ...line, points: dots(colours.line, POINT + 2) },
  }[kind];
}

const dots = (fill, size) => ({ show: true, space: 0, width: 0, stroke: fill, fill, size });

function pointed(spec, drawing, pointer, say) {
  const { idx, left } = drawing.cursor;
  const isOff = left < 0 || idx === null || idx === undefined;
  pointer.hidden = isOff;
  say(isOff ? null : idx);
  if (isOff) return;
  const [x, y] = [drawing.data[0][idx], drawing.data[spec.pointed][idx]];
  pointer.style.left = `${drawing.valToPos(x, "x")}px`;
  pointer.style.top = `${drawing.valToPos(y, "y")}px`;
}

// What a figure draws with: places in its own units, distances in pixels of the page.
function penOf(drawing, colours, font, wide) {
  const { ctx, bbox } = drawing;
  const ratio = bbox.width / drawing.over.clientWidth || 1;
  const spot = (x, y) => [drawing.valToPos(x, "x", true), drawing.valToPos(y, "y", true)];
  const paint = (work) => {
    ctx.save();
    work();
    ctx.restore();
  };
  return {
    wide,
    // How far a place is from the right end, in pixels of the page.
    room: (x) => (bbox.left + bbox.width - drawing.valToPos(x, "x", true)) / ratio,
    rule: (from, to) =>
      paint(() => {
        ctx.strokeStyle = colours.faint;
        ctx.lineWidth = ratio;
        ctx.setLineDash([4 * ratio, 4 * ratio]);
        ctx.beginPath();
        ctx.moveTo(...spot(...from));
        ctx.lineTo(...spot(...to));
        ctx.stroke();
      }),
    dot: (x, y) =>
      paint(() => {
        ctx.fillStyle = colours.line;
        ctx.strokeStyle = colours.surface;
        ctx.lineWidth = 2 * ratio;
        ctx.beginPath();
        ctx.arc(...spot(x, y), 6 * ratio, 0, 2 * Math.PI);
        ctx.fill();
        ctx.stroke();
      }),
    text: (words, x, y, { dx = 0, dy = 0, align = "left" } = {}) =>
      paint(() => {
        const [left, top] = spot(x, y);
        ctx.font = font.replace(/^[\d.]+/, (pixels) => String(pixels * ratio));
        ctx.textAlign = align;
        ctx.textBaseline = "middle";
        // A rim of the ground keeps the words readable where a line passes behind them.
        ctx.strokeStyle = colours.surface;
        ctx.lineWidth = 4 * ratio;
        ctx.lineJoin = "round";
        ctx.strokeText(words, left + dx * ratio, top + dy * ratio);
        ctx.fillStyle = colours.ink;
        ctx.fillText(words, left + dx * ratio, top + dy * ratio);
      }),
  };
}

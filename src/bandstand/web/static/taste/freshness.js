// How a song becomes fresh again after it was heard.

import { length, list, plural } from "../app/words.js";
import { isGuess, isSureOfFreshness } from "./uncertainty.js";
import { figure, percent } from "./figure.js";
import { plot } from "./plots.js";
import { TIMES } from "./ticks.js";

const TITLE = "When a song is fresh again";
const FRESH = 0.9; // what the marker stands for
const NEW = 0.97; // from here on the difference cannot be heard
const TIGHT = 420; // pixels; then the names of times stand on two lines
const HOUR = 60; // minutes
const DAY = 24 * HOUR;
// A word for a time, its minutes, and from how many minutes on it is used.
const UNITS = [
  ["minute", 1, 0],
  ["hour", HOUR, 1.5 * HOUR],
  ["day", DAY, 1.5 * DAY],
  ["month", 30 * DAY, 60 * DAY],
];
const STOPS = [
  [HOUR, "an hour"],
  [DAY, "a day"],
  [7 * DAY, "a week"],
  [30 * DAY, "a month"],
];

export function freshness(taste, tools) {
  const { recovery } = taste;
  if (recovery === null) return null;
  const sentence = sentenceOf(taste);
  return figure({
    key: "freshness",
    title: TITLE,
    sentence,
    body: plot(specOf(taste, sentence), tools),
    table: tableOf(recovery.curve),
  });
}

const limited = (share) => Math.min(Math.max(share, 0), 1);

// {mean, low, high} at a time, between the points of the curve along the logarithm.
function pointAt(curve, minutes) {
  const next = curve.minutes.findIndex((one) => one >= minutes * (1 - 1e-9));
  const last = next < 0 ? curve.minutes.length - 1 : Math.max(next, 1);
  const [from, to] = [curve.minutes[last - 1], curve.minutes[last]];
  const part = Math.min(Math.log(minutes / from) / Math.log(to / from), 1);
  const between = (values) => values[last - 1] + part * (values[last] - values[last - 1]);
  const mean = between(curve.mean);
  const spread = curve.standard_deviation && between(curve.standard_deviation);
  return {
    mean: limited(mean),
    low: spread === null ? null : limited(mean - spread),
    high: spread === null ? null : limited(mean + spread),
  };
}

// Neighbouring points of the curve are closer than whole days: "2.7 days".
function spelt(minutes) {
  const [unit, size] = UNITS.findLast(([, , from]) => minutes >= from);
  const count = minutes / size;
  return plural(Number(count.toFixed(count < 9.95 ? 1 : 0)), unit);
}

const range = ({ low, high }) =>
  low === null || percent(low) === percent(high)
    ? ""
    : ` (between ${Math.round(100 * low)} and ${percent(high)})`;

function sentenceOf(taste) {
  if (isGuess(taste))
    return "Nothing is known of it yet: this curve is only a guess, the same for everyone. Hear some songs twice, and it becomes yours.";
  const { curve, fresh_after: freshAfter } = taste.recovery;
  const isSure = isSureOfFreshness(taste);
  if (freshAfter === null)
    return `${courseOf(curve)} ${isSure ? "Nine tenths are not back within three months." : "When nine tenths are back, the radio cannot tell yet."}`;
  return `${courseOf(curve)} Nine tenths are back after about ${length(60 * freshAfter)}${isSure ? "" : ", but that is far from sure"}.`;
}

// "After an hour a song is back to about 3 %, after a day to 54 % and after a week it is …"
function courseOf(curve) {
  const stops = STOPS.map(([minutes, name]) => ({ name, ...pointAt(curve, minutes) }));
  const end = stops.findIndex(({ mean }) => mean >= NEW);
  const phrases = (end < 0 ? stops : stops.slice(0, end)).map((stop, place) => {
    const begin = place ? "to" : "a song is back to about";
    return `after ${stop.name} ${begin} ${percent(stop.mean)}${range(stop)}`;
  });
  if (end >= 0) phrases.push(`after ${stops[end].name} ${end ? "it" : "a song"} is as good as new`);
  return `A${list(phrases).slice(1)}.`;
}

function specOf(taste, sentence) {
  const { curve, fresh_after: freshAfter } = taste.recovery;
  const spread = curve.standard_deviation;
  const per = (values) => values.map((value) => 100 * limited(value));
  const columns = [curve.minutes, per(curve.mean)];
  if (spread) {
    columns.push(per(curve.mean.map((mean, place) => mean + spread[place])));
    columns.push(per(curve.mean.map((mean, place) => mean - spread[place])));
  }
  const describe = (index) => {
    const point = pointAt(curve, curve.minutes[index]);
    return `After ${spelt(curve.minutes[index])}: ${percent(point.mean)}${range(point)}`;
  };
  const day = curve.minutes.findIndex((minutes) => minutes >= DAY);
  return {
    title: TITLE,
    sentence,
    x: {
      name: "Time since you heard it",
      min: 1,
      max: curve.minutes.at(-1),
      isLog: true,
      ticks: (pixels) =>
        pixels < TIGHT
          ? TIMES.map(([at, name, rank]) => [at, name.replace(" ", "\n"), rank])
          : TIMES,
    },
    y: {
      name: "Freshness that is back",
      min: 0,
      max: 100,
      ticks: () => [0, 25, 50, 75, 100].map((at) => [at, `${at}\u00a0%`]),
    },
    columns,
    series: ["line", "edge", "edge"].slice(0, columns.length - 1),
    bands: spread ? [[2, 3]] : [],
    pointed: 1,
    start: day,
    rest: spread ? "The band: one standard deviation" : "",
    describe,
    marks: (pen) =>
      freshAfter !== null && !isGuess(taste) && markFresh(pen, freshAfter, curve.minutes[0]),
  };
}

function markFresh(pen, freshAfter, first) {
  const level = 100 * FRESH;
  pen.rule([first, level], [freshAfter, level]);
  pen.rule([freshAfter, 0], [freshAfter, level]);
  pen.dot(freshAfter, level);
  const words = `90\u00a0% after ${length(60 * freshAfter)}`;
  const isTight = pen.room(freshAfter) < pen.wide(words) + 20;
  pen.text(
    words,
    freshAfter,
    level,
    isTight ? { dx: -11, dy: -11, align: "right" } : { dx: 12, dy: 22 },
  );
}

function tableOf(curve) {
  const rows = TIMES.map(([minutes, name]) => {
    const point = pointAt(curve, minutes);
    return [
      name,
      percent(point.mean),
      point.low === null ? "–" : `${Math.round(100 * point.low)} to ${percent(point.high)}`,
    ];
  });
  return { head: ["Since heard", "Fresh again", "Within one sd"], rows };
}

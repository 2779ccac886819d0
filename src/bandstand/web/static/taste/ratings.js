// The ratings as they came, and the mean of the last twenty.

import { date, moment, plural, stars } from "../app/words.js";
import { figure } from "./figure.js";
import { plot } from "./plots.js";
import { dateTicks } from "./ticks.js";

const TITLE = "Your ratings over time";
const FEWEST = 3; // of fewer there is nothing to see
const WINDOW = 20; // ratings in the running mean, as the server takes it
const NOTICEABLE = 0.2; // stars; less is chance
const SPREAD = 0.13; // how far dots of the same rating may stand apart
const PER_TICK = 64; // pixels
const MOST_ROWS = 12;
const SHORT = 2 * 86_400_000; // milliseconds; below, the time of day tells more than the date

export function ratingsOverTime(taste, tools) {
  if (!taste.ratings.length) return null;
  const points = [...taste.ratings].sort((one, other) => one.at - other.at);
  const sentence = sentenceOf(taste, points);
  const isDrawn = points.length >= FEWEST && points[0].at < points.at(-1).at;
  return figure({
    key: "ratings",
    title: TITLE,
    sentence,
    body: isDrawn ? plot(specOf(taste, points, sentence), tools) : null,
    table: isDrawn ? tableOf(taste, points) : null,
  });
}

function sentenceOf({ counts }, points) {
  const last = points.at(-1).running_mean.toFixed(1);
  const number = plural(counts.ratings, "rating");
  if (points.length < FEWEST)
    return `${number} so far, ${last} stars on average. After a few more, this is where they are drawn.`;
  const since = `${number} since ${date(points[0].at)}`;
  if (counts.ratings <= WINDOW) return `${since}, ${last} stars on average.`;
  const spacing = (counts.ratings - 1) / (points.length - 1);
  const first = points[Math.ceil((WINDOW - 1) / spacing)].running_mean;
  const change = Number(last) - first;
  const course =
    Math.abs(change) < NOTICEABLE ? "about as much as" : change > 0 ? "more than" : "less than";
  return `${since}. The last ${WINDOW} got ${last} stars on average, ${course} the first ones (${first.toFixed(1)}).`;
}

const isShort = (points) => points.at(-1).at - points[0].at < SHORT;

// Of very many ratings the server sends some, evenly spread.
const howMany = ({ counts }, points) =>
  points.length < counts.ratings
    ? ` (${points.length} of ${counts.ratings.toLocaleString("en-GB")})`
    : "";

function specOf(taste, points, sentence) {
  const times = points.map((point) => point.at);
  const margin = 0.01 * (times.at(-1) - times[0]);
  const [min, max] = [times[0] - margin, times.at(-1) + margin];
  return {
    title: TITLE,
    sentence,
    x: {
      name: isShort(points) ? "Time" : "Date",
      min,
      max,
      ticks: (pixels) => dateTicks(min, max, Math.max(2, Math.floor(pixels / PER_TICK))),
    },
    y: {
      name: "Stars",
      min: 0.7,
      max: 5.3,
      ticks: () => [1, 2, 3, 4, 5].map((at) => [at, String(at)]),
    },
    columns: [
      times,
      points.map((point, place) => point.stars + apart(place)),
      points.map((point) => point.running_mean),
    ],
    series: ["dots", "line"],
    pointed: 2,
    start: points.length - 1,
    rest: `Dots: ratings${howMany(taste, points)}. Line: mean of the last ${WINDOW}`,
    describe: (index) =>
      `${moment(points[index].at)}: ${stars(points[index].stars)}, mean ${points[index].running_mean.toFixed(1)}`,
  };
}

// The same for the same dot every time, and seldom the same for neighbours: steps by the golden
// ratio spread evenly.
const apart = (place) => SPREAD * (2 * ((place * 0.618034) % 1) - 1);

// Periods of the same length, each with its ratings.
function tableOf(taste, points) {
  const [from, to] = [points[0].at, points.at(-1).at];
  const count = Math.min(MOST_ROWS, points.length);
  const begin = isShort(points) ? moment : date;
  const stretches = Array.from({ length: count }, () => []);
  for (const point of points) {
    const place = Math.floor((count * (point.at - from)) / (to - from));
    stretches[Math.min(place, count - 1)].push(point.stars);
  }
  const rows = stretches.flatMap((found, place) =>
    found.length
      ? [
          [
            begin(from + (place * (to - from)) / count),
            String(found.length),
            mean(found).toFixed(1),
          ],
        ]
      : [],
  );
  return { head: ["From", `Ratings${howMany(taste, points)}`, "Mean stars"], rows };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

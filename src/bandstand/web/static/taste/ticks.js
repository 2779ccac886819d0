// Where the marks of an axis stand and what is written there. Pure: numbers in, numbers out.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// Minutes since a song was heard, as people count them; the third number is for `thinned`.
export const TIMES = [
  [1, "1 min"],
  [10, "10 min"],
  [60, "1 h"],
  [360, "6 h", 2],
  [1_440, "1 day"],
  [10_080, "1 week"],
  [43_200, "1 month", 2],
  [129_600, "3 months"],
];

// 1, 2, 5, 10, 20, … between two numbers above 0, with their names.
export function logTicks(min, max) {
  const found = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power++) {
    for (const digit of [1, 2, 5]) {
      const at = power < 0 ? digit / 10 ** -power : digit * 10 ** power; // 0.2, not 0.2000…1
      if (at >= min && at <= max) found.push([at, at.toLocaleString("en-GB")]);
    }
  }
  return found;
}

// Moments that a calendar has a name for, from two to `most` of them; `from` and `to` in
// milliseconds, at least some seconds apart.
export function dateTicks(from, to, most) {
  let finer = [];
  for (const step of STEPS) {
    if ((to - from) / step.length > 4 * most) continue;
    const found = step.walk(from, to).map((at) => [at, step.name(new Date(at))]);
    if (found.length <= most) return found.length < 2 ? twoOf(finer, found) : found;
    finer = found;
  }
  return twoOf(finer, []);
}

// A single mark does not say how long an axis is. Two that are far apart do, if their names differ.
function twoOf(finer, otherwise) {
  if (finer.length < 2) return otherwise;
  const [first, second] = finer;
  return [first, finer.at(-1)[1] === first[1] ? second : finer.at(-1)];
}

const format = (options) => {
  const made = new Intl.DateTimeFormat("en-GB", options);
  return (moment) => made.format(moment);
};
const secondName = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const clockName = format({ hour: "2-digit", minute: "2-digit" });
const dayName = format({ day: "numeric", month: "short" });
const monthName = format({ month: "short" });
const yearName = format({ year: "numeric" });

const secondOfDay = (moment) =>
  3_600 * moment.getHours() + 60 * moment.getMinutes() + moment.getSeconds();
const isNewYear = (moment) => moment.getMonth() === 0;

const STEPS = [
  ...[1, 2, 5, 10, 20, 30].map((seconds) => ({
    length: seconds * SECOND,
    walk: (from, to) => walked(from, to, seconds),
    name: secondName,
  })),
  ...[1, 2, 5, 10, 20, 30, 60, 180, 360, 720].map((minutes) => ({
    length: minutes * MINUTE,
    walk: (from, to) => walked(from, to, 60 * minutes),
    name: (moment) => (secondOfDay(moment) ? clockName(moment) : dayName(moment)),
  })),
  ...[1, 2, 7, 14].map((days) => ({
    length: days * DAY,
    walk: (from, to) =>
      walkedFrom(startOfWeek(from), from, to, (moment) => moment.setDate(moment.getDate() + days)),
    name: dayName,
  })),
  ...[1, 2, 3, 6].map((months) => ({
    length: months * 30 * DAY,
    walk: (from, to) =>
      walkedFrom(startOfYear(from), from, to, (moment) =>
        moment.setMonth(moment.getMonth() + months),
      ),
    name: (moment) => (isNewYear(moment) ? yearName(moment) : monthName(moment)),
  })),
  ...[1, 2, 5, 10].map((years) => ({
    length: years * 365 * DAY,
    walk: (from, to) =>
      walkedFrom(startOfYear(from, years), from, to, (moment) =>
        moment.setFullYear(moment.getFullYear() + years),
      ),
    name: yearName,
  })),
];

// Times of day at a fixed interval, counted from each midnight: days of 23 and 25 hours exist.
function walked(from, to, every) {
  const found = [];
  const day = new Date(from);
  for (day.setHours(0, 0, 0, 0); day.getTime() <= to; nextDay(day)) {
    // The clock may be an hour ahead of the time that has passed, or behind it.
    const place = (at) => (at - day.getTime()) / SECOND / every;
    const last = Math.min(place(to + HOUR), DAY / SECOND / every - 1);
    for (let count = Math.max(Math.floor(place(from - HOUR)), 0); count <= last; count++) {
      const moment = new Date(day);
      moment.setHours(0, 0, count * every, 0);
      const at = moment.getTime();
      // A time of day that the clock leaps over would be shown as that of an hour later.
      const isReal = secondOfDay(moment) === count * every;
      if (isReal && at >= from && at <= to) found.push(at);
    }
  }
  return found;
}

// Where midnight does not exist a day begins an hour later, but the next one does not.
function nextDay(day) {
  day.setDate(day.getDate() + 1);
  day.setHours(0, 0, 0, 0);
}

function walkedFrom(start, from, to, step) {
  const found = [];
  for (const moment = start; moment.getTime() <= to; step(moment)) {
    if (moment.getTime() >= from) found.push(moment.getTime());
  }
  return found;
}

function startOfWeek(at) {
  const moment = new Date(at);
  moment.setHours(0, 0, 0, 0);
  moment.setDate(moment.getDate() - ((moment.getDay() + 6) % 7));
  return moment;
}

function startOfYear(at, every = 1) {
  const year = new Date(at).getFullYear();
  return new Date(year - (year % every), 0, 1);
}

// Blank the names that would touch others. The ends stay: they say how far an axis goes. Of the
// rest, those of a lower third number (1 unless it is given) are placed first.
// `place` gives the middle of a mark in pixels, `width` that of a name.
export function thinned(ticks, place, width, gap = 8) {
  const last = ticks.length - 1;
  const rank = (index) => (index % last === 0 ? 0 : (ticks[index][2] ?? 1));
  const kept = [];
  for (const index of [...ticks.keys()].sort((one, other) => rank(one) - rank(other))) {
    const [at, name] = ticks[index];
    const [middle, half] = [place(at), (width(name) + gap) / 2];
    const isFree = kept.every((one) => Math.abs(one.middle - middle) >= one.half + half);
    if (isFree) kept.push({ index, middle, half });
  }
  const shown = new Set(kept.map((one) => one.index));
  return ticks.map(([at, name], index) => [at, shown.has(index) ? name : ""]);
}

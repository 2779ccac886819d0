// Numbers and times as people say them.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const AT_ONCE = 1; // second

export const plural = (count, noun, many = `${noun}s`) =>
  `${count.toLocaleString("en-GB")} ${count === 1 ? noun : many}`;

export const stars = (count) => plural(count, "star");

// A rating that is expected; the scale ends at 1 and 5, the model does not know that.
export const rating = (value) => Math.min(Math.max(value, 1), 5).toFixed(1);

// 187 → "3:07"
export function clock(seconds) {
  if (!Number.isFinite(seconds)) return "–:––";
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [
    Math.floor(whole / HOUR),
    Math.floor((whole % HOUR) / MINUTE),
    whole % MINUTE,
  ];
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

// "Skipped after 0:32"
export const skipped = (seconds) =>
  seconds < AT_ONCE ? "Skipped at once" : `Skipped after ${clock(seconds)}`;

// How long something lasts or lasted, roughly: "3 hours".
export function length(seconds) {
  if (seconds < 90) return plural(Math.max(1, Math.round(seconds)), "second");
  if (seconds < 90 * MINUTE) return plural(Math.round(seconds / MINUTE), "minute");
  if (seconds < 36 * HOUR) return plural(Math.round(seconds / HOUR), "hour");
  if (seconds < 60 * DAY) return plural(Math.round(seconds / DAY), "day");
  if (seconds < 730 * DAY) return plural(Math.round(seconds / (30.4 * DAY)), "month");
  return plural(Math.round(seconds / (365.25 * DAY)), "year");
}

// `at` is UTC in milliseconds.
export function ago(at) {
  const seconds = (Date.now() - at) / 1_000;
  return seconds < 60 ? "just now" : `${length(seconds)} ago`;
}

export const date = (at) =>
  new Date(at).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
export const time = (at) =>
  new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
export const moment = (at) => `${date(at)}, ${time(at)}`;

// "a", "a and b", "a, b and c"
export function list(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

// What a song is called in a sentence or a list.
export const songName = (song) => (song.artist ? `${song.title} – ${song.artist}` : song.title);

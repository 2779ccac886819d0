// How far a scan is, in words and drawn.

import { h } from "../app/dom.js";
import { ago, length, plural, time } from "../app/words.js";

const STATES = {
  idle: "The library is up to date",
  "first look": "Looking for the first songs",
  counting: "Counting the files",
  scanning: "Reading the library",
  refreshing: "New songs join the radio",
  stopped: "Stopped",
};
const COUNTS = [
  ["found", "files"],
  ["added", "new"],
  ["changed", "changed"],
  ["moved", "moved"],
  ["missing", "gone"],
  ["failed", "failed"],
  ["unchanged", "as before"],
];

export const stateInWords = ({ state }) => STATES[state] ?? state;

export function timesInWords({ state, started_at: started, finished_at: finished, next_at: next }) {
  const isResting = state === "idle" || state === "stopped";
  const began = started ? `Began ${ago(started)}` : "Just begun";
  const said = isResting ? last(started, finished) : began;
  return next ? `${said} · next at ${time(next)}` : said;
}

function last(started, finished) {
  if (!finished) return "No scan since the server started";
  return `Last scan ${ago(finished)}, took ${length((finished - started) / 1_000)}`;
}

export function progressBar({ done, total, files_per_second: rate, state }) {
  const label = STATES[state];
  const bar = h("progress", { "aria-label": label, max: total ?? null });
  if (total) bar.value = done;
  const sofar = done ? plural(done, "file") : "";
  const words = total ? `${number(done)} of ${plural(total, "file")}` : sofar;
  const left = rate && total ? ` · about ${length((total - done) / rate)} left` : "";
  return h("div.stack.tight", {}, bar, h("p.faint.small.number", {}, `${words}${left}`));
}

// What the scan has met; what did not happen is left out, but for what was found. While it is
// under way the songs lag behind the files, of which the bar says enough: only failures are shown.
export function counted({ counts, songs, started_at: started }, isBusy) {
  if (started === null && !isBusy) return null; // nothing was looked at
  const isShown = (name) => counts[name] || name === "found";
  const shown = COUNTS.filter(([name]) => (isBusy ? name === "failed" : true) && isShown(name));
  const rest = shown.map(([name, label]) => pair(label, counts[name]));
  return h("dl.counts", {}, pair("songs", songs), rest);
}

const pair = (label, value) =>
  h("div", {}, h("dt.faint.small", {}, label), h("dd.number", {}, number(value)));

const number = (value) => value.toLocaleString("en-GB");

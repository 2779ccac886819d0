// Events of the log in words, and as pieces of a page.

import { h } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { date, skipped, stars as inWords } from "../app/words.js";

const MOST_STARS = 5;

export const DRAWINGS = {
  rating: "star",
  skip: "next",
  listen: "note",
  ban: "ban",
  snooze: "snooze",
  retract: "undo",
  favourite: "heart",
  import: "history",
};

// What an event is about, without a link: "Song 3 – Band 1", "artist Band 1".
function subject(event) {
  if (event.title) return event.artist ? `${event.title} – ${event.artist}` : event.title;
  if (event.kind === "import") return "what you heard elsewhere";
  if (event.scope && event.scope !== "song") return `${event.scope} ${event.target}`;
  return "a song that is gone";
}

// For screen readers: "4 stars for Song 3 – Band 1".
export function spoken(event) {
  if (event.kind !== "retract") return `${act(event)}${subject(event)}`;
  return event.retracted ? `Undone: ${spoken(event.retracted)}` : "Something was undone";
}

// The same as children of an element, with stars that are drawn and a link to the song.
export function sentence(event) {
  if (event.kind === "rating") return [drawn(event.stars), " for ", named(event)];
  if (event.kind !== "retract") return [act(event), named(event)];
  return event.retracted ? ["Undone: ", sentence(event.retracted)] : ["Something was undone"];
}

// The same for an event that stands below another one of the same song.
export function ending(event) {
  return [act(event).replace(/: $/, ""), h("span.unseen", {}, `: ${subject(event)}`)];
}

// What stands before the name of the song or the artist.
function act(event) {
  switch (event.kind) {
    case "rating":
      return `${inWords(event.stars)} for `;
    case "skip":
      return `${skipped(event.played_seconds)}: `;
    case "listen":
      return "Heard to the end: ";
    case "ban":
      return "Never again: ";
    case "favourite":
      return "A favourite: ";
    case "import":
      return "Imported: ";
    default:
      return `Not until ${day(event.until)}: `;
  }
}

function drawn(count) {
  const glyphs = "★".repeat(count) + "☆".repeat(MOST_STARS - count);
  return h("span.glyphs", { role: "img", "aria-label": inWords(count) }, glyphs);
}

function named(event) {
  const song = event.scope === "song" ? event.target : event.song;
  if (!song || !event.title) return h("b", {}, subject(event));
  const by = event.artist ? ` – ${event.artist}` : "";
  return [link(way("song", song), {}, event.title), by];
}

// "12 Dec", with the year where it is another one.
export function day(at) {
  const isThisYear = new Date(at).getFullYear() === new Date().getFullYear();
  return isThisYear ? date(at).replace(/ \d{4}$/, "") : date(at);
}

// "Today", "Yesterday", "Friday, 12 June", "12 June 2025"
export function dayName(at, now = Date.now()) {
  const then = new Date(at);
  if (isSameDay(then, new Date(now))) return "Today";
  if (isSameDay(then, theDayBefore(now))) return "Yesterday";
  const isThisYear = then.getFullYear() === new Date(now).getFullYear();
  const wanted = isThisYear ? { weekday: "long" } : { year: "numeric" };
  return then.toLocaleDateString("en-GB", { day: "numeric", month: "long", ...wanted });
}

// By the calendar: a day has 23 or 25 hours when the clocks are changed.
function theDayBefore(now) {
  const then = new Date(now);
  then.setDate(then.getDate() - 1);
  return then;
}

export function isSameDay(one, other) {
  return one.toDateString() === other.toDateString();
}

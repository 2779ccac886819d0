// Events that this page has sent to the log, each with a toast and an undo.

import { notice } from "../app/notices.js";
import { newKey, retract, send, takeBack } from "../app/outbox.js";

const NOT_LEARNED = "Private mode: this is not learned.";
const MAX_EVENTS = 100;
// Evidence of taste. In private mode it does not leave the browser: the server may already have left
// private mode when it arrives. Rules, such as a ban, count in private too.
const EVIDENCE = new Set(["rating", "skip", "listen"]);

export class SentEvents {
  #list = []; // {key, event, words, answer: Promise}, the latest at the end
  #elsewhere = new Map(); // {stars, seq} by song: before the page was loaded, or in another tab
  #unsay = () => {}; // takes away the latest toast

  // Resolves with the log's answer, null if it was refused. The toast comes at once: an event is
  // kept until it is delivered. A quiet event has no toast, but can be undone too.
  async send(event, words, { isQuiet = false, isPrivate = false, onUndo } = {}) {
    const entry = sent(event, words, isPrivate);
    this.#list.push(entry);
    if (this.#list.length > MAX_EVENTS) this.#list.shift();
    if (!isQuiet) this.#say(`${capital(words)}.`, { undo: () => onUndo(entry) });
    const answer = await entry.answer;
    if (answer?.seq !== undefined) {
      entry.seq = answer.seq;
      return answer;
    }
    if (!this.#drop(entry)) return answer; // it was undone meanwhile
    if (!isQuiet) this.#unsay();
    if (!isQuiet && answer) this.#say(NOT_LEARNED);
    return answer;
  }

  // What would be taken back now, in words; "" if there is nothing.
  get latest() {
    return this.#list.at(-1)?.words ?? "";
  }

  // The last rating of a song that still stands; 0 if there is none.
  starsOf(song) {
    return this.ratingOf(song)?.stars ?? 0;
  }

  // That rating as {stars, seq}, to be remembered over a reload; null if there is none.
  ratingOf({ id }) {
    const isIt = ({ event }) => event.kind === "rating" && event.song === id;
    const entry = this.#list.findLast(isIt);
    return entry ? { stars: entry.event.stars, seq: entry.seq } : (this.#elsewhere.get(id) ?? null);
  }

  noteElsewhere(song, rating) {
    this.#elsewhere.set(song, rating);
  }

  // Undo an event, by default the latest. Returns {entry, done}: done resolves when the log has it;
  // null if there is nothing to undo.
  undo(entry = this.#list.at(-1)) {
    if (!entry || !this.#drop(entry)) {
      this.#say("There is nothing to undo.");
      return null;
    }
    this.#say(`Undone: ${entry.words}.`);
    const { key } = entry;
    const late = ({ seq }) => (seq === undefined ? null : retract({ key, seq }));
    const done = takeBack(key) ?? entry.answer.then((answer) => late(answer ?? {}));
    return { entry, done };
  }

  // It was undone elsewhere.
  async forget(seq) {
    for (const [song, rating] of this.#elsewhere)
      if (rating.seq === seq) this.#elsewhere.delete(song);
    for (const entry of [...this.#list]) {
      if ((await entry.answer)?.seq === seq) this.#drop(entry);
    }
  }

  clear() {
    this.#list = [];
    this.#elsewhere.clear();
  }

  #drop(entry) {
    const place = this.#list.indexOf(entry);
    if (place >= 0) this.#list.splice(place, 1);
    return place >= 0;
  }

  // One toast at a time: the latest is the likeliest to be undone.
  #say(text, options) {
    this.#unsay();
    this.#unsay = notice(text, options);
  }
}

function sent(event, words, isPrivate) {
  const key = newKey();
  const isSecret = isPrivate && EVIDENCE.has(event.kind);
  const answer = isSecret ? Promise.resolve({ stored: false }) : send(event, { key });
  return { key, event, words, answer };
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

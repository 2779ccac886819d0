// What a listener does, told to the log with a word about it and a way to take it back.

import { notice } from "../app/notices.js";
import { newKey, retract, takeBack, tell } from "../app/outbox.js";

const NOT_LEARNT = "Private mode: this is not learnt.";
const MOST = 100;
// What says something of taste. In private mode it does not even leave the browser: on its way it
// could meet a server for which that is over. Wishes, such as a ban, count in private too.
const JUDGEMENTS = new Set(["rating", "skip", "listen"]);

export class Told {
  #list = []; // {key, event, words, answer: Promise}, the latest at the end
  #elsewhere = new Map(); // {stars, seq} by song: before the page was loaded, or in another tab
  #unsay = () => {}; // takes away the latest toast

  // Resolves with the log's answer, null if it was refused. The toast comes at once: what is told
  // is kept and delivered whatever happens. A quiet event has none, but can be taken back too.
  async tell(event, words, { isQuiet = false, isPrivate = false, onUndo } = {}) {
    const entry = told(event, words, isPrivate);
    this.#list.push(entry);
    if (this.#list.length > MOST) this.#list.shift();
    if (!isQuiet) this.#say(`${capital(words)}.`, { undo: () => onUndo(entry) });
    const answer = await entry.answer;
    if (answer?.seq !== undefined) {
      entry.seq = answer.seq;
      return answer;
    }
    if (!this.#drop(entry)) return answer; // it was taken back, which has been said
    if (!isQuiet) this.#unsay();
    if (!isQuiet && answer) this.#say(NOT_LEARNT);
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

  // Take something back, the latest unless told otherwise. Returns {entry, done}: done resolves
  // when the log has it; null if there is nothing to take back.
  undo(entry = this.#list.at(-1)) {
    if (!entry || !this.#drop(entry)) {
      this.#say("There is nothing to take back.");
      return null;
    }
    this.#say(`Undone: ${entry.words}.`);
    const { key } = entry;
    const late = ({ seq }) => (seq === undefined ? null : retract({ key, seq }));
    const done = takeBack(key) ?? entry.answer.then((answer) => late(answer ?? {}));
    return { entry, done };
  }

  // Somebody else has taken it back.
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

  // One toast at a time: the latest is what one wants to take back.
  #say(text, options) {
    this.#unsay();
    this.#unsay = notice(text, options);
  }
}

function told(event, words, isPrivate) {
  const key = newKey();
  const isSecret = isPrivate && JUDGEMENTS.has(event.kind);
  const answer = isSecret ? Promise.resolve({ stored: false }) : tell(event, { key });
  return { key, event, words, answer };
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

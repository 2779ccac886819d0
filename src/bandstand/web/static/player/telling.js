// What a listener does, told to the log with a word about it and a way to take it back.

import { notice } from "../app/notices.js";
import { tell } from "../app/outbox.js";

const NOT_LEARNT = "Private mode: this is not learnt.";
const MOST = 100;

export class Told {
  #list = []; // {event, words, answer: Promise}, the latest at the end
  #unsay = () => {}; // takes away the latest toast

  // Resolves with the log's answer, null if it was refused. The toast comes at once: what is told
  // is kept and delivered whatever happens. A quiet event has none, but can be taken back too.
  async tell(event, words, { isQuiet = false, onUndo } = {}) {
    const entry = { event, words, answer: tell(event) };
    this.#list.push(entry);
    if (this.#list.length > MOST) this.#list.shift();
    if (!isQuiet) this.#say(`${capital(words)}.`, { undo: () => onUndo(entry) });
    const answer = await entry.answer;
    if (answer?.seq !== undefined) return answer;
    this.#drop(entry);
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
    const isIt = ({ event }) => event.kind === "rating" && event.song === song.id;
    return this.#list.findLast(isIt)?.event.stars ?? 0;
  }

  // Take something back, the latest unless told otherwise. Returns {entry, done}: done resolves
  // when the log has it; null if there is nothing to take back.
  undo(entry = this.#list.at(-1)) {
    if (!entry || !this.#drop(entry)) {
      this.#say("There is nothing to take back.");
      return null;
    }
    this.#say(`Taken back: ${entry.words}.`);
    const done = entry.answer.then((answer) =>
      answer?.seq === undefined ? null : tell({ kind: "retract", retracts: answer.seq }),
    );
    return { entry, done };
  }

  // Somebody else has taken it back.
  async forget(seq) {
    for (const entry of [...this.#list]) {
      if ((await entry.answer)?.seq === seq) this.#drop(entry);
    }
  }

  clear() {
    this.#list = [];
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

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

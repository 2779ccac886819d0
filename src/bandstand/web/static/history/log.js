// The events that are shown: newest first, page by page, and kept up to date.

import { address, call } from "../app/api.js";

const PAGE = 50;
const MOST = 500; // that the server gives at once

export class Log {
  events = [];
  #next = null; // the `before` of the next page
  #kinds = [];
  #turn = 0; // of the latest `begin`; older answers are dropped
  #renewal = 0; // the same for what replaces the events that are known
  #struck = new Set(); // what was taken back here, which the server may not know yet
  #signal;

  constructor(signal) {
    this.#signal = signal;
  }

  get hasMore() {
    return this.#next !== null;
  }

  // Start over with events of some kinds; of all for none.
  async begin(kinds) {
    this.#kinds = kinds;
    const turn = ++this.#turn;
    const { events, next_before: next } = await this.#ask({ limit: PAGE });
    if (turn !== this.#turn) return;
    this.#next = next;
    this.#take(events);
  }

  // Resolves with the first of those that came.
  async more() {
    const turn = this.#turn;
    const { events, next_before: next } = await this.#ask({ limit: PAGE, before: this.#next });
    if (turn !== this.#turn) return null;
    this.#next = next;
    this.#take([...this.events, ...events]);
    return events[0] ?? null;
  }

  // Notice what came meanwhile, and what was taken back. Resolves with whether that is anything.
  async renew() {
    if (!this.events.length) return this.begin(this.#kinds).then(() => this.events.length > 0);
    const [turn, renewal] = [this.#turn, ++this.#renewal];
    const end = this.events.at(-1).seq;
    const fresh = await this.#since(end);
    if (turn !== this.#turn || renewal !== this.#renewal) return false;
    const before = this.events;
    // What "Show more" has brought meanwhile is behind that end.
    this.#take([...fresh, ...before.filter((event) => event.seq < end)]);
    return !isSame(this.events, before);
  }

  // Show at once that an event was taken back, whenever the server hears of it.
  strike(seq) {
    this.#struck.add(seq);
    this.#take(this.events);
  }

  // The server has refused that; what is true comes with the next answer.
  unstrike(seq) {
    this.#struck.delete(seq);
  }

  // All events down to one that is known, however many have come since: as many pages as it takes.
  async #since(end) {
    const limit = Math.min(this.events.length + PAGE, MOST);
    const found = [];
    let before = null;
    do {
      const answer = await this.#ask({ limit, before });
      found.push(...answer.events);
      before = answer.next_before;
    } while (before !== null && found.at(-1).seq > end);
    return found.filter((event) => event.seq >= end);
  }

  #take(events) {
    const over = (event) =>
      this.#struck.has(event.seq) ? { ...event, is_retracted: true } : event;
    this.events = events.map(over);
  }

  #ask(query) {
    const where = address("/api/history", { kind: this.#kinds, ...query });
    return call("GET", where, undefined, { signal: this.#signal });
  }
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

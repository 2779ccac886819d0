// The events that are shown: newest first, page by page, and kept up to date.

import { address, call } from "../app/api.js";

const PAGE = 50;
const MOST = 500; // that the server gives at once

export class Log {
  events = [];
  #next = null; // the `before` of the next page
  #kinds = [];
  #turn = 0; // grows with each answer that replaces what is known; older answers are dropped
  #signal;

  constructor(signal) {
    this.#signal = signal;
  }

  get hasMore() {
    return this.#next !== null;
  }

  // Begin anew with events of some kinds; of all for none.
  async begin(kinds) {
    this.#kinds = kinds;
    const turn = ++this.#turn;
    const answer = await this.#ask({ limit: PAGE });
    if (turn === this.#turn) this.#take(answer.events, answer.next_before);
  }

  // Resolves with the first of those that came.
  async more() {
    const turn = this.#turn;
    const { events, next_before: next } = await this.#ask({ limit: PAGE, before: this.#next });
    if (turn !== this.#turn) return null;
    this.#take([...this.events, ...events], next);
    return events[0] ?? null;
  }

  // Notice what came meanwhile, and what was taken back. Resolves with whether that is anything.
  async renew() {
    const turn = ++this.#turn;
    const limit = Math.min(Math.max(this.events.length, PAGE), MOST);
    const { events, next_before: next } = await this.#ask({ limit });
    if (turn !== this.#turn || isSame(events, this.events.slice(0, events.length))) return false;
    const rest = this.events.filter((event) => event.seq < (events.at(-1)?.seq ?? 0));
    this.#take([...events, ...rest], rest.length ? this.#next : next);
    return true;
  }

  #take(events, next) {
    this.events = events;
    this.#next = next;
  }

  #ask(query) {
    const where = address("/api/history", { kind: this.#kinds, ...query });
    return call("GET", where, undefined, { signal: this.#signal });
  }
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// Whether the server answers, and what the page says while it does not.

import { call } from "../app/api.js";
import { isGone, worthTrying } from "../app/network.js";
import { notice } from "../app/notices.js";
import * as storage from "../app/storage.js";

const FIRST_WAIT = 1_000; // milliseconds
const LONGEST_WAIT = 15_000;
const OFFLINE = "Offline: what you do is kept and delivered later.";
const UNKEPT = "Offline: what you do is kept until this tab is closed.";

// Events: "away", "back".
class Connection extends EventTarget {
  isAway = false;
  #unsay = null;
  #isWatched = false;

  // Begin to watch; before the login there is nothing to say.
  watch() {
    this.#isWatched = true;
    if (isGone()) this.lose();
  }

  unwatch() {
    this.#isWatched = false;
    this.#find();
  }

  // The server does not answer: say so, and try until it does.
  async lose() {
    if (this.isAway || !this.#isWatched) return;
    this.isAway = true;
    this.#unsay = notice(storage.hasRoom() ? OFFLINE : UNKEPT, { lasts: true });
    this.dispatchEvent(new Event("away"));
    let delay = FIRST_WAIT;
    while (this.isAway) {
      await worthTrying(delay);
      delay = Math.min(2 * delay, LONGEST_WAIT);
      if (this.isAway && (await answers())) this.#find();
    }
  }

  // The browser has no room for what was done meanwhile: then nothing else is promised.
  admit() {
    if (!this.isAway) return;
    this.#unsay();
    this.#unsay = notice(UNKEPT, { lasts: true });
  }

  // Resolves when the server answers; at once unless it is away.
  back() {
    if (!this.isAway) return Promise.resolve();
    return new Promise((resolve) => this.addEventListener("back", resolve, { once: true }));
  }

  #find() {
    if (!this.isAway) return;
    this.isAway = false;
    this.#unsay?.();
    this.dispatchEvent(new Event("back"));
  }
}

async function answers() {
  try {
    await call("GET", "/api/library");
    return true;
  } catch (problem) {
    return problem.status !== undefined && problem.status < 500;
  }
}

export const connection = new Connection();
window.addEventListener("offline", () => isGone() && connection.lose());

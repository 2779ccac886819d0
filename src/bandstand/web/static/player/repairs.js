// Songs that stop or will not begin. A lost connection is no fault of the song: it goes on where it
// was. Only a song that the server or the browser cannot play is given up.

import { isGone, pause } from "../app/network.js";
import { notice } from "../app/notices.js";
import { connection } from "./connection.js";

const MOST_ATTEMPTS = 2; // with a song that the server says is fine, or will be
const SOON = 1_500; // milliseconds, where a server in trouble does not say when to come back
const LONGEST_WAIT = 10_000; // milliseconds between two songs that will not play

export class Repairs {
  #onResume;
  #onGiveUp;
  #number = 0; // of the latest repair; older ones are dropped
  #failures = 0; // songs in a row that would not play
  #attempts = 0; // how often the song that plays was begun again
  isBusy = false; // it is being repaired

  // `onResume(song, from)`: play it again from there; `onGiveUp(song)`: go on without it.
  constructor({ onResume, onGiveUp }) {
    this.#onResume = onResume;
    this.#onGiveUp = onGiveUp;
  }

  // Another song plays, or none.
  stop() {
    this.#number += 1;
    this.#attempts = 0;
    this.isBusy = false;
  }

  // There is sound.
  succeed() {
    this.#failures = 0;
  }

  // The song that plays has failed, or stands still. Silence is long already where it stands still:
  // that is tried once.
  async repair({ song, time, isStalled = false }) {
    const number = ++this.#number;
    this.isBusy = true;
    const { verdict, wait } = await examine(song);
    if (number !== this.#number) return;
    if (verdict === "unreachable") {
      connection.lose();
      await connection.back();
    } else {
      this.#attempts += isStalled ? MOST_ATTEMPTS : 1;
      if (verdict === "broken" || this.#attempts > MOST_ATTEMPTS) return this.#giveUp(song, number);
      await pause(wait);
    }
    if (number !== this.#number) return;
    this.isBusy = false;
    this.#onResume(song, time);
  }

  async #giveUp(song, number) {
    this.#failures += 1;
    notice(`“${song.title}” cannot be played.`);
    await pause(Math.min(1_000 * this.#failures, LONGEST_WAIT));
    if (number !== this.#number) return;
    this.isBusy = false;
    this.#onGiveUp(song);
  }

  // The song that was to come next has failed: it is left out before anybody hears of it.
  async replace({ song }) {
    if ((await examine(song)).verdict === "broken") this.#onGiveUp(song);
  }
}

// What the server says of a song's sound: "fine", "broken", "troubled" (it may be fine after a wait,
// in milliseconds), or nothing, because it is "unreachable".
async function examine(song) {
  if (isGone()) return { verdict: "unreachable" };
  try {
    const { ok, status, headers } = await fetch(song.audio, { method: "HEAD" });
    if (status >= 500) return { verdict: "troubled", wait: waitOf(headers) };
    const isFine = ok || [401, 408, 429].includes(status);
    return { verdict: isFine ? "fine" : "broken", wait: 0 };
  } catch {
    return { verdict: "unreachable" };
  }
}

function waitOf(headers) {
  const seconds = Number.parseInt(headers.get("Retry-After"), 10);
  return seconds > 0 ? Math.min(1_000 * seconds, LONGEST_WAIT) : SOON;
}

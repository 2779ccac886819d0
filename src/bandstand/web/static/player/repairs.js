// Songs that stop or will not begin. A lost connection is no fault of the song: it goes on where it
// was. Only a song that the server or the browser cannot play is given up.

import { isGone, pause } from "../app/network.js";
import { notice } from "../app/notices.js";
import { connection } from "./connection.js";

const MOST_ATTEMPTS = 2; // with a song that the server says is fine
const LONGEST_WAIT = 10_000; // milliseconds between two songs that will not play

export class Repairs {
  #onResume;
  #onGiveUp;
  #number = 0; // of the latest repair; older ones are dropped
  #failures = 0; // songs in a row that would not play
  #attempts = new Map(); // how often a song was begun again, by its id

  // `onResume(song, from)`: play it again from there; `onGiveUp(song)`: go on without it.
  constructor({ onResume, onGiveUp }) {
    this.#onResume = onResume;
    this.#onGiveUp = onGiveUp;
  }

  // Another song plays, or none.
  stop() {
    this.#number += 1;
  }

  // There is sound.
  succeed() {
    this.#failures = 0;
  }

  // The song that plays has failed.
  async repair({ song, time }) {
    const number = ++this.#number;
    const verdict = await examine(song);
    if (number !== this.#number) return;
    const attempts = (this.#attempts.get(song.id) ?? 0) + 1;
    if (verdict === "unreachable") {
      connection.lose();
      await connection.back();
    } else if (verdict === "broken" || attempts > MOST_ATTEMPTS) {
      this.#failures += 1;
      notice(`“${song.title}” cannot be played.`);
      await pause(Math.min(1_000 * this.#failures, LONGEST_WAIT));
      if (number === this.#number) this.#onGiveUp(song);
      return;
    } else {
      this.#attempts.set(song.id, attempts);
    }
    if (number === this.#number) this.#onResume(song, time);
  }

  // The song that was to come next has failed: it is left out before anybody hears of it.
  async replace({ song }) {
    if ((await examine(song)) === "broken") this.#onGiveUp(song);
  }
}

// What the server says of a song's sound.
async function examine(song) {
  if (isGone()) return "unreachable";
  try {
    const response = await fetch(song.audio, { method: "HEAD" });
    if (response.status === 401 || response.status === 408 || response.status === 429)
      return "fine";
    return response.ok ? "fine" : response.status < 500 ? "broken" : "unreachable";
  } catch {
    return "unreachable";
  }
}

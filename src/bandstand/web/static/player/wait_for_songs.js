// Waiting until there is a song to play: a new library is still being read.

import { Refused, call, isTemporary, pause } from "../app/api.js";
import { connection } from "./connection.js";

const AGAIN = 2_000; // milliseconds

// Resolves when there are songs, or when they are no longer wanted. `onWait` gets what the server says
// of the library, as often as it is asked.
export async function waitForSongs({ isWanted, onWait }) {
  while (isWanted()) {
    const library = await ask();
    if (!isWanted() || library?.songs > 0) return;
    if (library) onWait(library);
    await pause(AGAIN);
  }
}

async function ask() {
  try {
    return await call("GET", "/api/library");
  } catch (problem) {
    if (!isTemporary(problem)) throw problem;
    if (!(problem instanceof Refused)) connection.lose();
    await connection.back();
    return null;
  }
}

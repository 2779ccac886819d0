// Requests to the study.
//
// A rating lies in the browser's storage until the server has it, and since the server takes one
// rating for a song, it counts once however often it is sent. So do the seconds that were heard of
// a song: a reload does not have it heard again.

import { call, isTemporary } from "../app/api.js";
import { worthTrying } from "../app/network.js";
import * as storage from "../app/storage.js";
import { connection } from "../player/connection.js";

const FIRST_WAIT = 500; // milliseconds between two attempts
const LONGEST_WAIT = 10_000;

const placeOf = (account, what) => `study.${account}.${what}`;

// ── Asking ──────────────────────────────────────────────────────────────────────────────

// Each resolves with where one stands; null where there is no study.
export const standing = (signal) => asked("GET", "/api/study", undefined, signal);
export const agree = (signal) => asked("POST", "/api/study/consent", { agree: true }, signal);
export const begin = (arm, signal) => asked("POST", armAddress(arm, "begin"), undefined, signal);

// How one is concerned: {only, joined}, also in a study that is closed; null where one is in none.
export const membership = async (signal) =>
  (await call("GET", "/api/session", undefined, { signal })).study;

async function asked(method, where, body, signal) {
  return (await call(method, where, body, { signal })).study;
}

// The song to listen to: the one that waits for its rating, or a new one.
export const nextSong = (arm, signal) =>
  call("POST", armAddress(arm, "next"), undefined, { signal });

export const withdraw = (word) => call("DELETE", "/api/study/participation", { confirm: word });

const armAddress = (arm, what) => `/api/study/arms/${encodeURIComponent(arm)}/${what}`;

// ── Ratings ─────────────────────────────────────────────────────────────────────────────

// Send a rating until the server answers. `onDelay` is called when it takes longer.
export async function rate(account, rating, { onDelay }) {
  storage.set(placeOf(account, "rating"), rating);
  for (let delay = FIRST_WAIT; ; delay = Math.min(2 * delay, LONGEST_WAIT)) {
    try {
      return await deliver(account, rating);
    } catch (problem) {
      if (!isTemporary(problem)) throw problem;
      if (problem.status === undefined) connection.lose();
      onDelay();
      await worthTrying(Math.max(delay, 1_000 * (problem.retryAfter ?? 0)));
    }
  }
}

// Send what an earlier visit could not deliver. Resolves with the problem if it was refused.
export async function deliverKept(account) {
  const kept = storage.get(placeOf(account, "rating"));
  if (typeof kept?.arm !== "string") return null;
  try {
    await deliver(account, kept);
    return null;
  } catch (problem) {
    if (isKept(problem)) throw problem;
    return problem;
  }
}

async function deliver(account, { arm, ...body }) {
  try {
    const study = await asked("POST", armAddress(arm, "ratings"), body);
    settle(account, { arm, ...body });
    return study;
  } catch (problem) {
    if (!isKept(problem)) settle(account, { arm, ...body });
    throw problem;
  }
}

// A later rating may lie there by now, if this one was delivered from two places.
function settle(account, { arm, number }) {
  const kept = storage.get(placeOf(account, "rating"));
  if (kept?.arm === arm && kept.number === number) storage.remove(placeOf(account, "rating"));
}

// Who is logged out comes back; for everything else that is refused, waiting is of no use.
const isKept = (problem) => isTemporary(problem) || problem.status === 401;

// ── What was heard ──────────────────────────────────────────────────────────────────────

// Returns {seconds, time}: how much was heard of this song before, and where it was left.
// A song whose file has gone may have been replaced under the same number.
export function heardOf(account, { arm, number, song }) {
  const found = storage.get(placeOf(account, "heard"));
  const isThis = found?.arm === arm && found.number === number && found.song === song.id;
  const isWhole = [found?.seconds, found?.time].every(Number.isFinite);
  return isThis && isWhole ? found : { seconds: 0, time: 0 };
}

export function noteHeard(account, { arm, number, song }, { seconds, time }) {
  storage.set(placeOf(account, "heard"), { arm, number, song: song.id, seconds, time });
}

// Nothing of an account stays in this browser.
export function forget(account) {
  storage.namesBelow(placeOf(account, "")).forEach(storage.remove);
}

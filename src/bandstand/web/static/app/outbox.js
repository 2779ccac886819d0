// What a listener does, told to the log until it is acknowledged.
//
// Each event has a key of its own and lies in the browser's storage, one entry each, from before
// it is sent until the log has answered. So it outlives a lost connection, a reload and a closed
// tab; and since the log takes a key once, it counts once however many tabs send it.

import { call, isPassing } from "./api.js";
import { worthTrying } from "./network.js";
import * as preferences from "./preferences.js";

const FIRST_WAIT = 500; // milliseconds between two attempts
const LONGEST_WAIT = 30_000;
const WORTH_TELLING = 5_000; // later than this, it is said how long ago it was
const OLDEST = 604_800; // seconds

const watchers = { onDelay() {}, onDelivered() {}, onRefused() {}, onStranger() {} };
let owner = null; // the account of who is here
let place = null; // where its events lie
let waiting = []; // {name, at, body, resolve}, the oldest first
let isSending = false;
let count = 0;

// Begin for an account; what an earlier visit could not deliver goes first.
// `onStranger`: the server knows somebody else here, which this tab has missed.
export function openOutbox(account, { onDelay, onDelivered, onRefused, onStranger }) {
  Object.assign(watchers, { onDelay, onDelivered, onRefused, onStranger });
  owner = account;
  place = `outbox.${account}.`;
  waiting = preferences
    .namesBelow(place)
    .map((name) => ({ name, ...preferences.get(name), resolve() {} }))
    .filter((entry) => entry.body)
    .sort((one, other) => one.at - other.at || one.order - other.order);
  sendAll();
}

// Another account's events are no longer sent; they wait for it to come back.
export function closeOutbox() {
  place = null;
  waiting = [];
}

export function undelivered() {
  return waiting.length;
}

// Resolves with the log's answer, or null if it was refused.
export function tell(event) {
  return new Promise((resolve) => {
    const entry = { at: Date.now(), order: count++, body: { key: newKey(), ...event } };
    const name = place + entry.body.key;
    preferences.set(name, entry);
    waiting.push({ name, ...entry, resolve });
    sendAll();
  });
}

async function sendAll() {
  if (isSending) return;
  isSending = true;
  let delay = 0;
  while (waiting.length) {
    if (await sendFirst()) {
      if (delay) watchers.onDelivered();
      delay = 0;
      continue;
    }
    watchers.onDelay();
    delay = Math.min(2 * delay || FIRST_WAIT, LONGEST_WAIT);
    await worthTrying(delay);
  }
  isSending = false;
}

// Returns whether the first event is off the list.
async function sendFirst() {
  const entry = waiting[0];
  const age = Date.now() - entry.at;
  const body = { account: owner, ...entry.body };
  if (age >= WORTH_TELLING) body.age_seconds = Math.min(age / 1_000, OLDEST);
  let answer = null;
  try {
    answer = await call("POST", "/api/events", body);
  } catch (problem) {
    if (entry !== waiting[0]) return true; // somebody else is here now
    if (isPassing(problem) || problem.status === 401) return false;
    if (problem.code === "another_account") {
      closeOutbox(); // it waits for its owner
      watchers.onStranger();
      return true;
    }
    watchers.onRefused(problem);
  }
  preferences.remove(entry.name);
  if (entry === waiting[0]) waiting.shift();
  entry.resolve(answer);
  return true;
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

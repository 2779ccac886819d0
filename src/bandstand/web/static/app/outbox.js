// Events of the listener, sent to the log until it has acknowledged them.
//
// Each event has a key of its own and lies in the browser's storage, one entry each, from before
// it is sent until the log has answered. So it outlives a lost connection, a reload and a closed
// tab; and since the log takes a key once, it counts once however many tabs send it. A wish to take
// it back lies in the same entry: it is not forgotten either.

import { call, isTemporary } from "./api.js";
import { isGone, worthTrying } from "./network.js";
import * as storage from "./storage.js";

const FIRST_WAIT = 500; // milliseconds between two attempts
const LONGEST_WAIT = 30_000;
const AGE_FROM = 5_000; // milliseconds from which an event is sent with its age
const OLDEST = 604_800; // seconds

const watchers = { onDelay() {}, onDelivered() {}, onRefused() {}, onUnkept() {}, onStranger() {} };
let owner = null; // the account of who is here
let place = null; // where its events lie
let waiting = []; // {name, at, body, isTried, isUndone, isOurs, resolve}, the oldest first
let isSending = false;
let count = 0;

// Begin for an account; what an earlier visit could not deliver goes first.
// `onUnkept`: there was no room for an event, so it is lost with this tab. `onStranger`: the server
// knows another account here, which this tab has missed.
export function openOutbox(account, { onDelay, onDelivered, onRefused, onUnkept, onStranger }) {
  Object.assign(watchers, { onDelay, onDelivered, onRefused, onUnkept, onStranger });
  owner = account;
  place = `outbox.${account}.`;
  waiting = storage
    .namesBelow(place)
    .filter(isWhole)
    .map((name) => ({ name, ...storage.get(name), isOurs: false, resolve() {} }))
    .sort((one, other) => one.at - other.at || one.order - other.order);
  sendAll();
}

// Whether an event is stored there. An entry that cannot be read is removed.
function isWhole(name) {
  const { at, body } = storage.get(name) ?? {};
  const isEvent = [body?.key, body?.kind].every((one) => typeof one === "string");
  if (isEvent && Number.isFinite(at)) return true;
  storage.remove(name);
  return false;
}

// Another account's events are no longer sent; they wait for it to come back.
export function closeOutbox() {
  place = null;
  waiting = [];
}

// Resolves with the log's answer, or null if it was refused or has never left this browser.
export function send(event, { key = newKey() } = {}) {
  return new Promise((resolve) => {
    waiting.push(kept(event, { key, resolve }));
    sendAll();
  });
}

// Take back what may be on its way. Resolves when the log does not have it, or has it taken back;
// returns null if nothing with this key waits: then it is known by its number.
export function takeBack(key) {
  const entry = waiting.find(({ body }) => body.key === key);
  if (!entry) return null;
  if (isUntried(entry)) {
    waiting.splice(waiting.indexOf(entry), 1);
    storage.remove(entry.name);
    entry.resolve(null);
    return Promise.resolve(null);
  }
  return new Promise((resolve) => mark(entry, { isUndone: true, onUndone: resolve }));
}

// By its own key, so that it is taken back once whichever tab does it.
export function retract({ key, seq }) {
  return send({ kind: "retract", retracts: seq }, { key: undoKey(key) });
}

const undoKey = (key) => `${key}.undo`;

// Put an event into the storage. Returns what waits in its place.
function kept(event, { key, resolve }) {
  const entry = { at: Date.now(), order: count++, body: { key, ...event } };
  const name = place + key;
  if (!storage.set(name, entry)) watchers.onUnkept();
  return { name, ...entry, isOurs: true, resolve };
}

function mark(entry, change) {
  Object.assign(entry, change);
  const { at, order, body, isTried, isUndone } = entry;
  storage.set(entry.name, { at, order, body, isTried, isUndone });
}

// Another tab may have sent what this one has not; then it has said so in the storage.
function isUntried(entry) {
  const stored = storage.get(entry.name);
  return !entry.isTried && stored !== null && !stored.isTried;
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
  if (isGone()) return false;
  const stored = storage.get(entry.name);
  if (!stored && !entry.isOurs) return finish(entry, null); // another tab has done it
  mark(entry, { isTried: true, isUndone: entry.isUndone || stored?.isUndone });
  try {
    return finish(entry, await call("POST", "/api/events", bodyOf(entry)));
  } catch (problem) {
    return failed(entry, problem);
  }
}

function bodyOf(entry) {
  const age = Date.now() - entry.at;
  const body = { account: owner, ...entry.body };
  if (age >= AGE_FROM) body.age_seconds = Math.min(age / 1_000, OLDEST);
  return body;
}

function failed(entry, problem) {
  if (entry !== waiting[0]) return true; // another account is here now
  if (isTemporary(problem) || problem.status === 401) return false;
  if (problem.code === "another_account") {
    closeOutbox(); // it waits for its owner
    watchers.onStranger();
    return true;
  }
  watchers.onRefused(problem);
  return finish(entry, null);
}

// An undo is stored again, with the number that it needs, before the entry that held it goes. If
// another account is here now, it stays for its owner, who sends it again.
function finish(entry, answer) {
  const isHere = entry === waiting[0];
  const isUndone = entry.isUndone || storage.get(entry.name)?.isUndone;
  if (isUndone && answer?.seq !== undefined) {
    if (!isHere) return true;
    const event = { kind: "retract", retracts: answer.seq };
    const resolve = entry.onUndone ?? (() => {});
    waiting.splice(1, 0, kept(event, { key: undoKey(entry.body.key), resolve }));
  } else {
    entry.onUndone?.(null);
  }
  storage.remove(entry.name);
  if (isHere) waiting.shift();
  entry.resolve(answer);
  return true;
}

// What makes an event the same event however often it is sent.
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

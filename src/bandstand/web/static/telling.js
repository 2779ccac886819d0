// Questions to the server, and what a listener does, told to it until it is acknowledged.

const FIRST_WAIT = 500; // milliseconds between two attempts to tell something
const LONGEST_WAIT = 30_000;

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function call(method, address, body) {
  const options = { method, headers: {}, credentials: "same-origin" };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(address, options);
  if (response.status === 204) return null;
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw new Refused(response.status, answer.error?.message ?? `error ${response.status}`);
  }
  return answer;
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Whether trying again may help.
export function isPassing(problem) {
  return !(problem instanceof Refused) || problem.status >= 500 || [408, 429].includes(problem.status);
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Return a function that tells the log one event after the other. It resolves with the log's
// answer, or null if it was refused. What cannot be delivered is sent again with the same key,
// so that it counts once however often it arrives.
export function teller({ onDelay, onDelivered, onRefused }) {
  const waiting = []; // what the log has not acknowledged yet
  let isSending = false;

  async function sendFirst() {
    const { body, resolve } = waiting[0];
    try {
      const answer = await call("POST", "/api/events", body);
      waiting.shift();
      resolve(answer);
    } catch (problem) {
      if (isPassing(problem)) return false;
      waiting.shift();
      resolve(null);
      onRefused(problem);
    }
    return true;
  }

  async function sendAll() {
    if (isSending) return;
    isSending = true;
    let delay = 0;
    while (waiting.length) {
      if (await sendFirst()) {
        if (delay) onDelivered();
        delay = 0;
        continue;
      }
      onDelay();
      delay = Math.min(2 * delay || FIRST_WAIT, LONGEST_WAIT);
      await pause(delay);
    }
    isSending = false;
  }

  return (event) =>
    new Promise((resolve) => {
      waiting.push({ body: { key: newKey(), ...event }, resolve });
      sendAll();
    });
}

// Questions to the server.

import { isGone, noteAnswer } from "./network.js";

export { pause } from "./network.js";

// The server has said no: `status` and `code` for programs, the message for people.
export class Refused extends Error {
  constructor(status, code, message, retryAfter) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter; // seconds, or null
  }
}

// There was no answer.
class Unreachable extends Error {
  constructor() {
    super("The server cannot be reached.");
  }
}

// Returns what was answered, or null where there is nothing to say. A body is JSON, or a file.
// When the session has ended, the document gets the event "stranger".
export async function call(method, where, body, { signal } = {}) {
  const response = await send(method, where, body, signal);
  if (response.status === 204) return null;
  if (response.ok) return read(response, signal);
  const answer = await response.json().catch(() => ({}));
  const { code = "", message = `The server answered ${response.status}.` } = answer.error ?? {};
  if (response.status === 401 && code === "login_required")
    document.dispatchEvent(new Event("stranger"));
  const wait = Number.parseInt(response.headers.get("Retry-After"), 10);
  throw new Refused(response.status, code, sentence(message), Number.isNaN(wait) ? null : wait);
}

// An answer that is cut off is none: half of it must not pass for an empty one.
async function read(response, signal) {
  try {
    return await response.json();
  } catch {
    signal?.throwIfAborted();
    throw new Unreachable();
  }
}

async function send(method, where, body, signal) {
  if (isGone()) throw new Unreachable();
  const options = { method, signal, headers: {}, credentials: "same-origin" };
  if (body instanceof Blob) {
    options.headers["Content-Type"] = "application/octet-stream";
    options.body = body;
  } else if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const askedAt = Date.now();
  try {
    const response = await fetch(where, options);
    noteAnswer(askedAt);
    return response;
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Unreachable();
  }
}

// Whether trying again may help.
export function isTemporary(problem) {
  return (
    problem instanceof Unreachable ||
    (problem instanceof Refused && (problem.status >= 500 || [408, 429].includes(problem.status)))
  );
}

// "/api/songs", {q: "a b", genre: null, after: ["x", "y"]} → "/api/songs?q=a+b&after=x&after=y"
export function address(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of [value].flat()) {
      if (one !== null && one !== undefined && one !== "") query.append(name, one);
    }
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

function sentence(message) {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

// Where one is in the library: the address says it, and Back finds the list as it was left.

import { way } from "../app/router.js";

const NAMES = ["view", "q", "artist", "album", "album_artist", "genre", "heard", "sort"];
const MOST = 12;

const kept = new Map(); // what was shown at an entry of the browser's history, the oldest first

// {view: "", q: "", artist: "", …}: what is not said is the empty string.
export function readPlace(query) {
  return Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? ""]));
}

export function placeWay(place) {
  const said = NAMES.filter((name) => place[name]).map((name) => [name, place[name]]);
  return way("library", null, Object.fromEntries(said));
}

// Give the present entry another address: what is typed is no step that Back should undo.
export function rename(place) {
  try {
    history.replaceState(history.state, "", placeWay(place));
  } catch {
    // Some browsers allow a hundred of these in half a minute; the next one will do.
  }
}

// Make an entry that Back returns from.
export function step(place) {
  history.pushState(null, "", placeWay(place));
}

// The name of the present entry, by which it is found again.
export function entry() {
  const name = history.state?.library ?? crypto.getRandomValues(new Uint32Array(2)).join("-");
  if (history.state?.library !== name) history.replaceState({ library: name }, "");
  return name;
}

export function keep(name, place, shown) {
  kept.delete(name);
  kept.set(name, { ...shown, address: placeWay(place) });
  if (kept.size > MOST) kept.delete(kept.keys().next().value);
}

// What the account was shown when it left this entry; null unless it has come back. The address
// is compared as well: who moves on while a page is still being fetched names the wrong entry.
export function recall(account, place) {
  const found = kept.get(history.state?.library);
  return found?.account === account && found.address === placeWay(place) ? found : null;
}

// What this browser remembers by itself, where it may.

const PREFIX = "bandstand.";

export function get(name, otherwise = null) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

// Returns whether it will be remembered.
export function set(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false; // a private window, or no room
  }
}

// Whether there is room for a little more.
export function hasRoom() {
  const found = set("room", "?".repeat(1_000));
  remove("room");
  return found;
}

export function remove(name) {
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // then it was never there
  }
}

export function namesBelow(start) {
  try {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(PREFIX + start))
      .map((name) => name.slice(PREFIX.length));
  } catch {
    return [];
  }
}

// Ways inside the page: "#/song/0d14…?from=history" → {name: "song", id: "0d14…", query}.

import { h } from "./dom.js";

export function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name = "", ...rest] = path.split("/");
  return { name, id: rest.map(decoded).join("/") || null, query: new URLSearchParams(query) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray %
  }
}

// way("library", null, {artist: "A & B"}) → "#/library?artist=A+%26+B"
export function way(name, id = null, query = {}) {
  const text = new URLSearchParams(query).toString();
  return `#/${name}${id === null ? "" : `/${encodeURIComponent(id)}`}${text ? `?${text}` : ""}`;
}

export function go(address) {
  location.hash = address;
}

// Change the address without going anywhere: what was typed into a search, say.
export function rename(address) {
  history.replaceState(null, "", address);
}

export function link(address, properties = {}, ...children) {
  return h("a", { href: address, ...properties }, ...children);
}

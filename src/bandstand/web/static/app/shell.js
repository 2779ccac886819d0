// What is around the pages: the ways to them, who is here, the title of the window.

import { fill, h, icon } from "./dom.js";
import { link, way } from "./router.js";

const WAYS = [
  ["", "Radio", "radio"],
  ["taste", "Taste", "taste"],
  ["library", "Library", "library"],
  ["history", "History", "history"],
  ["settings", "Settings", "settings"],
];
const STUDY = ["study", "Study", "study"];
// For an account that was made for the study only.
const FEW = [STUDY, ["account", "Account", "person"]];
// Pages that belong to one of the ways.
const HOMES = new Map([
  ["song", "library"],
  ["playlists", "library"],
  ["playlist", "library"],
  ["scan", "library"],
  ["people", "settings"],
]);

const named = { page: "", song: "" };

export function showShell(person, { onLogOut }) {
  document.body.classList.remove("bare");
  const items = waysOf(person).map(([name, label, drawing]) =>
    h("li", {}, link(way(name), { dataset: { way: name } }, icon(drawing), h("span", {}, label))),
  );
  fill(document.getElementById("ways"), h("ul", { role: "list" }, items));
  const leave = h(
    "button.quiet.round.small",
    { type: "button", "aria-label": "Log out", title: "Log out", onclick: onLogOut },
    icon("door"),
  );
  fill(
    document.getElementById("person"),
    h("span.cut.faint", { title: person.name }, person.name),
    person.guest ? null : leave,
  );
  document.getElementById("person").hidden = document.getElementById("foot").hidden = false;
}

function waysOf({ study }) {
  if (study?.only) return FEW;
  return study ? [...WAYS.slice(0, -1), STUDY, WAYS.at(-1)] : WAYS;
}

export function hideShell() {
  document.body.classList.add("bare");
  document.getElementById("person").hidden = document.getElementById("foot").hidden = true;
  nameWindow({ song: "" });
}

export function markWay(name) {
  for (const anchor of document.querySelectorAll("#ways a")) {
    if (anchor.dataset.way === (HOMES.get(name) ?? name))
      anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
}

// The window is called by what plays, or else by the page.
export function nameWindow({ page = named.page, song = named.song }) {
  Object.assign(named, { page, song });
  document.title = song || (page ? `${page} · Bandstand` : "Bandstand");
}

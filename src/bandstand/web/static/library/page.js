// The library: songs by words, by artist, album and genre, in some order.

import { call } from "../app/api.js";
import { fill, h, icon } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { load } from "../app/states.js";
import { length, plural } from "../app/words.js";
import { chips } from "./chips.js";
import { namesFound } from "./names_found.js";
import { entry, keep, readPlace, recall, rename, step } from "./view_state.js";
import { songsFound } from "./songs_found.js";

export const title = "Library";

const VIEWS = [
  ["", "Songs"],
  ["artists", "Artists"],
  ["albums", "Albums"],
  ["genres", "Genres"],
];
const SORTS = [
  ["", "By artist"],
  ["title", "By title"],
  ["album", "By album"],
  ["newest", "Newest first"],
  ["expected", "For you"],
];
const HEARD = [
  ["", "All songs"],
  ["yes", "Heard before"],
  ["no", "Not heard yet"],
  ["favourites", "My favourites"],
];
const TYPING = 180; // milliseconds; who types on wants no answer yet

export async function show(main, { params, person, signal }) {
  let place = readPlace(params.query);
  let asked = new AbortController();
  let name = entry();
  let found = null; // what is listed: {sofar, …}
  let timer = null;
  const size = h("p.faint.small");
  const [filters, tools, results] = [h("div.maybe"), h("div.maybe"), h("div")];
  const search = searchField(place.q, typed);
  const tabs = h("div.segmented", { role: "group", "aria-label": "What to list" });

  const question = h("div.library-ask", {}, search.element, tabs);
  main.append(h("div.stack", {}, head(person, size), question, filters, tools, results));
  signal.addEventListener("abort", leave);
  call("GET", "/api/library", undefined, { signal }).then(
    (answer) => tell(size, answer),
    () => {},
  );
  const earlier = recall(person.id, place);
  if ((await list(earlier)) && earlier) comeBack(results, earlier);

  function typed(text) {
    place = { ...place, q: text.trim() };
    rename(place);
    found = null; // what is listed no longer is what the address says
    clearTimeout(timer);
    timer = setTimeout(() => list(), TYPING);
  }

  // Another view, filter or order; Back leads to the one before.
  function change(changes) {
    leave();
    place = { ...place, ...changes };
    if ("q" in changes) search.set(place.q);
    step(place);
    name = entry();
    window.scrollTo(0, 0);
    list();
  }

  function leave() {
    clearTimeout(timer);
    asked.abort();
    if (!found) return;
    const where = { top: window.scrollY, focus: focused(results) };
    keep(name, place, { account: person.id, ...found.sofar(), ...where });
  }

  function list(before = null) {
    asked.abort();
    asked = new AbortController();
    found = null;
    const until = AbortSignal.any([asked.signal, signal]);
    fill(
      tabs,
      choices(VIEWS, place.view, (view) => change({ view })),
    );
    fill(filters, chips(place, change));
    fill(tools, place.view ? null : orders(place, change));
    const options = { place, before, change, signal: until };
    const { ask, draw } = place.view ? namesFound(options) : songsFound(options);
    return load(results, ask, (answer) => {
      const drawn = draw(answer);
      found = drawn.found;
      return drawn.elements;
    });
  }
}

function head(person, size) {
  const ways = [["playlists", "Playlists", "playlist"]];
  if (person.role === "admin") ways.push(["scan", "Scan", "folder"]);
  const links = ways.map(([name, label, drawing]) =>
    link(way(name), { class: "button small" }, icon(drawing), label),
  );
  return h("div.library-head", {}, h("h1", {}, "Library"), size, h("div.row", {}, links));
}

function tell(element, { songs, artists, duration, is_scanning: isScanning }) {
  const said = [plural(songs, "song"), plural(artists, "artist"), length(duration)];
  element.textContent = `${said.join(" · ")}${isScanning ? " · more are being added" : ""}`;
  if (!songs) element.textContent = isScanning ? "The first songs are being read." : "";
}

function searchField(text, onType) {
  const field = h("input", {
    type: "search",
    value: text,
    placeholder: "Title, artist or album",
    "aria-label": "Search the library",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: "500",
    oninput: () => typed(),
  });
  const clear = h(
    "button.quiet.round.small",
    { type: "button", "aria-label": "Clear the search", title: "Clear", onclick: () => empty() },
    icon("close"),
  );
  clear.hidden = !text;
  const set = (value) => {
    field.value = value;
    clear.hidden = !value;
  };
  const typed = () => {
    clear.hidden = !field.value;
    onType(field.value);
  };
  const empty = () => {
    set("");
    field.focus();
    onType("");
  };
  return { element: h("div.search", { role: "search" }, icon("search"), field, clear), set };
}

function choices(options, chosen, choose) {
  return options.map(([value, label]) => {
    const isChosen = String(value === chosen);
    const run = () => choose(value);
    return h("button", { type: "button", "aria-pressed": isChosen, onclick: run }, label);
  });
}

function orders(place, change) {
  const select = (label, name, options) =>
    h(
      "select",
      { "aria-label": label, onchange: (event) => change({ [name]: event.target.value }) },
      options.map(([value, text]) => h("option", { value, selected: value === place[name] }, text)),
    );
  const which = select("Which songs", "heard", HEARD);
  return h("div.row.library-tools", {}, which, select("Order", "sort", SORTS));
}

// Which row has the focus, so that it has it again on coming back.
function focused(results) {
  const row = document.activeElement?.closest?.("li");
  return row && results.contains(row) ? [...row.parentElement.children].indexOf(row) : null;
}

function comeBack(results, { top, focus }) {
  const row = focus === null ? null : results.querySelectorAll("ul > li")[focus];
  (row ?? results).querySelector("a")?.focus({ preventScroll: true });
  window.scrollTo(0, top);
}

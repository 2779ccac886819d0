// A playlist of what the radio would play next.

import { address, call } from "../app/api.js";
import { h } from "../app/dom.js";
import { ask, notice, problem } from "../app/notices.js";
import { go, way } from "../app/router.js";
import { plural, songName } from "../app/words.js";
import { yearFields } from "../player/years.js";
import { nameField, named } from "./name_field.js";

const [FEWEST, USUAL, MOST] = [5, 20, 100];
const MOST_NAMES = 50;
const TYPING = 150; // milliseconds
const STARTS = [
  ["", "Where the radio is now"],
  ["artist", "An artist"],
  ["genre", "A genre"],
  ["song", "A song"],
];

export async function makeFromRadio() {
  try {
    const { songs } = await call("GET", "/api/library");
    if (!songs) return notice("There are no songs to choose from yet.");
    const wanted = await wished();
    if (wanted) await make(wanted);
  } catch (error) {
    problem(error);
  }
}

async function make({ name, count, wish }) {
  const unsay = notice(`Choosing ${plural(count, "song")}…`, { lasts: true });
  try {
    const { songs } = await call("GET", address("/api/playlist", { count, ...wish }));
    const ids = songs.map(({ song }) => song.id);
    const made = await call("POST", "/api/playlists", { name, songs: ids });
    go(way("playlist", made.id));
  } finally {
    unsay();
  }
}

// Resolves with {name, count, wish}, or null; the wish is what the server is asked for.
function wished() {
  const name = nameField({ value: suggestedName() });
  const count = h("input", { id: "how-many", type: "range", min: FEWEST, max: MOST, step: 5 });
  count.value = String(USUAL); // after the limits, which would otherwise clip it
  const said = h("output", { for: "how-many" }, plural(USUAL, "song"));
  const label = h("label", { for: "how-many" }, "How many");
  const counted = () => {
    said.textContent = plural(Number(count.value), "song");
    count.setAttribute("aria-valuetext", said.textContent);
  };
  count.addEventListener("input", counted);
  counted();
  const start = startField();
  const years = yearFields();
  return ask("New playlist from the radio", {
    body: [
      named(name),
      h("div.field", {}, h("div.how-many", {}, label, said), count),
      start.elements,
      years.element,
    ],
    yes: "Create",
    read: () => ({
      name: name.value.trim(),
      count: Number(count.value),
      wish: { ...start.read(), ...years.read() },
    }),
  });
}

const suggestedName = () => {
  const today = new Date().toLocaleDateString("en-GB", { day: "numeric", month: "long" });
  return `Radio of ${today}`;
};

// From where to start: nothing, or a name that the library knows.
function startField() {
  let known = new Map(); // by what is written: what is asked of the server
  let timer = null;
  let asked = new AbortController();
  const kind = h(
    "select",
    {},
    STARTS.map(([value, label]) => h("option", { value }, label)),
  );
  const names = h("datalist", { id: "starts" });
  const field = h("input", { list: "starts", autocomplete: "off", placeholder: "Begin to type" });
  const label = h("label.field", { hidden: true }, h("span", {}, "Called"), field);

  kind.addEventListener("change", () => {
    label.hidden = !kind.value;
    field.required = Boolean(kind.value);
    field.value = "";
    look();
    if (kind.value) field.focus();
  });
  field.addEventListener("input", () => {
    check();
    clearTimeout(timer);
    timer = setTimeout(look, TYPING);
  });

  const folded = (text) => text.trim().toLowerCase();
  function check() {
    const isKnown = !kind.value || known.has(folded(field.value));
    field.setCustomValidity(isKnown ? "" : "Choose one from the list.");
  }

  async function look() {
    asked.abort();
    asked = new AbortController();
    if (kind.value) {
      const found = await suggestions(kind.value, field.value, asked.signal).catch(() => null);
      if (found === null) return;
      known = new Map(found.map(([text, value]) => [folded(text), value]));
      names.replaceChildren(...found.map(([text]) => h("option", { value: text })));
    }
    check();
  }

  return {
    elements: [h("label.field", {}, h("span", {}, "Start from"), kind), label, names],
    read: () => (kind.value ? { [kind.value]: known.get(folded(field.value)) } : {}),
  };
}

// [what is shown, what the server wants], for a start of what was typed.
async function suggestions(kind, text, signal) {
  if (kind === "song") {
    const wanted = address("/api/songs", { q: words(text), limit: MOST_NAMES });
    const { songs } = await call("GET", wanted, undefined, { signal });
    return songs.map((song) => [songName(song), song.id]);
  }
  const wanted = address("/api/songs/names", { of: kind, q: text.trim(), limit: MOST_NAMES });
  const answer = await call("GET", wanted, undefined, { signal });
  return answer.names.map(({ name }) => [name, name]);
}

// The dash of "Title – Artist" is in no tag.
const words = (text) => text.replaceAll(" – ", " ").trim();

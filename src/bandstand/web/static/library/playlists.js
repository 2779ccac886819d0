// One's playlists.

import { call } from "../app/api.js";
import { h, icon } from "../app/dom.js";
import { ask, problem } from "../app/notices.js";
import { go, link, way } from "../app/router.js";
import { empty, load } from "../app/states.js";
import { date, plural } from "../app/words.js";
import { makeFromRadio } from "./make_playlist.js";
import { nameField, named } from "./name_field.js";

export const title = "Playlists";

export async function show(main, { signal }) {
  const list = h("div");
  const buttons = [
    button("button.main", "New from the radio", "radio", makeFromRadio),
    button("button", "New", "plus", makeEmpty),
  ];
  main.append(
    h(
      "div.stack",
      {},
      h("p.small", {}, link(way("library"), { class: "back" }, "Library")),
      h("div.row.apart", {}, h("h1", {}, "Playlists"), h("div.row", {}, buttons)),
      list,
    ),
  );
  const wanted = () => call("GET", "/api/playlists", undefined, { signal });
  await load(list, wanted, ({ playlists }) => (playlists.length ? listed(playlists) : none()));
}

function button(kind, label, drawing, run) {
  return h(kind, { type: "button", onclick: run }, icon(drawing), label);
}

function listed(playlists) {
  const rows = playlists.map(({ id, name, count, created_at: made }) =>
    h(
      "li",
      {},
      link(
        way("playlist", id),
        { class: "name" },
        h("span.name-picture", {}, icon("playlist")),
        h(
          "span.name-words",
          {},
          h("span.name-title.cut", { title: name }, name),
          h("span.faint.small", {}, plural(count, "song")),
        ),
        h("span.name-more.faint.small", {}, date(made)),
      ),
    ),
  );
  return h("ul.names.plain", { role: "list", "aria-label": "Playlists" }, rows);
}

function none() {
  const first = "No playlists yet. Let the radio choose the next songs and keep them,";
  const library = link(way("library"), { class: "button" }, "Go to the library");
  return empty("playlist", `${first} or add songs from the library.`, library);
}

async function makeEmpty() {
  const field = nameField();
  const name = await ask("New playlist", {
    body: [named(field)],
    yes: "Create",
    read: () => field.value.trim(),
  });
  if (name === null) return;
  try {
    const made = await call("POST", "/api/playlists", { name, songs: [] });
    go(way("playlist", made.id));
  } catch (error) {
    problem(error);
  }
}

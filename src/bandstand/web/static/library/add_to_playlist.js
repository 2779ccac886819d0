// Put songs into a playlist that is there, or into a new one.

import { call } from "../app/api.js";
import { h, icon } from "../app/dom.js";
import { ask, notice, problem } from "../app/notices.js";
import { go, way } from "../app/router.js";
import { plural } from "../app/words.js";
import { nameField, named } from "./name_field.js";

export async function addToPlaylist(songs) {
  try {
    const { playlists } = await call("GET", "/api/playlists");
    const chosen = await choose(playlists);
    if (chosen === null) return;
    const saved = chosen.id ? await append(chosen.id, songs) : await make(chosen.name, songs);
    const what = songs.length === 1 ? `“${songs[0].title}”` : plural(songs.length, "song");
    notice(`Added ${what} to “${saved.name}”.`, {
      action: () => go(way("playlist", saved.id)),
      label: "Show",
    });
  } catch (error) {
    problem(error);
  }
}

// Resolves with {id} or {name}, or null if it was left.
function choose(playlists) {
  const field = nameField({ required: false });
  const isNew = () => list.querySelector(":checked").value === "";
  const present = playlists.map(({ id, name, count }) => option(id, name, plural(count, "song")));
  const options = [...present, option("", "A new playlist", null)];
  options[0].querySelector("input").checked = true;
  const name = named(field);
  const list = h("fieldset.choices", {}, h("legend.unseen", {}, "Playlist"), options);
  const show = () => {
    name.hidden = !isNew();
    field.required = isNew();
  };
  list.addEventListener("change", () => {
    show();
    if (isNew()) field.focus();
  });
  const answer = ask("Add to playlist", {
    body: [list, name],
    yes: "Add",
    read: (filled) => {
      const id = filled.elements.playlist.value;
      return id ? { id } : { name: field.value.trim() };
    },
  });
  show();
  if (isNew()) field.focus();
  return answer;
}

function option(value, name, detail) {
  return h(
    "label.choice",
    {},
    h("input", { type: "radio", name: "playlist", value }),
    value ? null : icon("plus"),
    h("span.cut", {}, name),
    detail && h("span.faint.small", {}, detail),
  );
}

async function append(id, songs) {
  const address = `/api/playlists/${encodeURIComponent(id)}`;
  const before = await call("GET", address);
  return call("PUT", address, { songs: [...before.songs, ...songs].map((song) => song.id) });
}

function make(name, songs) {
  return call("POST", "/api/playlists", { name, songs: songs.map((song) => song.id) });
}

// The list of what comes, kept as a playlist or as a file: just the songs that are shown.

import { call } from "../app/api.js";
import { h, icon } from "../app/dom.js";
import { openMenu } from "../app/menu.js";
import { ask, notice, problem } from "../app/notices.js";
import { go, way } from "../app/router.js";
import { nameField, named } from "../library/name_field.js";
import { radio } from "./radio.js";

export function keepList({ isAdmin }) {
  const button = h(
    "button.quiet.small",
    {
      type: "button",
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      onclick: () => openMenu(button, "Coming up", items(isAdmin)),
    },
    icon("playlist"),
    "Keep this list",
  );
  return button;
}

// The radio thinks again with every word, so a file is made of a list that stays.
function items(isAdmin) {
  return [
    { label: "Save as playlist", icon: "plus", run: () => save().then(say) },
    {
      label: "Save and export",
      icon: "download",
      run: () => save().then((it) => show(it, isAdmin)),
    },
  ];
}

// Resolves with the playlist that was made; null if it was not.
async function save() {
  const songs = radio.coming.map(({ song }) => song.id);
  try {
    const field = nameField();
    const name = await ask("Save as playlist", {
      body: [named(field)],
      read: () => field.value.trim(),
    });
    return name ? await call("POST", "/api/playlists", { name, songs }) : null;
  } catch (error) {
    problem(error);
    return null;
  }
}

function say(saved) {
  if (!saved) return;
  const action = () => go(way("playlist", saved.id));
  notice(`Saved as “${saved.name}”.`, { action, label: "Show" });
}

async function show(saved, isAdmin) {
  if (!saved) return;
  say(saved);
  const { showExports } = await import("../library/exports.js");
  showExports(saved, { isAdmin });
}

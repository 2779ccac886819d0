// A heart: whether a song is one of the listener's favourites.

import { call } from "../app/api.js";
import { h, icon } from "../app/dom.js";
import { notice, problem } from "../app/notices.js";
import { announce, hear } from "../app/tabs.js";
import { radio } from "./radio.js";

const CHANGED = "favourite"; // of the document: {id, isOn}, by a heart here or in another tab

// A button that follows the song that `songOf()` returns; `draw` is for when that is another one.
export function heartButton(songOf, { signal }) {
  const button = h(
    "button.quiet.round.heart",
    {
      type: "button",
      "aria-label": "Favourite",
      title: "Favourite",
      onclick: () => markFavourite(songOf()),
    },
    icon("heart"),
  );
  const draw = () => button.setAttribute("aria-pressed", String(songOf()?.favourite ?? false));
  const follow = ({ detail: { id, isOn } }) => {
    if (songOf()?.id === id) songOf().favourite = isOn;
    draw();
  };
  document.addEventListener(CHANGED, follow, { signal });
  draw();
  return { button, draw };
}

export function showFavourite(id, isOn) {
  document.dispatchEvent(new CustomEvent(CHANGED, { detail: { id, isOn } }));
}

hear(CHANGED, ({ id, isOn }) => showFavourite(id, isOn));

// Make a song a favourite, or none any more. The radio learns from it while the song plays.
export async function markFavourite(song) {
  const { id, title } = song;
  const isOn = !song.favourite;
  song.favourite = isOn;
  showFavourite(id, isOn);
  try {
    await call("PUT", "/api/favourites", { scope: "song", target: id, favourite: isOn });
    announce(CHANGED, { id, isOn });
    notice(`“${title}” is ${isOn ? "a favourite" : "no longer a favourite"}.`);
    radio.refresh();
  } catch (error) {
    song.favourite = !isOn;
    showFavourite(id, !isOn);
    problem(error);
  }
}

// The small player, at the foot of every other page.

import { fill, h, icon } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { songName } from "../app/words.js";
import { TINY, coverOf } from "./cover.js";
import { radio } from "./radio.js";
import { light, starButtons } from "./stars.js";
import { playButton } from "./transport.js";

let isDrawn = false;
let isHidden = true;

// Show it, or hide it where the whole player is.
export function mount(element, options) {
  isHidden = options.isHidden;
  if (!isDrawn) draw(element);
  isDrawn = true;
  element.hidden = isHidden || !radio.current;
}

function draw(element) {
  const { signal } = new AbortController(); // it stays as long as the page does
  const stars = starButtons({ onRate: (count) => radio.rate(count), isSmall: true });
  const song = link(way(""), { class: "bar-song" });
  const line = h("div.bar-line", { "aria-hidden": "true" });
  const next = h(
    "button.quiet.round",
    { type: "button", "aria-label": "Next", title: "Next (N)", onclick: () => radio.skip() },
    icon("next"),
  );
  fill(element, line, song, stars, h("div.bar-controls", {}, playButton(signal), next));
  const drawSong = () => {
    element.hidden = isHidden || !radio.current;
    if (radio.current) fill(song, songOf(radio.current.song));
  };
  radio.addEventListener("song", drawSong);
  radio.addEventListener("state", () => light(stars, radio.stars));
  radio.addEventListener("song", () => light(stars, radio.stars));
  radio.addEventListener("time", () => {
    line.style.setProperty("--done", radio.duration > 0 ? radio.position / radio.duration : 0);
  });
  drawSong();
}

function songOf(song) {
  return [
    coverOf(song, TINY),
    h(
      "span.bar-words",
      { title: songName(song) },
      h("strong.cut", {}, song.title),
      h("span.faint.small.cut", {}, song.artist ?? "Unknown artist"),
    ),
  ];
}

// One song in a list of songs.

import { h, icon } from "../app/dom.js";
import { menuButton } from "../app/menu.js";
import { link, way } from "../app/router.js";
import { clock } from "../app/words.js";
import { TINY, coverOf } from "../player/cover.js";
import { radio } from "../player/radio.js";
import { songItems } from "./song_menu.js";

// `number` stands before it, `aside` before its length; `actions` come last in its menu.
export function songRow(song, { number = null, aside = null, actions = [] } = {}) {
  const items = () => [...songItems(song), ...(actions.length ? [null, ...actions] : [])];
  const row = h(
    "li.song",
    { dataset: { song: song.id }, class: song.is_present ? "" : "gone" },
    number === null ? null : h("span.song-number.faint.number", {}, String(number)),
    cover(song),
    h(
      "div.song-words",
      {},
      link(way("song", song.id), { class: "song-title cut", title: song.title }, song.title),
      h("p.faint.small.cut", {}, detail(song)),
    ),
    h("span.song-album.faint.small.cut", { title: song.album ?? "" }, song.album ?? ""),
    aside,
    h("span.song-length.faint.small.number", {}, clock(song.duration)),
    menuButton(`More for “${song.title}”`, items),
  );
  markIfPlaying(row, radio.current?.song.id);
  return row;
}

function cover(song) {
  if (!song.is_present) return h("span.song-cover", {}, coverOf(song, TINY));
  return h(
    "button.song-cover",
    { type: "button", "aria-label": `Play “${song.title}”`, onclick: () => radio.playSong(song) },
    coverOf(song, TINY),
    icon("play"),
  );
}

// The album has a column of its own where there is room for it.
function detail(song) {
  const artist = song.artist ?? "Unknown artist";
  return [
    song.is_present ? null : h("span.gone-note", {}, "File is gone · "),
    artist,
    song.album ? h("span.song-album-inline", {}, ` · ${song.album}`) : null,
  ].filter(Boolean);
}

// Keep the mark at the song that plays, as long as the page is shown.
export function followPlaying(list, signal) {
  const mark = () => {
    for (const row of list.children) markIfPlaying(row, radio.current?.song.id);
  };
  radio.addEventListener("song", mark, { signal });
}

function markIfPlaying(row, playing) {
  const isIt = playing !== undefined && row.dataset.song === playing;
  if (isIt) row.setAttribute("aria-current", "true");
  else row.removeAttribute("aria-current");
}

// What can be done with a song, wherever it is shown.

import { way } from "../app/router.js";
import { MONTH_DAYS, radio } from "../player/radio.js";
import { artistWay } from "../player/song_links.js";
import { addToPlaylist } from "./add_to_playlist.js";

// The entries of a song's menu; a song whose file is gone cannot be played.
export function songItems(song, { isHere = false } = {}) {
  const playing = [
    { label: "Play now", icon: "play", run: () => radio.playSong(song) },
    { label: "Play next", icon: "next", run: () => radio.queueSong(song, { first: true }) },
    { label: "Add to queue", icon: "queue", run: () => radio.queueSong(song) },
    { label: "Start radio from here", icon: "radio", run: () => startFrom(song) },
  ];
  return [
    ...(song.is_present ? playing : []),
    { label: "Add to playlist…", icon: "playlist", run: () => addToPlaylist([song]) },
    null,
    ...(isHere ? [] : [{ label: "Go to song", icon: "note", href: way("song", song.id) }]),
    ...(song.artist ? [{ label: "Go to artist", icon: "people", href: artistWay(song) }] : []),
    null,
    { label: "Not for a month", icon: "snooze", run: () => snooze(song) },
    { label: "Never again", icon: "ban", run: () => ban(song) },
  ];
}

export function startFrom(song) {
  return radio.startFrom({ song: song.id, name: song.title });
}

function snooze(song) {
  if (isPlaying(song)) return radio.keepAway("snooze", "song", song);
  const event = { kind: "snooze", scope: "song", target: song.id, days: MONTH_DAYS };
  return radio.sendEvent(event, `“${song.title}” not for a month`);
}

function ban(song) {
  if (isPlaying(song)) return radio.keepAway("ban", "song", song);
  const event = { kind: "ban", scope: "song", target: song.id };
  return radio.sendEvent(event, `“${song.title}” never again`);
}

export const isPlaying = (song) => radio.current?.song.id === song.id;

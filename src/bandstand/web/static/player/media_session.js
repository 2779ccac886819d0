// What a lock screen, a headset or a keyboard's media keys show and do.

import { isGone } from "../app/network.js";
import { radio } from "./radio.js";

const JUMP = 10; // seconds

const ACTIONS = {
  play: () => radio.start(),
  pause: () => radio.pause(),
  stop: () => radio.pause(),
  nexttrack: () => radio.skip(),
  previoustrack: () => radio.back(),
  seekto: ({ seekTime }) => radio.seek(seekTime),
  seekbackward: ({ seekOffset }) => radio.seek(radio.position - (seekOffset || JUMP)),
  seekforward: ({ seekOffset }) => radio.seek(radio.position + (seekOffset || JUMP)),
};

// Let these keys play and pause what the study plays, and do nothing else; or, without arguments,
// give them back to the radio.
export function takeMediaKeys({ onPlay = null, onPause = null } = {}) {
  if (onPlay === null) return setActions(ACTIONS);
  const none = Object.fromEntries(Object.keys(ACTIONS).map((name) => [name, null]));
  setActions({ ...none, play: onPlay, pause: onPause, stop: onPause });
}

function setActions(actions) {
  for (const [name, run] of Object.entries(actions)) {
    try {
      navigator.mediaSession?.setActionHandler(name, run);
    } catch {
      // a browser that does not know this action has no button for it
    }
  }
}

export function followRadio() {
  const { mediaSession } = navigator;
  if (!mediaSession) return;
  takeMediaKeys();
  radio.addEventListener("song", () => {
    mediaSession.metadata = radio.current ? metadata(radio.current.song) : null;
  });
  radio.addEventListener("state", () => {
    mediaSession.playbackState = radio.current ? (radio.isPlaying ? "playing" : "paused") : "none";
  });
  radio.addEventListener("time", () => showPosition(mediaSession));
}

function metadata(song) {
  const artwork = [256, 512].map((size) => ({
    src: `${song.cover}?size=${size}`,
    sizes: `${size}x${size}`,
    type: "image/jpeg",
  }));
  const { title, artist, album } = song;
  return new MediaMetadata({
    title,
    artist: artist ?? "",
    album: album ?? "",
    artwork: song.cover && !isGone() ? artwork : [],
  });
}

function showPosition(mediaSession) {
  const { duration, position } = radio;
  if (!Number.isFinite(duration)) return;
  mediaSession.setPositionState?.({
    duration,
    position: Math.min(position, duration),
    playbackRate: 1,
  });
}

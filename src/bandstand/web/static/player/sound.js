// What is heard: two <audio> elements that take turns, so that the next song is there when its
// turn comes; volume, and loudness by ReplayGain.

import { isGone } from "../app/network.js";
import * as storage from "../app/storage.js";
import { Played } from "./played.js";

const FORWARDED = ["play", "pause", "playing", "canplay", "waiting", "durationchange", "ended"];
const TIMES = ["timeupdate", "seeked"];
// When it is looked how far a song has come, and when it has not come there by itself.
const MOVES = ["timeupdate", "playing", "pause", "seeked", "ended"];
const JUMPS = ["seeking", "emptied"];
const LOADING = ["progress", "suspend", "canplaythrough", "timeupdate"];
const ENOUGH = 30; // seconds ahead, before the next song is fetched too
const FULL = 1; // the loudest that an element can be

// ── Loudness: pure functions ────────────────────────────────────────────────────────────

// By what a song is multiplied to be as loud as others: 10^(gain/20), but never so much that its
// highest peak is cut off. A song without tags is left as it is. `mode`: "track", "album", "off".
export function loudness(replayGain, mode) {
  if (mode === "off" || !replayGain) return 1;
  const order = mode === "album" ? ["album", "track"] : ["track", "album"];
  const kind = order.find((one) => Number.isFinite(replayGain[`${one}_gain`]));
  if (kind === undefined) return 1;
  const factor = 10 ** (replayGain[`${kind}_gain`] / 20);
  const peak = replayGain[`${kind}_peak`];
  return peak > 0 ? Math.min(factor, 1 / peak) : factor;
}

// How loud half a slider is: ears hear in ratios, and a square comes close enough to that.
const audible = (volume) => volume ** 2;

// The volume of an element, from 0 to 1. Web Audio could go above 1, but a phone stops it behind
// a locked screen and lets it begin only after a touch; an element plays on.
export function elementVolume(volume, replayGain, mode) {
  return Math.min(Math.max(audible(volume) * loudness(replayGain, mode), 0), FULL);
}

// ── The elements ────────────────────────────────────────────────────────────────────────

// Events: those of FORWARDED, "time", "refused" (a browser wants a first click), "error" (of the
// song that plays: detail has it and the time it was at) and "unready" (of the one prepared).
class Sound extends EventTarget {
  #active = element("playing");
  #other = element("next");
  #songs = new Map(); // element → song
  #played = new Played(); // of the song that plays
  #unlocked = new Set(); // elements that a browser has let play
  #wanted = null; // the song to prepare
  isHeld = false; // paused by the listener; an element that has failed is paused too
  #volume = bounded(storage.get("volume", 1));
  #isMuted = storage.get("muted", false) === true;

  constructor() {
    super();
    for (const one of [this.#active, this.#other]) {
      for (const name of FORWARDED) one.addEventListener(name, () => this.#forward(one, name));
      for (const name of TIMES) one.addEventListener(name, () => this.#forward(one, "time"));
      for (const name of LOADING) one.addEventListener(name, () => this.#prepareIfEnough());
      for (const name of MOVES) one.addEventListener(name, () => this.#look(one));
      for (const name of JUMPS) one.addEventListener(name, () => this.#jump(one));
      one.addEventListener("playing", () => this.#unlocked.add(one));
      one.addEventListener("error", () => this.#fail(one));
    }
  }

  // Play a song now, from the element that holds it already if there is one. `played`: how many
  // seconds of it were played before, if it is the same play that goes on.
  play(song, { from = 0, played = 0, isPaused = false } = {}) {
    const isPrepared = this.#songs.get(this.#other)?.id === song.id && !this.#other.error;
    if (isPrepared) this.#swap();
    else this.#load(this.#active, song);
    if (from > 0 || isPrepared) this.#active.currentTime = from;
    this.#played.begin(played);
    this.#wanted = null;
    this.#level();
    if (isPaused) this.pause();
    else this.start();
  }

  start() {
    const one = this.#active;
    this.isHeld = false;
    one.play().catch((problem) => {
      if (problem.name !== "NotAllowedError" || one !== this.#active) return;
      if (this.#unlocked.has(this.#other)) this.#moveToUnlocked();
      else this.dispatchEvent(new Event("refused"));
    });
  }

  pause() {
    this.isHeld = true;
    this.#active.pause();
  }

  stop() {
    this.#wanted = null;
    this.#played.begin();
    this.#unload(this.#active);
    this.#unload(this.#other);
  }

  // Fetch a song that is likely to come next, once the one that plays has enough of its own.
  // Returns whether that is so already.
  prepare(song) {
    this.#wanted = song;
    this.#prepareIfEnough();
    return this.#wanted === null;
  }

  // Whether a song can begin without the server.
  holds(song) {
    const isThere = this.#songs.get(this.#other)?.id === song.id;
    return isThere && this.#other.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA;
  }

  seek(seconds) {
    const end = Number.isFinite(this.duration) ? this.duration : seconds;
    this.#look(this.#active);
    this.#active.currentTime = Math.min(Math.max(seconds, 0), end);
  }

  get isPaused() {
    return this.#active.paused;
  }

  get isReady() {
    return this.#active.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA;
  }

  // Whether anything of the song has come.
  get isBegun() {
    return this.#active.readyState > HTMLMediaElement.HAVE_NOTHING;
  }

  // What changes as long as the song comes on, or more of it is fetched.
  get progress() {
    const { currentTime, readyState, buffered } = this.#active;
    const end = buffered.length ? buffered.end(buffered.length - 1) : 0;
    return [this.#active.dataset.song, currentTime, readyState, buffered.length, end].join(" ");
  }

  get isOver() {
    return this.#active.ended;
  }

  get time() {
    return this.#active.currentTime;
  }

  // The seconds of it that were played; they never become fewer.
  get played() {
    this.#look(this.#active);
    return this.#played.seconds;
  }

  // In seconds: as the file says, else as the library says.
  get duration() {
    const { duration } = this.#active;
    if (Number.isFinite(duration) && duration > 0) return duration;
    return this.#songs.get(this.#active)?.duration ?? Number.NaN;
  }

  get volume() {
    return this.#volume;
  }

  set volume(value) {
    this.#volume = bounded(value);
    this.#isMuted = false;
    this.#rememberLevel();
  }

  get isMuted() {
    return this.#isMuted;
  }

  set isMuted(value) {
    this.#isMuted = value;
    this.#rememberLevel();
  }

  // After the preference "loudness" was changed.
  refreshLoudness() {
    this.#level();
  }

  #rememberLevel() {
    storage.set("volume", this.#volume);
    storage.set("muted", this.#isMuted);
    this.#level();
    this.dispatchEvent(new Event("volume"));
  }

  #level() {
    const mode = storage.get("loudness", "track");
    for (const one of [this.#active, this.#other]) {
      one.volume = elementVolume(this.#volume, this.#songs.get(one)?.replay_gain, mode);
      one.muted = this.#isMuted;
    }
  }

  #load(one, song) {
    this.#songs.set(one, song);
    one.src = song.audio;
    one.dataset.song = song.id;
    this.#level();
  }

  // An element without a source asks the server for nothing more.
  #unload(one) {
    one.pause();
    if (!this.#songs.delete(one)) return;
    one.removeAttribute("src");
    delete one.dataset.song;
    one.load();
  }

  #swap() {
    [this.#active, this.#other] = [this.#other, this.#active];
    this.#played.jump();
    this.#active.dataset.role = "playing";
    this.#other.dataset.role = "next";
    this.#unload(this.#other);
  }

  // Phones let each element play only after a touch, unless it has played before.
  #moveToUnlocked() {
    const song = this.#songs.get(this.#active);
    const from = this.#active.currentTime;
    this.#look(this.#active);
    this.#swap();
    this.#load(this.#active, song);
    if (from > 0) this.#active.currentTime = from;
    this.start();
  }

  #prepareIfEnough() {
    const song = this.#wanted;
    if (!song || isGone() || !this.#hasEnough()) return;
    this.#wanted = null;
    if (this.#songs.get(this.#other)?.id !== song.id) this.#load(this.#other, song);
  }

  #hasEnough() {
    const { buffered, currentTime, readyState, networkState } = this.#active;
    if (readyState < HTMLMediaElement.HAVE_FUTURE_DATA) return false;
    if (networkState === HTMLMediaElement.NETWORK_IDLE) return true;
    for (let i = 0; i < buffered.length; i += 1) {
      const isHere = buffered.start(i) <= currentTime + 1 && currentTime <= buffered.end(i);
      const end = Math.min(currentTime + ENOUGH, this.duration - 1);
      if (isHere && buffered.end(i) >= end) return true;
    }
    return false;
  }

  #look(one) {
    if (one === this.#active) this.#played.look(one);
  }

  #jump(one) {
    if (one === this.#active) this.#played.jump();
  }

  #forward(one, name) {
    if (one === this.#active) this.dispatchEvent(new Event(name));
  }

  #fail(one) {
    const song = this.#songs.get(one);
    if (!song) return;
    const name = one === this.#active ? "error" : "unready";
    const detail = { song, time: one.currentTime };
    if (name === "unready") this.#unload(one);
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

function element(role) {
  const audio = document.createElement("audio");
  audio.preload = "auto";
  audio.dataset.role = role;
  document.body.append(audio);
  return audio;
}

const bounded = (value) => (Number.isFinite(value) ? Math.min(Math.max(value, 0), 1) : 1);

export const sound = new Sound();

// Playback from song to song: what plays, what is up next, and recovery from failures.

import { Refused, pause } from "../app/api.js";
import { isGone } from "../app/network.js";
import { problem } from "../app/notices.js";
import { nameWindow } from "../app/shell.js";
import { songName } from "../app/words.js";
import { UpNext } from "./up_next.js";
import { connection } from "./connection.js";
import { keepCovers } from "./cover.js";
import { waitForSongs } from "./wait_for_songs.js";
import { Repairs } from "./repairs.js";
import { sound } from "./sound.js";
import { watchForStalls } from "./stall_watch.js";

const PATIENCE = 1_500; // milliseconds until music does not wait for an answer any more
const SETTLED = 3_000; // milliseconds until the next song is taken to be the next song
const CALM = 400; // milliseconds without a change, before the longer list is asked for
const TRY_AGAIN = 5_000;
const LONG_PAUSE = 600_000; // then what was to come may be so no longer
const MOST_PAST = 50;
const READING = "Getting this song ready …";
const WAITING = "Waiting for the server …";
const EMPTY = "There is no music at the moment.";
export const NOTHING = "Nothing can be played: every song is banned or snoozed.";

export class Playback extends EventTarget {
  phase = "off"; // "waiting" for songs, then "on"
  current = null; // the offer that plays
  stars = 0; // what it was given
  note = ""; // what there is to say about it
  needsPress = false; // the browser wants a first click before there is sound

  upNext = new UpNext();
  past = []; // the offers before it
  turn = 0; // the number of the latest change of song; older answers are dropped
  isLeaving = false; // the song is over or left, and the next one is not there yet
  staysPaused = false; // the next one is not to begin by itself
  isLooking = false; // what comes is being thought over
  hasNothing = false; // nothing may be played after this song
  #look = new AbortController(); // of the questions for what comes
  #queueWatchers = 0;
  #pausedAt = null;
  #repairs = new Repairs({
    onResume: (song, from) => {
      if (this.current?.song.id !== song.id) return;
      sound.play(song, { from, played: sound.played, isPaused: sound.isHeld });
    },
    onGiveUp: (song) => this.#giveUp(song),
  });

  constructor() {
    super();
    sound.addEventListener("ended", () => this.isLeaving || this.end());
    sound.addEventListener("error", ({ detail }) => this.current && this.#repairs.repair(detail));
    sound.addEventListener("unready", ({ detail }) => this.#repairs.replace(detail));
    sound.addEventListener("refused", () => this.#askForPress());
    sound.addEventListener("playing", () => this.#hasSound());
    sound.addEventListener("canplay", () => this.note === READING && this.say(""));
    sound.addEventListener("time", () => this.emit("time"));
    sound.addEventListener("durationchange", () => this.emit("time"));
    sound.addEventListener("pause", () => this.#hasPaused());
    sound.addEventListener("play", () => this.#hasBegun());
    connection.addEventListener("back", () => this.phase === "on" && this.lookAhead());
    watchForStalls({ isDue: () => this.#isDue(), onStall: () => this.#repairStalled() });
  }

  emit(name) {
    this.dispatchEvent(new Event(name));
  }

  say(text) {
    if (this.note === text) return;
    this.note = text;
    this.emit("state");
  }

  eject() {
    this.turn += 1;
    this.stopLooking();
    this.#repairs.stop();
    sound.stop();
    this.upNext.clear();
    Object.assign(this, {
      current: null,
      stars: 0,
      note: "",
      needsPress: false,
      past: [],
      isLeaving: false,
      staysPaused: false,
      hasNothing: false,
    });
    nameWindow({ song: "" });
  }

  // ── What plays ──

  play(offer, { from = 0, played = 0, isBack = false, isPaused = this.staysPaused } = {}) {
    const turn = ++this.turn;
    Object.assign(this, { isLeaving: false, staysPaused: false, hasNothing: false });
    this.#repairs.stop();
    if (this.current && !isBack) this.past = [...this.past, this.current].slice(-MOST_PAST);
    Object.assign(this, { current: offer, stars: this.starsOf(offer.song), note: "" });
    if (this.upNext.chosen?.song.id === offer.song.id) this.upNext.takeChosen();
    sound.play(offer.song, { from, played, isPaused });
    nameWindow({ song: songName(offer.song) });
    for (const name of ["song", "upcoming", "queue"]) this.emit(name);
    this.#sayIfSlow(turn);
    this.lookAhead();
  }

  // Play what comes next, chosen after the event that is being sent; but music does not wait long.
  async goOn(sending = null, { isPaused = false } = {}) {
    const turn = ++this.turn;
    Object.assign(this, { isLeaving: true, staysPaused: isPaused });
    this.stopLooking();
    this.#repairs.stop();
    sound.pause();
    if (!this.upNext.pinned.length) {
      const offer = await this.#askInTime(sending);
      if (turn !== this.turn) return;
      if (offer) return this.play(offer);
    }
    if (this.#canTake()) return this.play(this.upNext.take());
    if (this.hasNothing) await this.#waitForSongs(() => turn === this.turn);
    else await this.#waitForServer();
    if (turn === this.turn) this.goOn(null, { isPaused: this.staysPaused });
  }

  #waitForServer() {
    this.say(WAITING);
    return connection.isAway ? connection.back() : pause(TRY_AGAIN);
  }

  // All songs are gone, and come back; or the rules leave none of them, which `lookAhead` hears of
  // when they change, and else the clock.
  async #waitForSongs(isWanted) {
    await waitForSongs({ isWanted, onWait: () => this.say(EMPTY) }).catch(problem);
    if (!isWanted() || this.note === EMPTY) return;
    this.say(NOTHING);
    await pause(LONG_PAUSE);
  }

  // The song has come to its end: what was prepared plays at once.
  goOnAtOnce() {
    if (this.#canTake()) this.play(this.upNext.take());
    else this.goOn();
  }

  // Overridden by who knows what the end of a song means, and what a song was given.
  end() {
    this.goOnAtOnce();
  }

  starsOf() {
    return 0;
  }

  // While the network is gone, only what is here already can be played.
  #canTake() {
    const offer = this.upNext.upcoming;
    return offer !== null && (!(isGone() || connection.isAway) || sound.holds(offer.song));
  }

  async #askInTime(sending) {
    if (isGone()) {
      connection.lose();
      return null;
    }
    const ask = async () => {
      await sending;
      return this.#ask([]);
    };
    const asking = ask().catch((error) => this.#complain(error));
    return Promise.race([asking, pause(this.upNext.upcoming ? PATIENCE : 4 * PATIENCE)]);
  }

  // Some files are converted before they can be played, which takes seconds.
  async #sayIfSlow(turn) {
    await pause(PATIENCE);
    if (turn === this.turn && !sound.isReady && !this.needsPress) this.say(READING);
  }

  #giveUp(song) {
    this.upNext.passOver(song);
    if (this.current?.song.id === song.id) this.goOn(null, { isPaused: sound.isHeld });
    else this.lookAhead();
  }

  #isDue() {
    const isMeantToPlay = this.current && !this.isLeaving && !sound.isPaused && !this.needsPress;
    return isMeantToPlay && !this.#repairs.isBusy && !isGone() && !connection.isAway;
  }

  #repairStalled() {
    this.#repairs.repair({ song: this.current.song, time: sound.time, isStalled: true });
  }

  // A song that was left as it began may say so late: what is waited for still is.
  #hasSound() {
    if (this.isLeaving) return;
    this.#repairs.succeed();
    if (this.needsPress) this.lookAhead(); // nothing was prepared
    Object.assign(this, { note: "", needsPress: false });
    this.emit("state");
  }

  #hasBegun() {
    if (this.#pausedAt !== null && Date.now() - this.#pausedAt > LONG_PAUSE) this.lookAhead();
    this.#pausedAt = null;
    this.emit("state");
  }

  #hasPaused() {
    this.#pausedAt = Date.now();
    this.emit("state");
  }

  #askForPress() {
    this.needsPress = true;
    this.emit("state");
  }

  // ── What comes ──

  get upcoming() {
    return this.upNext.upcoming;
  }

  get coming() {
    return this.upNext.coming;
  }

  heard() {
    return this.current ? [this.current.song.id] : [];
  }

  // The longer list is only asked for while it is shown.
  watchQueue(signal) {
    this.#queueWatchers += 1;
    signal.addEventListener("abort", () => (this.#queueWatchers -= 1), { once: true });
    if (this.current) this.#lookFurther();
  }

  // Ask what would be played after this song as things stand.
  async lookAhead() {
    if (this.phase !== "on" || this.isLeaving) return this.#askAgain();
    this.#look.abort();
    this.#look = new AbortController();
    const { signal } = this.#look;
    this.noteLooking(true);
    try {
      const offer = await this.#ask(this.heard(), { signal });
      if (signal.aborted) return;
      this.hasNothing = false;
      this.upNext.choose(offer);
    } catch (error) {
      if (signal.aborted) return;
      this.noteLooking(false);
      return this.#complain(error);
    }
    this.emit("upcoming");
    this.emit("queue");
    this.#prepare(signal);
    this.#lookFurther();
  }

  // The next song is being asked for already; unless there was none, which may be so no longer.
  #askAgain() {
    this.noteLooking(false);
    if (this.phase === "on" && this.hasNothing) this.goOn(null, { isPaused: this.staysPaused });
  }

  // Where nothing is left of what was asked for, the radio goes on from anywhere.
  async #ask(heard, options) {
    try {
      return await this.upNext.ask(heard, options);
    } catch (error) {
      const { station, years } = this.upNext;
      if (error.status !== 404 || !(station || years)) throw error;
      this.upNext.widen();
      this.emit("state");
      problem(error);
      return this.upNext.ask(heard, options);
    }
  }

  // To ask for the head of a song has it converted, where that must be, before its turn comes.
  async #prepare(signal) {
    await pause(CALM);
    if (signal.aborted || !this.upcoming || isGone()) return;
    keepCovers(this.upcoming.song);
    await pause(SETTLED);
    if (signal.aborted || !this.upcoming || this.needsPress || isGone()) return;
    const { song } = this.upcoming;
    if (!sound.prepare(song)) fetch(song.audio, { method: "HEAD" }).catch(() => {});
  }

  async #lookFurther() {
    const { signal } = this.#look;
    await pause(CALM);
    if (signal.aborted) return;
    if (!this.#queueWatchers || !this.upNext.chosen) return this.noteLooking(false);
    try {
      const later = await this.upNext.askLater(this.heard(), { signal });
      if (signal.aborted) return;
      this.upNext.later = later;
      this.emit("queue");
    } catch (error) {
      if (signal.aborted) return;
      this.#complain(error);
    }
    this.noteLooking(false);
  }

  // The list is shown as busy while it may be out of date.
  noteLooking(isLooking) {
    if (this.isLooking === isLooking) return;
    this.isLooking = isLooking;
    this.emit("looking");
  }

  // Whatever is being asked is not wanted any more.
  stopLooking() {
    this.#look.abort();
    this.noteLooking(false);
  }

  #complain(error) {
    if (error.name === "AbortError") return;
    this.hasNothing = error.status === 404;
    if (this.hasNothing) this.#noteNothing();
    else if (error instanceof Refused) problem(error);
    else connection.lose();
  }

  // The list shows it; it is no error.
  #noteNothing() {
    Object.assign(this.upNext, { chosen: null, later: [] });
    for (const name of ["upcoming", "queue"]) this.emit(name);
  }
}

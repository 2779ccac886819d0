// The radio: what plays, what is up next, and the listener's events. Every page may use it.
//
// Events: "song" (another one plays), "upcoming" (another one is next), "queue" (the coming
// playlist has changed), "looking" (it is being thought over, or no longer), "state" (playing,
// paused, rated, a word to say), "time".

import { Refused, call } from "../app/api.js";
import { notice, problem } from "../app/notices.js";
import * as storage from "../app/storage.js";
import { announce, hear } from "../app/tabs.js";
import { stars as starWords } from "../app/words.js";
import { connection } from "./connection.js";
import { waitForSongs } from "./wait_for_songs.js";
import * as memory from "./memory.js";
import { sound } from "./sound.js";
import { SentEvents } from "./sent_events.js";
import { Wishes } from "./wishes.js";

// A song that is left in its last seconds, or the last tenth of a short one, counts as heard if half
// of it was played: docs/listening.md.
const LAST_SECONDS = 10;
const LAST_SHARE = 0.1;
const HALF = 0.5;
const BEGINNING = 3; // seconds in which "back" means the song before
export const MONTH_DAYS = 30;

class Radio extends Wishes {
  library = null; // what the server says of it while there are no songs
  settings = null;
  #account = null;
  #sent = new SentEvents();
  #dial = null; // where it is being turned to
  #saidTurn = 0; // the change of song after which it was said what plays
  #unsayOther = () => {}; // takes away that another tab plays

  constructor() {
    super();
    sound.addEventListener("play", () => this.#takeOver());
    this.addEventListener("queue", () => this.remember());
    window.addEventListener("pagehide", () => this.remember());
    document.addEventListener("visibilitychange", () => this.remember()); // it may be put to sleep
    hear("playing", () => this.#giveWay());
    hear("event", (event) => this.#hearEvent(event));
  }

  // ── Coming and going ──

  async begin({ person, settings }) {
    const visit = memory.recall(person.id);
    this.stop();
    this.#account = person.id;
    this.settings = settings;
    this.#setPhase("waiting");
    connection.watch();
    const { turn } = this;
    const isWanted = () => turn === this.turn;
    await waitForSongs({ isWanted, onWait: (library) => this.#wait(library) }).catch(problem);
    if (!isWanted()) return;
    this.library = null;
    this.#setPhase("on");
    const { current, time, played, isPaused, rating, pinned, station, years } = visit;
    const wish = { station: station ?? null, years: years ?? null };
    Object.assign(this.upNext, { pinned: pinned ?? [], ...wish });
    if (current && rating) this.#sent.noteElsewhere(current.song.id, rating);
    const from = time ?? 0;
    if (current) this.play(current, { from, played: played ?? 0, isPaused: isPaused === true });
    else await this.goOn();
  }

  stop() {
    memory.forget();
    this.#setPhase("off");
    this.#unsayOther();
    connection.unwatch();
    this.eject();
    this.#sent.clear();
    this.library = null;
    this.emit("song");
  }

  // Be off the air for a while, without a sound; `begin` goes on with the same song, paused.
  rest() {
    if (this.phase === "off") return;
    this.remember();
    const visit = memory.recall(this.#account);
    this.stop();
    memory.remember(this.#account, { ...visit, isPaused: true });
  }

  #wait(library) {
    this.library = library;
    this.emit("state");
  }

  #setPhase(phase) {
    this.phase = phase;
    this.emit("state");
  }

  remember() {
    if (this.phase !== "on" || !this.current) return;
    const { pinned, station, years } = this.upNext;
    memory.remember(this.#account, { ...this.#playing(), pinned, station, years });
  }

  // What a reload goes on with. A song that was left does not come back.
  #playing() {
    if (this.isLeaving) return {};
    const { current } = this;
    const { time, played } = sound;
    const isPaused = sound.isPaused && !this.needsPress;
    return { current, time, played, isPaused, rating: this.#sent.ratingOf(current.song) };
  }

  // Ask again what comes next: settings, the library or the log have changed.
  async refresh() {
    if (this.phase !== "on") return;
    try {
      this.settings = await call("GET", "/api/settings");
      sound.refreshLoudness();
      this.emit("state");
    } catch (error) {
      if (error instanceof Refused) problem(error);
      else connection.lose();
    }
    await this.lookAhead();
  }

  // ── What is ──

  get isPlaying() {
    return this.current !== null && !sound.isPaused;
  }

  get position() {
    return this.current ? sound.time : 0;
  }

  get duration() {
    return this.current ? sound.duration : Number.NaN;
  }

  // What "undo" would take back, in words; "" if there is nothing.
  get undoable() {
    return this.#sent.latest;
  }

  // ── Events ──

  // Send an event to the log, with a toast that can undo it. Resolves with the log's answer.
  async sendEvent(event, words, { isQuiet = false } = {}) {
    const onUndo = (entry) => this.undo(entry);
    const isPrivate = this.settings?.private ?? false;
    const answer = await this.#sent.send(event, words, { isQuiet, isPrivate, onUndo });
    if (answer) announce("event", { song: event.song, stars: event.stars });
    else this.#showStars();
    if (!isQuiet) await this.lookAhead();
    return answer;
  }

  // Until the log has it, the next song is asked for as if this one had been heard.
  async #sendAndLeave(event, words, options) {
    const { song } = this.current;
    this.upNext.noteHeard(song);
    const answer = await this.sendEvent(event, words, options);
    if (answer?.stored) this.upNext.noteLogged(song);
  }

  #showStars() {
    if (!this.current) return;
    this.stars = this.#sent.starsOf(this.current.song);
    this.emit("state");
  }

  starsOf(song) {
    return this.#sent.starsOf(song);
  }

  // How the song that plays is left now.
  #leaving() {
    const { song } = this.current;
    const { played, duration: length } = sound;
    const end = length - Math.min(LAST_SECONDS, LAST_SHARE * length);
    const isHeard = (sound.isOver || sound.time >= end) && !(played < HALF * length);
    const event = { kind: isHeard ? "listen" : "skip", song: song.id, played_seconds: played };
    return [event, `“${song.title}” was ${isHeard ? "heard" : "skipped"}`];
  }

  end() {
    if (!this.current) return;
    this.#sendAndLeave(...this.#leaving(), { isQuiet: true });
    this.goOnAtOnce();
  }

  // ── What a listener does ──

  // Where a song was left and nothing may follow, it is still there to be rated.
  async rate(stars) {
    if (!this.current || (this.isLeaving && !this.hasNothing)) return;
    const { song } = this.current;
    const event = { kind: "rating", song: song.id, stars, played_seconds: sound.played };
    const words = `${starWords(stars)} for “${song.title}”`;
    this.stars = stars;
    this.emit("state");
    const advance = storage.get("advance", "never");
    if (!this.isLeaving && (advance === "always" || (advance === "low" && stars <= 2)))
      await this.#leaveBy(event, words);
    else await this.sendEvent(event, words);
  }

  async skip() {
    if (this.isLeaving && this.hasNothing) await this.goOn();
    else if (this.current && !this.isLeaving) await this.#leaveBy(...this.#leaving());
  }

  async #leaveBy(event, words) {
    this.isLeaving = true;
    await this.goOn(this.#sendAndLeave(event, words));
  }

  back() {
    if (!this.current) return;
    if (sound.time >= BEGINNING || !this.past.length) return this.seek(0);
    this.upNext.pinned.unshift(this.current.song);
    this.play(this.past.pop(), { isBack: true });
  }

  togglePlay() {
    if (sound.isPaused) this.start();
    else this.pause();
  }

  start() {
    this.staysPaused = false;
    if (this.current && !this.isLeaving) sound.start();
  }

  pause() {
    sound.pause();
  }

  seek(seconds) {
    if (!this.current) return;
    sound.seek(seconds);
    this.emit("time");
  }

  // "ban", or "snooze" for a month: the song, or the artist, album or genre it belongs to.
  // `song` is what was shown when that was chosen; another one may play by now.
  async keepAway(kind, scope, song) {
    if (this.isLeaving) return;
    const [target, name] = scope === "song" ? [song.id, song.title] : [song[scope], song[scope]];
    const isBan = kind === "ban";
    const event = { kind, scope, target, ...(isBan ? {} : { days: MONTH_DAYS }) };
    const words = `“${name}” ${isBan ? "never again" : "not for a month"}`;
    const isMeant = (one) => (scope === "song" ? one.id : one[scope]) === target;
    this.upNext.dropAll(isMeant);
    this.emit("queue");
    if (this.current && isMeant(this.current.song)) await this.#leaveBy(event, words);
    else await this.sendEvent(event, words);
  }

  async undo(entry) {
    const undone = this.#sent.undo(entry);
    if (!undone) return;
    this.#showStars();
    if (await undone.done) announce("event", { song: undone.entry.event.song, stars: this.stars });
    await this.lookAhead();
  }

  // An event of the log was taken back elsewhere.
  async forgetEvent(seq) {
    await this.#sent.forget(seq);
    this.#showStars();
  }

  // One change at a time, so that the latest is what stays.
  async setDial(dial) {
    const isTurning = this.#dial !== null;
    this.#dial = dial;
    if (isTurning) return;
    this.noteLooking(true);
    try {
      do this.settings = await call("PATCH", "/api/settings", { dial: (dial = this.#dial) });
      while (dial !== this.#dial);
    } catch (error) {
      problem(error);
    }
    this.#dial = null;
    await this.lookAhead();
    this.emit("state");
  }

  // ── Other tabs ──

  #takeOver() {
    this.#unsayOther();
    announce("playing");
    this.#sayPlaying();
  }

  // Once for each song: servers that get the plays may show what plays now.
  #sayPlaying() {
    if (!this.current || this.#saidTurn === this.turn || this.settings?.private) return;
    this.#saidTurn = this.turn;
    call("POST", "/api/playing", { song: this.current.song.id }).catch(() => {});
  }

  // Music comes from one place: where it began last.
  #giveWay() {
    const isAboutTo = this.current && this.isLeaving && !this.hasNothing;
    if (sound.isPaused && !isAboutTo) return;
    this.staysPaused = isAboutTo;
    sound.pause();
    this.#unsayOther();
    // Off the air it is a song of the study that has to give way.
    const action = () => (this.phase === "off" ? sound.start() : this.start());
    this.#unsayOther = notice("Playing in another tab.", {
      action,
      label: "Play here",
      lasts: true,
    });
  }

  #hearEvent({ song, stars }) {
    if (this.phase !== "on") return;
    if (song && stars !== undefined) this.#sent.noteElsewhere(song, { stars });
    if (song && stars !== undefined && this.current?.song.id === song) {
      this.stars = stars;
      this.emit("state");
    }
    this.lookAhead();
  }
}

export const radio = new Radio();

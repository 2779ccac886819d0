// The radio: what plays, what comes, what was told. Every page may listen to it and use it.
//
// Events: "song" (another one plays), "upcoming" (another one is next), "queue" (the coming
// playlist has changed), "state" (playing, paused, rated, a word to say), "time".

import { Refused, call } from "../app/api.js";
import { notice, problem } from "../app/notices.js";
import * as preferences from "../app/preferences.js";
import { announce, hear } from "../app/tabs.js";
import { stars as starWords } from "../app/words.js";
import { connection } from "./connection.js";
import { songsThere } from "./library.js";
import * as memory from "./memory.js";
import { sound } from "./sound.js";
import { Told } from "./telling.js";
import { Wishes } from "./wishes.js";

// Whoever leaves in the last seconds, or the last tenth of something short, has heard it.
const LAST_SECONDS = 10;
const LAST_SHARE = 0.1;
const BEGINNING = 3; // seconds in which "back" means the song before
const MONTH_DAYS = 30;

class Radio extends Wishes {
  library = null; // what the server says of it while there are no songs
  settings = null;
  #account = null;
  #told = new Told();
  #unsayOther = () => {}; // takes away that another tab plays

  constructor() {
    super();
    sound.addEventListener("play", () => this.#takeOver());
    this.addEventListener("queue", () => this.remember());
    window.addEventListener("pagehide", () => this.remember());
    hear("playing", () => this.#giveWay());
    hear("told", (told) => this.#hearTold(told));
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
    await songsThere({ isWanted, onWait: (library) => this.#wait(library) }).catch(problem);
    if (!isWanted()) return;
    this.library = null;
    this.#setPhase("on");
    const { current = null, time = 0, pinned = [], station = null } = visit;
    Object.assign(this.ahead, { pinned, station });
    if (current) this.play(current, { from: time });
    else await this.goOn();
  }

  stop() {
    memory.forget();
    this.#setPhase("off");
    this.#unsayOther();
    connection.unwatch();
    this.eject();
    this.#told.clear();
    this.library = null;
    this.emit("song");
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
    const { pinned, station } = this.ahead;
    memory.remember(this.#account, { current: this.current, time: sound.time, pinned, station });
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
    return this.#told.latest;
  }

  // ── Telling ──

  // Tell the log something, with a toast that can take it back. Resolves with its answer.
  tellUndoably(event, words) {
    return this.#tell(event, words);
  }

  async #tell(event, words, { isQuiet = false } = {}) {
    const onUndo = (entry) => this.undo(entry);
    const answer = await this.#told.tell(event, words, { isQuiet, onUndo });
    if (answer) announce("told", { song: event.song, stars: event.stars });
    else this.#showStars();
    if (!isQuiet) await this.lookAhead();
    return answer;
  }

  // Until the log has it, the next song is asked for as if this one had been heard.
  async #tellAndLeave(event, words, options) {
    const { song } = this.current;
    this.ahead.noteHeard(song);
    const answer = await this.#tell(event, words, options);
    if (answer?.stored) this.ahead.noteLogged(song);
  }

  #showStars() {
    if (!this.current) return;
    this.stars = this.#told.starsOf(this.current.song);
    this.emit("state");
  }

  // How the song that plays is left now.
  #leaving() {
    const { song } = this.current;
    const [played, length] = [sound.time, sound.duration];
    const isOver = played > 0 && played >= length - Math.min(LAST_SECONDS, LAST_SHARE * length);
    const event = { kind: isOver ? "listen" : "skip", song: song.id, played_seconds: played };
    return [event, `“${song.title}” was ${isOver ? "heard" : "skipped"}`];
  }

  end() {
    if (!this.current) return;
    this.#tellAndLeave(...this.#leaving(), { isQuiet: true });
    this.goOnAtOnce();
  }

  // ── What a listener does ──

  async rate(stars) {
    if (!this.current || this.isLeaving) return;
    const { song } = this.current;
    const event = { kind: "rating", song: song.id, stars, played_seconds: sound.time };
    const words = `${starWords(stars)} for “${song.title}”`;
    this.stars = stars;
    this.emit("state");
    const advance = preferences.get("advance", "never");
    if (advance === "always" || (advance === "low" && stars <= 2))
      await this.#leaveBy(event, words);
    else await this.#tell(event, words);
  }

  async skip() {
    if (this.current && !this.isLeaving) await this.#leaveBy(...this.#leaving());
  }

  async #leaveBy(event, words) {
    this.isLeaving = true;
    await this.goOn(this.#tellAndLeave(event, words));
  }

  back() {
    if (!this.current) return;
    if (sound.time >= BEGINNING || !this.past.length) return this.seek(0);
    this.ahead.pinned.unshift(this.current.song);
    this.play(this.past.pop(), { isBack: true });
  }

  togglePlay() {
    if (sound.isPaused) this.start();
    else this.pause();
  }

  start() {
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

  // "ban", or "snooze" for some days: the song, or the artist, album or genre it belongs to.
  async keepAway(kind, scope = "song", days = MONTH_DAYS) {
    if (!this.current || this.isLeaving) return;
    const { song } = this.current;
    const target = scope === "song" ? song.id : song[scope];
    const name = scope === "song" ? song.title : target;
    const event = kind === "snooze" ? { kind, scope, target, days } : { kind, scope, target };
    const length = days === MONTH_DAYS ? "a month" : `${days} days`;
    const words = kind === "ban" ? `“${name}” never again` : `“${name}” not for ${length}`;
    this.ahead.dropAll((one) => (scope === "song" ? one.id : one[scope]) === target);
    await this.#leaveBy(event, words);
  }

  async undo(entry) {
    const undone = this.#told.undo(entry);
    if (!undone) return;
    this.#showStars();
    if (await undone.done) announce("told", { song: undone.entry.event.song, stars: this.stars });
    await this.lookAhead();
  }

  // An event of the log was taken back elsewhere.
  async forgetTold(seq) {
    await this.#told.forget(seq);
    this.#showStars();
  }

  async setDial(dial) {
    try {
      this.settings = await call("PATCH", "/api/settings", { dial });
      await this.lookAhead();
    } catch (error) {
      problem(error);
    }
    this.emit("state");
  }

  // ── Other tabs ──

  #takeOver() {
    this.#unsayOther();
    announce("playing");
  }

  // Music comes from one place: where it began last.
  #giveWay() {
    if (sound.isPaused) return;
    sound.pause();
    this.#unsayOther();
    const action = () => this.start();
    this.#unsayOther = notice("Playing in another tab.", {
      action,
      label: "Play here",
      lasts: true,
    });
  }

  #hearTold({ song, stars }) {
    if (this.phase !== "on") return;
    if (song && stars !== undefined && this.current?.song.id === song) {
      this.stars = stars;
      this.emit("state");
    }
    this.lookAhead();
  }
}

export const radio = new Radio();

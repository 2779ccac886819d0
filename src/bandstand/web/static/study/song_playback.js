// One song of the study as it is heard: its sound, the seconds of it that were really played, and
// when it may be rated.

import { isGone } from "../app/network.js";
import { connection } from "../player/connection.js";
import { Repairs } from "../player/repairs.js";
import { sound } from "../player/sound.js";
import { watchForStalls } from "../player/stall_watch.js";
import * as studyApi from "./study_api.js";
import { momentIn } from "./countdown.js";

const MARGIN = 0.2; // seconds: a rating at the exact moment may be refused
const PATIENCE = 1_500; // milliseconds until it is said that a song is being made ready
const KEEP_EVERY = 1; // seconds heard between two notes of how many there are

let current = null; // the hearing that has the sound

watchForStalls({
  isDue: () => current?.isDue ?? false,
  onStall: () => current.repair({ song: current.song, time: sound.time, isStalled: true }),
});

// Event: "change", whenever something of it may be shown in another way.
export class SongPlayback extends EventTarget {
  isBroken = false; // it cannot be played here
  needsPress = false; // the browser wants a click before there is sound
  isSlow = false; // it is being made ready
  #offer;
  #onStuck;
  #account;
  #needed; // seconds
  #mayRateAt;
  #isWhole = false; // it was played to its end
  #isRated = false;
  #kept = 0; // seconds that were noted
  #signal;
  #repairs = new Repairs({
    onResume: (song, from) => this.#resume(from),
    onGiveUp: () => this.#giveUp(),
  });

  // `onStuck()` fetches the song again where it cannot be played: it may have been replaced.
  constructor(offer, { account, rules, signal, onStuck }) {
    super();
    this.#offer = offer;
    this.#onStuck = onStuck;
    this.#account = account;
    this.#signal = signal;
    this.#needed = Math.min(rules.listen_seconds, offer.song.duration || Infinity);
    this.#mayRateAt = momentIn(offer.may_rate_in + MARGIN);
  }

  get song() {
    return this.#offer.song;
  }

  // ── The sound ──

  // Begin where it was left, if this browser knows. It ends with `signal`.
  begin() {
    current = this;
    const signal = this.#signal;
    const tell = () => this.#change();
    for (const name of ["play", "pause", "time", "durationchange"])
      sound.addEventListener(name, tell, { signal });
    sound.addEventListener("canplay", () => this.#change({ isSlow: false }), { signal });
    sound.addEventListener("playing", () => this.#hasSound(), { signal });
    sound.addEventListener("ended", () => this.#end(), { signal });
    sound.addEventListener("refused", () => this.#change({ needsPress: true }), { signal });
    sound.addEventListener("error", ({ detail }) => this.repair(detail), { signal });
    window.addEventListener("pagehide", () => this.#keep(), { signal });
    signal.addEventListener("abort", () => this.#leave(), { once: true });
    const { seconds, time } = studyApi.heardOf(this.#account, this.#offer);
    this.#kept = seconds;
    sound.play(this.song, { from: time, played: seconds });
    this.#sayIfSlow();
  }

  toggle() {
    if (this.isBroken) this.#onStuck();
    else if (sound.isPaused) sound.start();
    else sound.pause();
  }

  play() {
    sound.start();
  }

  pause() {
    sound.pause();
  }

  // It is rated: how much of it was heard is of no use any more.
  finish() {
    this.#isRated = true;
  }

  get isPlaying() {
    return !sound.isPaused;
  }

  get time() {
    return sound.time;
  }

  get duration() {
    return sound.duration;
  }

  get isDue() {
    const isMeantToPlay = this.isPlaying && !this.needsPress && !this.isBroken;
    return isMeantToPlay && !this.#repairs.isBusy && !isGone() && !connection.isAway;
  }

  repair(trouble) {
    this.#repairs.repair(trouble);
  }

  #resume(from) {
    if (current !== this) return;
    this.isBroken = false;
    sound.play(this.song, { from, played: sound.played, isPaused: sound.isHeld });
    this.#change();
  }

  #giveUp() {
    if (current === this) this.#change({ isBroken: true });
  }

  #hasSound() {
    this.#repairs.succeed();
    this.#change({ needsPress: false, isBroken: false, isSlow: false });
  }

  // There is no seeking within it, so a song that has ended was heard from its beginning.
  #end() {
    this.#isWhole = true;
    this.#change();
  }

  #leave() {
    this.#keep();
    this.#repairs.stop();
    if (current !== this) return;
    current = null;
    sound.stop();
  }

  #sayIfSlow() {
    setTimeout(() => {
      if (current === this && !sound.isReady && !this.needsPress) this.#change({ isSlow: true });
    }, PATIENCE);
  }

  // ── The seconds ──

  get heard() {
    return this.#isWhole ? Math.max(sound.played, this.song.duration ?? 0) : sound.played;
  }

  // How many more seconds must be played.
  get toHear() {
    return Math.max(0, this.#needed - this.heard);
  }

  // How many seconds it takes until it may be rated, if it plays all the while.
  get left() {
    return Math.max(this.toHear, (this.#mayRateAt - Date.now()) / 1_000, 0);
  }

  // From 0 to 1.
  get share() {
    return this.#needed > 0 ? 1 - Math.min(1, this.left / this.#needed) : 1;
  }

  // The server knows better when that is.
  waitFor(seconds) {
    this.#mayRateAt = momentIn(seconds + MARGIN);
    this.#change();
  }

  #keep() {
    if (current !== this || this.#isRated) return;
    this.#kept = this.heard;
    studyApi.noteHeard(this.#account, this.#offer, { seconds: this.#kept, time: sound.time });
  }

  #change(what = {}) {
    Object.assign(this, what);
    if (Math.abs(this.heard - this.#kept) >= KEEP_EVERY) this.#keep();
    this.dispatchEvent(new Event("change"));
  }
}

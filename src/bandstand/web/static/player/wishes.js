// What a listener asks for: songs by hand, where the radio is to start from, and of which years.

import { notice, problem } from "../app/notices.js";
import { plural, songName } from "../app/words.js";
import { asOffer } from "./up_next.js";
import { Playback } from "./playback.js";
import { isOfYears } from "./years.js";

export class Wishes extends Playback {
  get station() {
    return this.upNext.station;
  }

  get years() {
    return this.upNext.years;
  }

  // Play a song now. To want another one is no judgement on the one that is left.
  playSong(song) {
    if (this.phase !== "on") return;
    this.#setAside();
    this.upNext.drop(song);
    this.play(asOffer(song));
  }

  queueSong(song, { first = false } = {}) {
    this.queueSongs([song], { first });
  }

  // After this song, or after what was queued before.
  queueSongs(songs, { first = false } = {}) {
    if (this.phase !== "on") return;
    const count = this.upNext.pin(songs, { first });
    const one = `${first ? "Next" : "Queued"}: ${songName(songs[0])}.`;
    notice(count === 1 ? one : `${plural(count, "song")} queued.`);
    this.#changeQueue();
  }

  dropSong(song) {
    this.upNext.drop(song);
    this.#changeQueue();
  }

  async startFrom({ song, artist, genre, name }) {
    if (this.phase !== "on") return;
    const isMet = Boolean(song) && this.current?.song.id === song;
    await this.#wish({ station: { song, artist, genre, name } }, { isMet });
  }

  // Play only songs of these years, wherever it starts from; null for all years.
  async onlyYears(years) {
    if (this.phase !== "on") return;
    const isMet = Boolean(this.current) && isOfYears(this.current.song, years);
    await this.#wish({ years }, { isMet });
  }

  // What is wished for plays at once, unless it does already. What cannot be changes nothing.
  async #wish(wish, { isMet }) {
    const { station, years } = this.upNext;
    Object.assign(this.upNext, wish);
    if (isMet) return this.#changeQueue();
    const turn = ++this.turn;
    try {
      const offer = await this.upNext.ask(this.heard());
      if (turn !== this.turn) return;
      this.#setAside();
      this.play(offer);
    } catch (error) {
      problem(error);
      if (turn === this.turn) Object.assign(this.upNext, { station, years });
      if (turn === this.turn && this.isLeaving) this.goOn();
    }
    this.emit("state");
  }

  endStation() {
    this.upNext.station = null;
    this.#changeQueue();
  }

  #setAside() {
    if (this.current) this.upNext.noteHeard(this.current.song);
  }

  #changeQueue() {
    for (const name of ["state", "upcoming", "queue"]) this.emit(name);
    return this.lookAhead();
  }
}

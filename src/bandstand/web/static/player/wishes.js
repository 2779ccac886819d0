// What a listener asks for: songs by hand, and where the radio is to start from.

import { notice, problem } from "../app/notices.js";
import { plural, songName } from "../app/words.js";
import { asOffer } from "./ahead.js";
import { Deck } from "./deck.js";

export class Wishes extends Deck {
  get station() {
    return this.ahead.station;
  }

  // Play a song now. To want another one is no judgement on the one that is left.
  playSong(song) {
    if (this.phase !== "on") return;
    this.#setAside();
    this.ahead.drop(song);
    this.play(asOffer(song));
  }

  queueSong(song, { first = false } = {}) {
    this.queueSongs([song], { first });
  }

  // After this song, or after what was queued before.
  queueSongs(songs, { first = false } = {}) {
    if (this.phase !== "on") return;
    const count = this.ahead.pin(songs, { first });
    const one = `${first ? "Next" : "Queued"}: ${songName(songs[0])}.`;
    notice(count === 1 ? one : `${plural(count, "song")} queued.`);
    this.#changeQueue();
  }

  dropSong(song) {
    this.ahead.drop(song);
    this.#changeQueue();
  }

  async startFrom({ song, artist, genre, name }) {
    if (this.phase !== "on") return;
    this.ahead.station = { song, artist, genre, name };
    if (song && this.current?.song.id === song) return this.#changeQueue();
    const turn = ++this.turn;
    try {
      const offer = await this.ahead.ask(this.heard());
      if (turn !== this.turn) return;
      this.#setAside();
      this.play(offer);
    } catch (error) {
      problem(error);
      this.ahead.station = null;
      if (turn === this.turn && this.isLeaving) this.goOn();
    }
    this.emit("state");
  }

  endStation() {
    this.ahead.station = null;
    this.#changeQueue();
  }

  #setAside() {
    if (this.current) this.ahead.noteHeard(this.current.song);
  }

  #changeQueue() {
    for (const name of ["state", "upcoming", "queue"]) this.emit(name);
    return this.lookAhead();
  }
}

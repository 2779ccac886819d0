// The songs up next: those queued by hand, then the radio's own choices.

import { address, call } from "../app/api.js";

const COUNT = 8; // songs of the coming playlist that are shown
const MOST_AFTER = 50; // as many as the server takes
const MOST_KEPT = 20;

export class UpNext {
  station = null; // {song | artist | genre, name}: where to start from
  years = null; // {year_from, year_to}: nothing else is chosen
  pinned = []; // songs queued by hand
  chosen = null; // the radio's own next offer, as things stand
  later = []; // the offers after that one
  #broken = []; // songs that would not play
  #dropped = []; // songs that were taken off the list
  #unlogged = []; // songs that were heard without the log knowing it yet, or ever

  // The offers in the order in which they come.
  get coming() {
    const own = this.chosen ? [this.chosen, ...this.later] : [];
    return once([...this.pinned.map(asOffer), ...own], ({ song }) => song.id);
  }

  get upcoming() {
    return this.pinned.length ? asOffer(this.pinned[0]) : this.chosen;
  }

  // Queue songs by hand; one that was queued before moves. Returns how many they are.
  pin(songs, { first }) {
    const added = once(songs, ({ id }) => id);
    const others = this.pinned.filter(({ id }) => !added.some((song) => song.id === id));
    this.pinned = first ? [...added, ...others] : [...others, ...added];
    return added.length;
  }

  // The next offer is taken off the list.
  take() {
    const offer = this.upcoming;
    if (this.pinned.length) this.pinned.shift();
    else this.takeChosen();
    return offer;
  }

  takeChosen() {
    this.chosen = this.later.shift() ?? null;
  }

  // The radio has chosen again. The songs after that one stay until they are known, too: a list
  // that shrinks and grows with every star is hard to read.
  choose(offer) {
    this.later = this.later.filter(({ song }) => song.id !== offer.song.id);
    this.chosen = offer;
  }

  // Ask for the song after these, and after those that the log does not know of.
  ask(heard, { signal } = {}) {
    return call("GET", address("/api/next", this.#query(heard)), undefined, { signal });
  }

  // Ask for the songs after the radio's next one.
  async askLater(heard, { signal } = {}) {
    const after = [...heard, this.chosen.song.id];
    const query = { count: COUNT - 1, ...this.#query(after) };
    const answer = await call("GET", address("/api/playlist", query), undefined, { signal });
    return answer.songs;
  }

  passOver(song) {
    keep(this.#broken, song.id);
  }

  drop(song) {
    const place = this.pinned.findIndex((one) => one.id === song.id);
    if (place >= 0) this.pinned.splice(place, 1);
    else keep(this.#dropped, song.id);
    this.later = this.later.filter((offer) => offer.song.id !== song.id);
    if (this.chosen?.song.id === song.id) this.takeChosen();
  }

  // Nothing that is to be kept away is left on the list.
  dropAll(isMeant) {
    this.pinned = this.pinned.filter((song) => !isMeant(song));
    this.later = this.later.filter((offer) => !isMeant(offer.song));
    if (this.chosen && isMeant(this.chosen.song)) this.takeChosen();
  }

  noteHeard(song) {
    keep(this.#unlogged, song.id);
  }

  noteLogged(song) {
    this.#unlogged = this.#unlogged.filter((id) => id !== song.id);
  }

  // Choose from anything again.
  widen() {
    Object.assign(this, { station: null, years: null });
  }

  clear() {
    this.widen();
    Object.assign(this, { pinned: [], chosen: null, later: [] });
    this.#broken = [];
    this.#dropped = [];
    this.#unlogged = [];
  }

  #query(heard) {
    const pinned = this.pinned.map((song) => song.id);
    const all = [...this.#broken, ...this.#dropped, ...this.#unlogged, ...heard, ...pinned];
    const { song, artist, genre } = this.station ?? {};
    const after = [...new Set(all)].slice(-MOST_AFTER);
    return { after, song, artist, genre, ...this.years };
  }
}

// A song that a listener has asked for, in the shape of what the radio offers.
export function asOffer(song) {
  const note = "You asked for it.";
  return { song, why: null, mode: "asked", note, step: null, seq: null };
}

// The same list, of which nothing comes twice.
function once(list, nameOf) {
  const names = list.map(nameOf);
  return list.filter((_, place) => names.indexOf(names[place]) === place);
}

function keep(list, id) {
  const place = list.indexOf(id);
  if (place >= 0) list.splice(place, 1);
  list.push(id);
  if (list.length > MOST_KEPT) list.shift();
}

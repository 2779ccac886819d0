// One playlist: its songs in their order, and what can be done with them.

import { call } from "../app/api.js";
import { fill, h, icon } from "../app/dom.js";
import { menuButton } from "../app/menu.js";
import { ask, confirm, notice, problem } from "../app/notices.js";
import { go, link, way } from "../app/router.js";
import { empty, load } from "../app/states.js";
import { length, plural } from "../app/words.js";
import { radio } from "../player/radio.js";
import { exportButton } from "./exports.js";
import { nameField, named } from "./name_field.js";
import { followPlaying, songRow } from "./song_row.js";

export const title = "Playlist";

export async function show(main, { params, person, signal }) {
  const place = `/api/playlists/${encodeURIComponent(params.id ?? "")}`;
  await load(
    main,
    () => found(place, signal),
    (playlist) => {
      if (!playlist) return unknown();
      return new Shown({ playlist, place, person, signal }).element;
    },
  );
}

async function found(place, signal) {
  try {
    return await call("GET", place, undefined, { signal });
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

function unknown() {
  const all = link(way("playlists"), { class: "button" }, "All playlists");
  const note = empty("playlist", "It was deleted, or it belongs to another account.", all);
  return [h("h1", {}, "No such playlist"), note];
}

class Shown {
  constructor({ playlist, place, person, signal }) {
    this.playlist = playlist;
    this.place = place;
    this.songs = playlist.songs;
    this.name = h("h1", {}, playlist.name);
    this.size = h("p.faint.small");
    this.list = h("ol.songs.ordered", { role: "list", "aria-label": "Songs" });
    this.body = h("div");
    this.tools = h("div.row");
    this.isAdmin = person.role === "admin";
    followPlaying(this.list, signal);
    this.element = h(
      "div.stack",
      {},
      h("p.small", {}, link(way("playlists"), { class: "back" }, "Playlists")),
      h("div", {}, this.name, this.size),
      this.tools,
      this.body,
    );
    this.draw();
  }

  draw() {
    const { songs } = this;
    const seconds = songs.reduce((sum, song) => sum + (song.duration ?? 0), 0);
    const size = `${plural(songs.length, "song")} · ${length(seconds)}`;
    this.size.textContent = songs.length ? size : "";
    fill(this.tools, this.actions());
    fill(
      this.list,
      songs.map((song, index) => this.row(song, index)),
    );
    fill(this.body, songs.length ? this.list : noSongs());
  }

  actions() {
    const playable = this.songs.filter((song) => song.is_present);
    const items = () => [
      { label: "Rename", icon: "pencil", run: () => this.rename() },
      { label: "Delete", icon: "trash", run: () => this.remove() },
    ];
    const playing = [
      button("button.main", "Play", "play", () => play(playable)),
      button("button", "Add to queue", "queue", () => radio.queueSongs(playable)),
    ];
    return [
      playable.length ? playing : null,
      this.songs.length ? exportButton(this.playlist, { isAdmin: this.isAdmin }) : null,
      menuButton("More for this playlist", items, { label: "More" }),
    ];
  }

  row(song, index) {
    const last = this.songs.length - 1;
    const ways = [
      { label: "Move up", kind: "up", to: index - 1, isOff: index === 0 },
      { label: "Move down", kind: "down", to: index + 1, isOff: index === last },
    ];
    const aside = h(
      "span.movers",
      {},
      ways.map((one) => this.mover(song, index, one)),
    );
    const item = ({ label, kind, to }) => {
      return { label, icon: kind, run: () => this.move(index, to, ".menu-button") };
    };
    const moves = ways.filter(({ isOff }) => !isOff).map(item);
    const drop = { label: "Remove from playlist", icon: "trash", run: () => this.drop(index) };
    return songRow(song, { number: index + 1, aside, actions: [...moves, drop] });
  }

  mover(song, index, { label, kind, to, isOff }) {
    return h(
      "button.quiet.round.small",
      {
        type: "button",
        class: kind,
        "aria-label": `${label} “${song.title}”`,
        title: label,
        disabled: isOff,
        onclick: () => this.move(index, to, `.movers .${kind}`),
      },
      icon(kind),
    );
  }

  // The focus goes along with the song, so that it can be moved several places.
  async move(from, to, control) {
    const songs = [...this.songs];
    songs.splice(to, 0, ...songs.splice(from, 1));
    const saved = this.save(songs);
    const row = this.list.children[to];
    const same = row.querySelector(`${control}:not(:disabled)`);
    (same ?? row.querySelector(".menu-button")).focus();
    await saved;
  }

  async drop(index) {
    const before = this.songs;
    if (await this.save(before.toSpliced(index, 1))) {
      notice(`Removed “${before[index].title}”.`, { undo: () => this.save(before) });
      this.list.children[Math.min(index, this.songs.length - 1)]?.querySelector("a").focus();
    }
  }

  // Shown at once; put back if the server says no. Resolves with whether it was saved.
  async save(songs) {
    const before = this.songs;
    this.songs = songs;
    this.draw();
    try {
      await call("PUT", this.place, { songs: songs.map((song) => song.id) });
      return true;
    } catch (error) {
      problem(error);
      this.songs = before;
      this.draw();
      return false;
    }
  }

  async rename() {
    const { name } = this.playlist;
    const field = nameField({ value: name });
    const wanted = await ask("Rename the playlist", {
      body: [named(field)],
      read: () => field.value.trim(),
    });
    if (wanted === null || wanted === name) return;
    try {
      this.playlist = await call("PUT", this.place, { name: wanted });
      this.name.textContent = this.playlist.name;
    } catch (error) {
      problem(error);
    }
  }

  async remove() {
    const options = { detail: "Its songs stay in the library.", yes: "Delete", danger: true };
    if (!(await confirm(`Delete “${this.playlist.name}”?`, options))) return;
    try {
      await call("DELETE", this.place);
      go(way("playlists"));
      notice(`“${this.playlist.name}” is deleted.`);
    } catch (error) {
      problem(error);
    }
  }
}

function button(kind, label, drawing, run) {
  return h(kind, { type: "button", onclick: run }, icon(drawing), label);
}

function noSongs() {
  const library = link(way("library"), { class: "button" }, "Go to the library");
  const text = "No songs yet. “Add to playlist…” is in the menu of every song.";
  return empty("note", text, library);
}

function play([first, ...rest]) {
  radio.playSong(first);
  if (rest.length) radio.queueSongs(rest);
}

// The player: the song, stars, and what can be done with it.

import { fill, h, icon } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { empty } from "../app/states.js";
import { plural } from "../app/words.js";
import { openMenu } from "../app/menu.js";
import { LARGE, coverOf } from "./cover.js";
import { heartButton } from "./heart.js";
import { NOTHING } from "./playback.js";
import { listenToKeys } from "./keys.js";
import { followRadio } from "./media_session.js";
import { queue } from "./queue.js";
import { radio } from "./radio.js";
import { sentence } from "./reasons.js";
import { light, starButtons } from "./stars.js";
import { seekBar, transport, volume } from "./transport.js";
import { albumWay, artistWay } from "./song_links.js";
import { showWhy } from "./why.js";
import { askForYears, yearsName } from "./years.js";

export const title = "Radio";

listenToKeys();
followRadio();

export async function show(main, { person, signal }) {
  let shown = null;
  const draw = () => {
    const wanted = radio.current ? "player" : "waiting";
    if (wanted === "waiting") fill(main, waiting(person));
    else if (shown !== wanted) fill(main, player(signal), queue(signal, person));
    shown = wanted;
  };
  radio.addEventListener("song", draw, { signal });
  radio.addEventListener("state", () => radio.current || draw(), { signal });
  draw();
}

// ── Before there is a song ──────────────────────────────────────────────────────────────

function waiting(person) {
  const heading = h("h1.unseen", {}, "Radio");
  const { library } = radio;
  if (radio.phase !== "waiting" || !library)
    return [heading, radio.note === NOTHING ? nothing() : h("p.faint", {}, radio.note)];
  const scan =
    person.role === "admin" ? link(way("scan"), { class: "button" }, "Show the scan") : null;
  return [heading, empty(library.is_scanning ? "note" : "folder", progress(library, person), scan)];
}

function nothing() {
  return empty("ban", NOTHING, link(way("settings"), { class: "button" }, "Show what is banned"));
}

function progress({ is_scanning: isScanning, done, total }, person) {
  const number = (count) => count.toLocaleString("en-GB");
  if (isScanning && total)
    return `Reading your music: ${number(done)} of ${plural(total, "file")}. The radio begins with the first song.`;
  if (isScanning) return "Looking for your music. The radio begins with the first song.";
  if (person.role === "admin")
    return "There is no music yet. Put some into the folder that the server was started with, then scan it.";
  return "There is no music yet. Ask the administrator of this radio to add some.";
}

// ── The song ────────────────────────────────────────────────────────────────────────────

function player(signal) {
  const stars = starButtons({ onRate: (count) => radio.rate(count) });
  const heart = heartButton(() => radio.current?.song, { signal });
  const picture = h("div.player-cover");
  const names = h("div.player-names");
  const chips = h("div.row.chips");
  const note = h("p.player-note.small", {});
  const begin = h(
    "button.main.player-begin",
    { type: "button", onclick: () => radio.start() },
    icon("play"),
    "Press play to begin",
  );
  const drawSong = () => {
    if (!radio.current) return;
    fill(picture, coverOf(radio.current.song, LARGE), begin);
    const isFocused = names.contains(document.activeElement);
    fill(names, namesOf(radio.current));
    if (isFocused) names.querySelector("h1").focus({ preventScroll: true });
    heart.draw();
  };
  const drawState = () => {
    light(stars, radio.stars);
    drawChips(chips);
    drawNote(note);
    begin.hidden = !radio.needsPress;
  };
  radio.addEventListener("song", drawSong, { signal });
  radio.addEventListener("song", drawState, { signal });
  radio.addEventListener("state", drawState, { signal });
  drawSong();
  drawState();
  return h(
    "section.player",
    { "aria-label": "Player" },
    picture,
    h(
      "div.player-panel",
      {},
      chips,
      names,
      h("div.row.player-rate", {}, stars, heart.button),
      h("div.player-time", {}, seekBar(signal), note),
      h("div.player-controls", {}, transport(signal), volume(signal)),
      actions(),
    ),
  );
}

// A word beside the time; that nothing may be played comes with a way out.
function drawNote(place) {
  if (place.dataset.shown === radio.note) return;
  place.dataset.shown = radio.note;
  const isNothing = radio.note === NOTHING;
  place.classList.toggle("nothing", isNothing);
  fill(place, radio.note, isNothing && [" ", link(way("settings"), {}, "Show what is banned")]);
}

function namesOf(offer) {
  const { song, step, seq } = offer;
  const marks = { nowPlaying: song.id, step: step ?? "", seq: seq ?? "" };
  const artist = song.artist && link(artistWay(song), {}, song.artist);
  const album = song.album && link(albumWay(song), {}, song.album);
  const about = [album, song.year && h("span", {}, String(song.year))].filter(Boolean);
  return [
    h("h1", { dataset: marks, tabindex: "-1" }, song.title),
    h(
      "p.player-artist.cut",
      { title: song.artist ?? "" },
      artist || h("span.faint", {}, "Unknown artist"),
    ),
    about.length
      ? h(
          "p.player-album.faint.cut",
          { title: [song.album, song.year].filter(Boolean).join(" · ") },
          about.flatMap((part, place) => (place ? [" · ", part] : [part])),
        )
      : null,
    h(
      "p.player-why",
      {},
      h("span", {}, sentence(offer)),
      " ",
      h(
        "button.plain",
        { type: "button", "aria-label": "Why this song?", onclick: () => showWhy(offer) },
        "Why?",
      ),
    ),
  ];
}

// Only where something has changed: a button must not be replaced while it is pressed.
function drawChips(place) {
  const { station, years, settings } = radio;
  const shown = JSON.stringify([station, years, settings?.private ?? false]);
  if (place.dataset.shown === shown) return;
  const isFocused = place.contains(document.activeElement);
  place.dataset.shown = shown;
  fill(place, chipsOf());
  place.hidden = !place.hasChildNodes();
  if (isFocused) document.querySelector("h1")?.focus({ preventScroll: true });
}

function chipsOf() {
  const { station, years, settings } = radio;
  return [
    settings?.private
      ? h("span.chip", {}, icon("hidden"), "Private mode: nothing is learned")
      : null,
    station &&
      wishChip(`Starting from ${station.name}`, {
        stop: `Stop starting from ${station.name}`,
        run: () => radio.endStation(),
      }),
    years &&
      wishChip(`Only ${yearsName(years)}`, {
        stop: `Stop playing only ${yearsName(years)}`,
        run: () => radio.onlyYears(null),
      }),
  ].filter(Boolean);
}

function wishChip(words, { stop, run }) {
  return h(
    "span.chip.wish",
    {},
    h("span.cut", { title: words }, words),
    h("button.quiet.round", { type: "button", "aria-label": stop, onclick: run }, icon("close")),
  );
}

// ── What can be done with it ────────────────────────────────────────────────────────────

function actions() {
  return h(
    "div.player-actions",
    {},
    withMenu("Not for a month", "snooze", () => scopes("snooze")),
    withMenu("Never again", "ban", () => scopes("ban")),
    withMenu("More", "more", more),
  );
}

function withMenu(name, drawing, items) {
  const open = () => radio.current && openMenu(button, name, items());
  const properties = {
    type: "button",
    "aria-haspopup": "menu",
    "aria-expanded": "false",
    onclick: open,
  };
  const button = h("button.quiet.small", properties, icon(drawing), h("span", {}, name));
  return button;
}

// The song, and whatever it belongs to that has a name.
function scopes(kind) {
  const { song } = radio.current;
  const { artist, album, genre } = song;
  const run = (scope) => radio.keepAway(kind, scope, song);
  return [
    { label: "This song", icon: "note", run: () => run("song") },
    artist && { label: `Everything by ${artist}`, icon: "people", run: () => run("artist") },
    album && { label: `The album ${album}`, icon: "library", run: () => run("album") },
    genre && { label: `All ${genre}`, icon: "folder", run: () => run("genre") },
  ].filter(Boolean);
}

function more() {
  const { song } = radio.current;
  const { id, artist, genre } = song;
  const undo = { label: `Undo: ${radio.undoable}`, icon: "undo", run: () => radio.undo() };
  return [
    {
      label: "Start from this song",
      icon: "radio",
      run: () => radio.startFrom({ song: id, name: song.title }),
    },
    artist && {
      label: `Start from ${artist}`,
      icon: "radio",
      run: () => radio.startFrom({ artist, name: artist }),
    },
    genre && {
      label: `Start from ${genre}`,
      icon: "radio",
      run: () => radio.startFrom({ genre, name: genre }),
    },
    { label: "Only some years…", icon: "history", run: chooseYears },
    null,
    { label: "About this song", icon: "note", href: way("song", id) },
    radio.undoable ? undo : false,
  ].filter((item) => item === null || item);
}

async function chooseYears() {
  const chosen = await askForYears(radio.years);
  if (chosen) radio.onlyYears(chosen.years);
}

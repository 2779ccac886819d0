// A song of the study: listen, then give it stars.

import { fill, h, icon } from "../app/dom.js";
import { notice } from "../app/notices.js";
import { clock, plural } from "../app/words.js";
import { LARGE, coverOf } from "../player/cover.js";
import { light, starButtons } from "../player/stars.js";
import { volume } from "../player/transport.js";
import { listenToKeys } from "./keys.js";
import { bar } from "./parts.js";

const LOOK_EVERY = 250; // milliseconds
const ASK = "How much do you like it now?";
const SENDING = "Thank you. Choosing the next song …";
const DELAYED = "Not delivered yet. Your rating is kept, and sent again.";

// `onRate({stars, known, played_seconds})` is called once, or again after `refuse(text)`.
// `onLeave()` goes back to the parts; `say(text)` tells those who do not look.
export function listeningView(offer, { study, hearing, signal, onRate, onLeave, say }) {
  const state = { isKnown: false, isOpen: false, note: null }; // a note: the rating is on its way
  const shown = pieces(offer, hearing);
  const element = frame(offer, { study, shown, signal, onLeave });
  const remark = remarks(signal);
  const draw = () => drawAll(shown, state, { hearing, onOpen: remark.clear, say });
  const note = (text, stars) => {
    state.note = text;
    if (stars !== undefined) light(shown.stars, stars);
    element.setAttribute("aria-busy", String(text !== null));
    draw();
  };
  const rate = (stars) => {
    if (state.note !== null) return;
    if (!state.isOpen) return remark.tell(notYet(hearing));
    hearing.pause();
    note(SENDING, stars);
    onRate({ stars, known: state.isKnown, played_seconds: hearing.heard });
  };
  const know = () => {
    if (state.note !== null) return;
    state.isKnown = !state.isKnown;
    draw();
  };
  Object.assign(shown.acts, { rate, know });
  const toggle = () => state.note === null && hearing.toggle();
  listenToKeys({ rate, know, toggle }, { signal });
  hearing.addEventListener("change", draw, { signal });
  const timer = setInterval(draw, LOOK_EVERY);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  draw();
  return {
    element,
    delay: () => note(DELAYED),
    go: () => note(SENDING),
    refuse: (text) => {
      note(null, 0);
      remark.tell(text);
    },
  };
}

// What is said of this song: one remark at a time, which goes with what it says and with the song.
function remarks(signal) {
  let takeAway = () => {};
  const clear = () => takeAway();
  const tell = (text) => {
    clear();
    takeAway = notice(text);
  };
  signal.addEventListener("abort", clear, { once: true });
  return { clear, tell };
}

// ── What it is made of ──────────────────────────────────────────────────────────────────

function pieces({ song }, hearing) {
  const acts = {}; // what the controls do, once that is known
  const play = h("button.main.play", { type: "button", onclick: () => hearing.toggle() });
  const known = h(
    "button.study-known",
    { type: "button", "aria-pressed": "false", onclick: () => acts.know() },
    icon("check"),
    h("span", {}, "I know this song"),
  );
  return {
    acts,
    play,
    known,
    ring: h("div.study-ring", {}, play),
    stars: starButtons({ onRate: (count) => acts.rate(count) }),
    word: h("p.study-word"),
    passed: h("span.number"),
    whole: h("span.number", {}, clock(song.duration ?? NaN)),
    line: h("div.study-line", { "aria-hidden": "true" }),
  };
}

function frame(offer, { study, shown, signal, onLeave }) {
  const { song, number, rated, of } = offer;
  const where = `Part ${study.place} of ${study.parts}`;
  const leave = h("button.quiet.small", { type: "button", onclick: onLeave }, "Stop for now");
  return h(
    "section.study-song",
    { "aria-label": "Song" },
    h(
      "div.study-top",
      {},
      h(
        "p.small",
        {},
        h("strong", {}, where),
        h("span.faint.number", {}, `  ·  Song ${number} of ${of}`),
      ),
      leave,
      bar({ rated, of }, where),
    ),
    h(
      "div.player",
      {},
      h("div.player-cover", {}, coverOf(song, LARGE)),
      h(
        "div.player-panel",
        {},
        h("div.player-names", {}, names(song)),
        h(
          "div.study-hearing",
          {},
          shown.ring,
          h(
            "div.study-time",
            {},
            shown.line,
            h("div.row.apart.small.faint", {}, shown.passed, shown.whole),
          ),
          h("div.study-volume", {}, volume(signal)),
        ),
        h("div.study-rating", {}, shown.word, shown.stars, ends(), shown.known),
        hint(),
      ),
    ),
  );
}

function names(song) {
  const about = [song.album, song.year].filter(Boolean).join(" · ");
  return [
    h("h1", { tabindex: "-1", dataset: { studySong: song.id } }, song.title),
    song.artist
      ? h("p.player-artist", {}, song.artist)
      : h("p.player-artist.faint", {}, "Unknown artist"),
    about ? h("p.player-album.faint.cut", { title: about }, about) : null,
  ];
}

const ends = () =>
  h(
    "div.study-ends.small.faint",
    { "aria-hidden": "true" },
    h("span", {}, "Not at all"),
    h("span", {}, "Very much"),
  );

function hint() {
  return h(
    "p.study-keys.small.faint",
    {},
    h("kbd", {}, "1"),
    " to ",
    h("kbd", {}, "5"),
    " rate the song, ",
    h("kbd", {}, "Space"),
    " plays and pauses, ",
    h("kbd", {}, "I"),
    " means “I know this song”. A rating is final.",
  );
}

// ── What of it changes ──────────────────────────────────────────────────────────────────

function drawAll(shown, state, { hearing, onOpen, say }) {
  const wasOpen = state.isOpen;
  const isSent = state.note !== null;
  state.isOpen = state.isKnown || hearing.left <= 0;
  shown.ring.style.setProperty("--done", state.isKnown ? 1 : hearing.share);
  shown.ring.classList.toggle("full", state.isOpen);
  drawPlay(shown.play, hearing, isSent);
  drawTime(shown, hearing);
  for (const star of shown.stars.children)
    star.setAttribute("aria-disabled", String(!state.isOpen || isSent));
  shown.known.setAttribute("aria-pressed", String(state.isKnown));
  shown.known.setAttribute("aria-disabled", String(isSent));
  write(shown.word, state.note ?? inWords(state, hearing));
  if (!state.isOpen || wasOpen) return;
  onOpen();
  if (!state.isKnown) say("You can rate this song now.");
}

function drawPlay(button, hearing, isSent) {
  const name = hearing.isPlaying ? "Pause" : "Play";
  button.disabled = isSent;
  if (button.getAttribute("aria-label") === name) return;
  button.setAttribute("aria-label", name);
  fill(button, icon(name.toLowerCase()));
}

function drawTime({ passed, whole, line }, hearing) {
  write(passed, clock(hearing.time));
  write(whole, clock(hearing.duration));
  line.style.setProperty("--done", hearing.duration > 0 ? hearing.time / hearing.duration : 0);
}

function write(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

function inWords(state, hearing) {
  if (state.isOpen) return ASK;
  if (hearing.isBroken)
    return "This song cannot be played here at the moment. Press play to try again.";
  const left = plural(Math.max(1, Math.ceil(hearing.left)), "second");
  if (hearing.isPlaying && hearing.isSlow) return "Getting this song ready …";
  if (hearing.isPlaying || hearing.toHear <= 0) return `You can rate it in ${left}.`;
  return `Press play. You can rate it after ${left} of listening.`;
}

const notYet = (hearing) =>
  `Not yet: listen for ${plural(Math.max(1, Math.ceil(hearing.left)), "second")} more, or press “I know this song”.`;

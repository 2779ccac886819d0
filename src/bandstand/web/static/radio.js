// A plain player: what is played, stars, and what is told to the radio.
// Text from tags only ever becomes textContent.

import { Refused, call, isPassing, pause, teller } from "./telling.js";

const MONTH_DAYS = 30;
// Whoever leaves in the last seconds, or the last tenth of something short, has heard it.
const LAST_SECONDS = 10;
const LAST_SHARE = 0.1;
const NOTICE = 6_000; // milliseconds that a passing message stays
const PATIENCE = 1_500; // milliseconds until it is said that a song is not there yet
const SETTLED = 3_000; // milliseconds until the next song is taken to be the next song
const MOST_BROKEN = 10;
const NOT_DELIVERED = "Not delivered yet; trying again.";
const PREPARING = "Getting this song ready …";
const PRESS_PLAY = "Press play to begin.";

const $ = (id) => document.getElementById(id);
const audio = $("audio");
const stars = [...document.querySelectorAll("[data-stars]")];

let current = null; // the song that is played
let upcoming = null; // the one that would come next as things stand
let asking = 0; // the number of the latest question for a song; older answers are dropped
let failures = 0; // songs in a row that would not play
let resting = ""; // what the status says when there is nothing to say
const broken = []; // songs that would not play; the next ones are chosen as if they had
const told = []; // what the log has from this page, for Undo: its number, and in words

const tell = teller({
  onDelay: () => say(NOT_DELIVERED),
  onDelivered: () => unsay(NOT_DELIVERED),
  onRefused: refuse,
});

function say(text) {
  $("status").textContent = text.charAt(0).toUpperCase() + text.slice(1);
}

function unsay(...texts) {
  if (texts.includes($("status").textContent)) say(resting);
}

async function notice(text) {
  say(text);
  const said = $("status").textContent;
  await pause(NOTICE);
  unsay(said);
}

function refuse(problem) {
  if (problem instanceof Refused && problem.status === 401) showStrangers();
  else say(problem.message);
}

// ── The song ────────────────────────────────────────────────────────────────────────────

async function playNext() {
  const number = ++asking;
  try {
    const offer = await call("GET", next());
    if (number !== asking) return;
    if (!audio.src) say(resting);
    play(offer);
  } catch (problem) {
    if (number !== asking) return;
    refuse(problem);
    if (problem.status === 401) return;
    // Perhaps no song is ready yet: a new library is still being read.
    await pause(3_000);
    if (number === asking) playNext();
  }
}

// The address of the next song, after those that count as heard without the log knowing.
function next(...after) {
  const query = new URLSearchParams([...broken, ...after].map((id) => ["after", id]));
  return query.size ? `/api/next?${query}` : "/api/next";
}

function play(offer) {
  current = offer.song;
  show(offer);
  audio.src = current.audio;
  start();
  sayIfSlow(current);
  lookAhead();
}

function start() {
  audio.play().catch((problem) => {
    if (problem.name === "NotAllowedError") say(PRESS_PLAY); // browsers want a first click
  });
}

// Some files are converted before they can be played, which takes seconds.
async function sayIfSlow(song) {
  await pause(PATIENCE);
  if (song === current && audio.readyState < HTMLMediaElement.HAVE_FUTURE_DATA) say(PREPARING);
}

function show(offer) {
  const song = offer.song;
  document.title = song.artist ? `${song.title} – ${song.artist}` : song.title;
  $("title").textContent = song.title;
  $("artist").textContent = song.artist ?? "";
  $("album").textContent = [song.album, song.year].filter(Boolean).join(", ");
  $("why").textContent = offer.why?.sentence || offer.note || "";
  light(0);
  for (const option of $("scope").options) {
    option.disabled = option.value !== "song" && !song[option.value];
  }
  $("scope").value = "song";
  $("cover").hidden = true;
  $("nocover").hidden = false;
  if (song.cover) $("cover").src = `${song.cover}?size=512`;
  else $("cover").removeAttribute("src");
}

function light(count) {
  for (const star of stars) {
    star.classList.toggle("lit", Number(star.dataset.stars) <= count);
    star.setAttribute("aria-pressed", String(Number(star.dataset.stars) === count));
  }
}

async function lookAhead() {
  const song = current;
  try {
    const offer = await call("GET", next(song.id));
    if (song !== current) return;
    upcoming = offer.song;
    makeReady(upcoming);
    $("upcoming").textContent = upcoming.artist
      ? `${upcoming.title} – ${upcoming.artist}`
      : upcoming.title;
  } catch {
    $("upcoming").textContent = "…";
  }
}

// Asking for the head of a song has it converted, where that must be, before its turn comes.
async function makeReady(song) {
  await pause(SETTLED);
  if (song === upcoming) fetch(song.audio, { method: "HEAD" }).catch(() => {});
}

// ── What a listener does ────────────────────────────────────────────────────────────────

// Resolves with the log's answer; what it has kept can be undone, and is told in `words` then.
async function tellUndoably(event, words) {
  const answer = await tell(event);
  if (answer?.seq !== undefined) told.push({ ...event, seq: answer.seq, words });
  showUndo();
  return answer;
}

function showUndo() {
  $("undo").disabled = told.length === 0;
  $("undo").title = told.length ? `Takes back: ${told.at(-1).words}` : "";
}

function lastStars(song) {
  return told.findLast((event) => event.kind === "rating" && event.song === song.id)?.stars ?? 0;
}

async function rate(count) {
  if (!current) return;
  const song = current;
  light(count);
  const event = { kind: "rating", song: song.id, stars: count, played_seconds: audio.currentTime };
  const words = `${count} ${count === 1 ? "star" : "stars"} for “${song.title}”`;
  const answer = await tellUndoably(event, words);
  if (song !== current) return;
  if (!answer) light(lastStars(song));
  else if (!answer.stored) notice("Private mode: this is not learnt.");
  lookAhead();
}

async function leave() {
  if (!current) return playNext();
  const played = audio.currentTime;
  const length = Number.isFinite(audio.duration) ? audio.duration : current.duration;
  const isOver = played > 0 && played >= length - Math.min(LAST_SECONDS, LAST_SHARE * length);
  const kind = isOver ? "listen" : "skip";
  const words = isOver ? `“${current.title}” was heard` : `“${current.title}” was skipped`;
  audio.pause();
  await heardBefore(tellUndoably({ kind, song: current.id, played_seconds: played }, words));
}

// The next song is to know what was just told, but music does not wait for ever.
async function heardBefore(telling) {
  current = null;
  await Promise.race([telling, pause(2_000)]);
  await playNext();
}

async function keepAway(kind) {
  if (!current) return;
  const scope = $("scope").value;
  const target = scope === "song" ? current.id : current[scope];
  const name = scope === "song" ? current.title : target;
  const event = { kind, scope, target };
  if (kind === "snooze") event.days = MONTH_DAYS;
  const words = kind === "ban" ? `“${name}” never again` : `“${name}” not for a month`;
  audio.pause();
  const telling = tellUndoably(event, words);
  telling.then((answer) => answer && notice(`${words}.`));
  await heardBefore(telling);
}

async function undo() {
  const event = told.pop();
  showUndo();
  if (!event) return;
  if (await tell({ kind: "retract", retracts: event.seq })) {
    if (current) light(lastStars(current));
    notice(`Taken back: ${event.words}.`);
    lookAhead();
  }
}

async function turnDial() {
  try {
    await call("PATCH", "/api/settings", { dial: Number($("dial").value) });
    lookAhead();
  } catch (problem) {
    refuse(problem);
  }
}

function togglePlay() {
  if (audio.paused) start();
  else audio.pause();
}

function onKey(event) {
  const isTyping = event.target.closest?.("input:not([type=range]), select, textarea");
  if ($("player").hidden || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.repeat) return;
  if (/^[1-5]$/.test(event.key)) rate(Number(event.key));
  else if (event.key === "n") leave();
  else if (event.key === " " && !event.target.closest?.("button, audio")) togglePlay();
  else return;
  event.preventDefault();
}

// ── Who is there ────────────────────────────────────────────────────────────────────────

function showStrangers() {
  audio.pause();
  const isNew = document.documentElement.dataset.setup === "open";
  $("player").hidden = $("person").hidden = true;
  $("setup").hidden = !isNew;
  $("login").hidden = isNew;
}

async function begin() {
  try {
    const person = await call("GET", "/api/session");
    const settings = await call("GET", "/api/settings");
    $("name").textContent = person.name;
    $("dial").value = settings.dial;
    $("logout").hidden = Boolean(person.guest);
    $("login").hidden = $("setup").hidden = true;
    $("player").hidden = $("person").hidden = false;
    resting = settings.private ? "Private mode: nothing is learnt." : "";
    say(resting);
    await playNext();
  } catch (problem) {
    refuse(problem);
    if (isPassing(problem)) setTimeout(begin, 3_000);
  }
}

async function enter(event, address) {
  event.preventDefault();
  const form = event.target;
  const button = form.querySelector("button");
  button.disabled = true;
  say("");
  try {
    await call("POST", address, Object.fromEntries(new FormData(form)));
    document.documentElement.dataset.setup = "closed";
    form.reset();
    await begin();
  } catch (problem) {
    say(problem.message);
  }
  button.disabled = false;
}

async function logOut() {
  await call("DELETE", "/api/session").catch(() => {});
  location.reload();
}

for (const star of stars) star.addEventListener("click", () => rate(Number(star.dataset.stars)));
$("skip").addEventListener("click", leave);
$("undo").addEventListener("click", undo);
$("ban").addEventListener("click", () => keepAway("ban"));
$("snooze").addEventListener("click", () => keepAway("snooze"));
$("dial").addEventListener("change", turnDial);
$("logout").addEventListener("click", logOut);
$("login").addEventListener("submit", (event) => enter(event, "/api/session"));
$("setup").addEventListener("submit", (event) => enter(event, "/api/session/setup"));
$("cover").addEventListener("load", () => {
  $("cover").hidden = false;
  $("nocover").hidden = true;
});
document.addEventListener("keydown", onKey);
audio.addEventListener("ended", leave);
audio.addEventListener("canplay", () => unsay(PREPARING));
audio.addEventListener("playing", () => {
  failures = 0;
  unsay(PREPARING, PRESS_PLAY);
});
audio.addEventListener("error", async () => {
  if (!current) return;
  failures += 1;
  notice(`“${current.title}” cannot be played.`);
  broken.push(current.id);
  if (broken.length > MOST_BROKEN) broken.shift();
  current = null;
  await pause(Math.min(1_000 * failures, 10_000));
  playNext();
});

begin();

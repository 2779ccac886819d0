// What comes next, as a list: the next song at once, those after it a moment later.

import { call } from "../app/api.js";
import { fill, h, icon } from "../app/dom.js";
import { ask, notice, problem } from "../app/notices.js";
import { go, link, way } from "../app/router.js";
import { rating, songName } from "../app/words.js";
import { openMenu } from "../app/menu.js";
import { TINY, coverOf } from "./cover.js";
import { dial } from "./dial.js";
import { radio } from "./radio.js";
import { reason, sentence } from "./reasons.js";

const LONGEST_NAME = 200;
const FORMATS = [
  ["m3u8", "Export as M3U8"],
  ["xspf", "Export as XSPF"],
  ["jspf", "Export as JSPF"],
];

export function queue(signal) {
  const list = h("ol.coming", { role: "list" });
  const empty = h("p.faint", {}, "Choosing …");
  const section = h(
    "section.queue",
    { "aria-labelledby": "coming-up" },
    h(
      "div.queue-head",
      {},
      h("h2", { id: "coming-up", tabindex: "-1" }, "Coming up"),
      dial(signal),
      tools(),
    ),
    empty,
    list,
  );
  const draw = () => {
    const offers = radio.coming;
    empty.hidden = offers.length > 0;
    update(list, offers);
  };
  radio.addEventListener("upcoming", draw, { signal });
  radio.addEventListener("queue", draw, { signal });
  radio.watchQueue(signal);
  draw();
  return section;
}

// Rows of songs that stay are kept, so that neither focus nor pictures jump.
function update(list, offers) {
  const before = new Map([...list.children].map((row) => [row.dataset.song, row]));
  const rows = offers.map((offer, place) => {
    const row = before.get(offer.song.id) ?? rowOf(offer);
    before.delete(offer.song.id);
    refresh(row, offer, place === 0);
    return row;
  });
  if (
    rows.length !== list.children.length ||
    rows.some((row, place) => row !== list.children[place])
  )
    move(list, rows);
}

// An element that is moved loses the focus.
function move(list, rows) {
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const place = [...list.children].findIndex((row) => row.contains(focused));
  fill(list, rows);
  if (!focused) return;
  if (focused.isConnected) focused.focus({ preventScroll: true });
  else focusRow(list, place, focused.className);
}

// Who walks with the keyboard stays beside the song that is gone.
function focusRow(list, place, name) {
  const row = list.children[Math.min(place, list.children.length - 1)];
  const same = [...(row?.querySelectorAll("a, button") ?? [])].find(
    (one) => one.className === name,
  );
  (same ?? document.getElementById("coming-up"))?.focus({ preventScroll: true });
}

function rowOf({ song }) {
  const about = link(
    way("song", song.id),
    { class: "coming-title cut", title: song.title },
    song.title,
  );
  return h(
    "li",
    { dataset: { song: song.id } },
    h(
      "button.song-cover",
      {
        type: "button",
        "aria-label": `Play now: ${songName(song)}`,
        title: "Play now",
        onclick: () => radio.playSong(song),
      },
      coverOf(song, TINY),
      icon("play"),
    ),
    h("div.coming-words", {}, about, h("p.faint.small.cut", {}, song.artist ?? "Unknown artist")),
    h("div.coming-why.small", {}),
    h(
      "button.quiet.round.small.coming-remove",
      {
        type: "button",
        "aria-label": `Remove: ${songName(song)}`,
        title: "Remove",
        onclick: () => radio.dropSong(song),
      },
      icon("close"),
    ),
  );
}

function refresh(row, offer, isNext) {
  const expected = offer.why?.expected ?? null;
  const title = row.querySelector(".coming-title");
  row.classList.toggle("next", isNext);
  title.toggleAttribute("data-next-up", isNext);
  if (isNext) title.dataset.seq = offer.seq ?? "";
  else delete title.dataset.seq;
  fill(
    row.querySelector(".coming-why"),
    h("span.reason", { title: sentence(offer) }, reason(offer)),
    expected === null
      ? null
      : h("span.expected.number", { title: "Expected rating" }, icon("star"), rating(expected)),
  );
}

// ── The list as a whole ─────────────────────────────────────────────────────────────────

function tools() {
  const button = h(
    "button.quiet.small",
    {
      type: "button",
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      onclick: () => openMenu(button, "Coming up", items()),
    },
    icon("playlist"),
    "Keep this list",
  );
  return button;
}

// What was queued by hand is not in the radio's file: such a list is saved first.
function items() {
  const files = FORMATS.map(([format, label]) => ({
    label,
    icon: "download",
    href: radio.fileAddress(format),
  }));
  const isOwn = radio.coming.every((offer) => offer.mode !== "asked");
  return [
    { label: "Save as playlist", icon: "plus", run: save },
    ...(isOwn && radio.coming.length ? [null, ...files] : []),
  ];
}

async function save() {
  const songs = radio.coming.map(({ song }) => song.id);
  const field = h("input", {
    name: "name",
    required: true,
    maxlength: String(LONGEST_NAME),
    autocomplete: "off",
  });
  const name = await ask("Save as playlist", {
    body: [h("label.field", {}, h("span", {}, "Name"), field)],
    read: () => field.value.trim(),
  });
  if (!name) return;
  try {
    const saved = await call("POST", "/api/playlists", { name, songs });
    notice(`Saved as “${saved.name}”.`, {
      action: () => go(way("playlist", saved.id)),
      label: "Show",
    });
  } catch (error) {
    problem(error);
  }
}

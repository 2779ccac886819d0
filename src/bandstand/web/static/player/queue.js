// What comes next, as a list: the next song at once, those after it a moment later.

import { fill, h, icon } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { rating, songName } from "../app/words.js";
import { TINY, coverOf } from "./cover.js";
import { NOTHING } from "./playback.js";
import { dial } from "./dial.js";
import { keepList } from "./keep_list.js";
import { radio } from "./radio.js";
import { expectedStars, reasons, sentence } from "./reasons.js";

export function queue(signal, person) {
  const list = h("ol.coming", { role: "list" });
  const empty = h("p.faint");
  const section = h(
    "section.queue",
    { "aria-labelledby": "coming-up" },
    h(
      "div.queue-head",
      {},
      h("h2", { id: "coming-up", tabindex: "-1" }, "Coming up"),
      dial(signal),
      keepList({ isAdmin: person.role === "admin" }),
    ),
    empty,
    list,
  );
  const draw = () => {
    const offers = radio.coming;
    empty.hidden = offers.length > 0;
    empty.textContent = radio.hasNothing ? NOTHING : "Choosing …";
    update(list, offers);
  };
  // While the radio thinks again, what it says may hold no longer.
  const dim = () => list.setAttribute("aria-busy", String(radio.isLooking));
  radio.addEventListener("looking", dim, { signal });
  radio.addEventListener("upcoming", draw, { signal });
  radio.addEventListener("queue", draw, { signal });
  radio.watchQueue(signal);
  draw();
  dim();
  return section;
}

// Rows of songs that stay are kept, so that neither focus nor pictures jump.
function update(list, offers) {
  const before = new Map([...list.children].map((row) => [row.dataset.song, row]));
  const words = reasons(offers);
  const rows = offers.map((offer, place) => {
    const row = before.get(offer.song.id) ?? rowOf(offer);
    before.delete(offer.song.id);
    refresh(row, offer, { isNext: place === 0, word: words[place] });
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

function refresh(row, offer, { isNext, word }) {
  const expected = expectedStars(offer);
  const title = row.querySelector(".coming-title");
  row.classList.toggle("next", isNext);
  title.toggleAttribute("data-next-up", isNext);
  if (isNext) title.dataset.seq = offer.seq ?? "";
  else delete title.dataset.seq;
  fill(
    row.querySelector(".coming-why"),
    h("span.reason", { title: sentence(offer) }, word),
    expected === null
      ? null
      : h("span.expected.number", { title: "Expected rating" }, icon("star"), rating(expected)),
  );
}

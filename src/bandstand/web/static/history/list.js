// Events by day, each with a way to take it back.

import { fill, h, icon } from "../app/dom.js";
import { time } from "../app/words.js";
import { DRAWINGS, dayName, ending, isSameDay, sentence, spoken } from "./words.js";

const ENDINGS = new Set(["skip", "listen"]);

// Returns the days, and below them "Show more" if `more` is given.
export function days(events, { undo, more }) {
  return [byDay(events).map((some) => day(some, undo)), more ? further(more) : null];
}

// Draw again, and keep the focus.
export function redraw(place, ...children) {
  const seq = document.activeElement?.closest?.("[data-seq]")?.dataset.seq;
  fill(place, children);
  if (seq) focusOn(place, seq);
}

export function focusOn(place, seq) {
  place.querySelector(`[data-seq="${seq}"]`)?.focus();
}

function further(more) {
  const button = h("button.more", { type: "button" }, "Show more");
  button.addEventListener("click", () => {
    button.disabled = true;
    more().finally(() => (button.disabled = false));
  });
  return button;
}

function byDay(events) {
  const found = [];
  for (const event of events) {
    const before = found.at(-1)?.at(-1);
    if (before && isSameDay(new Date(before.at), new Date(event.at))) found.at(-1).push(event);
    else found.push([event]);
  }
  return found;
}

function day(events, undo) {
  return h(
    "section.day",
    {},
    h("h2", {}, dayName(events[0].at)),
    h(
      "ul.list",
      { role: "list" },
      arranged(events).map(({ event, isEnding }) => row(event, isEnding, undo)),
    ),
  );
}

// How a song that was rated has ended stands below its rating, and need not name it again.
function arranged(events) {
  const found = [];
  for (let at = 0; at < events.length; at++) {
    const [event, before] = [events[at], events[at + 1]];
    const isEnding =
      ENDINGS.has(event.kind) && before?.kind === "rating" && before.song === event.song;
    if (isEnding) at++;
    if (isEnding) found.push({ event: before, isEnding: false });
    found.push({ event, isEnding });
  }
  return found;
}

function row(event, isEnding, undo) {
  const isOver = event.is_retracted;
  const canUndo = !isOver && event.kind !== "retract";
  const classes = [isOver ? "over" : "", isEnding ? "ending" : ""].join(" ");
  return h(
    "li.event",
    { dataset: { seq: event.seq, kind: event.kind }, tabindex: "-1", class: classes },
    h("span.event-drawing", {}, icon(DRAWINGS[event.kind])),
    h(
      "p.event-words",
      {},
      h(isOver ? "s" : "span", {}, isEnding ? ending(event) : sentence(event)),
      isOver ? h("span.chip", {}, "Undone") : null,
    ),
    h("time.event-time.number", { datetime: new Date(event.at).toISOString() }, time(event.at)),
    h("span.event-undo", {}, canUndo ? undoButton(event, undo) : null),
  );
}

function undoButton(event, undo) {
  const button = h(
    "button.quiet.small",
    { type: "button", "aria-label": `Undo: ${spoken(event)}` },
    icon("undo"),
    h("span", {}, "Undo"),
  );
  button.addEventListener("click", () => {
    button.closest("[data-seq]").focus(); // a button that is disabled would lose it
    button.disabled = true;
    undo(event);
  });
  return button;
}

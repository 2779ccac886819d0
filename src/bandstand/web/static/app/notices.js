// Short messages at the bottom of the page, and questions that want an answer.

import { openDialog } from "./dialog.js";
import { fill, h } from "./dom.js";

const STAYS = 6_000; // milliseconds
const STAYS_WITH_ACTION = 10_000;
const MOST = 3;

const place = document.getElementById("notices");

// Show a message for a while; `undo`, or `action` with `label`, puts a button beside it.
// With `lasts` it stays until the returned function takes it away.
export function notice(text, { undo, action = undo, label = "Undo", lasts = false } = {}) {
  const element = h("div.notice", { class: action ? "" : "plain" }, h("span", {}, text));
  if (lasts) element.dataset.lasts = "yes";
  const remove = () => takeAway(element);
  if (action) {
    const run = () => {
      remove();
      action();
    };
    element.append(h("button.small", { type: "button", onclick: run }, label));
  }
  place.append(element);
  if (place.children.length > MOST) takeAway(oldest());
  if (!lasts) vanish(element, action ? STAYS_WITH_ACTION : STAYS);
  return remove;
}

// After its button was pressed by keyboard, the focus returns to where it was.
let before = null; // what had the focus outside

place.addEventListener("focusin", ({ relatedTarget }) => {
  if (!place.contains(relatedTarget)) before = relatedTarget;
});

function takeAway(element) {
  const isHeld = element?.contains(document.activeElement);
  element?.remove();
  if (!isHeld) return;
  const back = before?.isConnected ? before : document.getElementById("page");
  back.focus({ preventScroll: true });
}

// The oldest message that would vanish by itself.
function oldest() {
  return [...place.children].find((one) => !one.dataset.lasts);
}

// A message that is being read or used stays.
function vanish(element, milliseconds) {
  setTimeout(() => {
    if (element.matches(":hover, :focus-within")) vanish(element, 1_000);
    else element.remove();
  }, milliseconds);
}

// Say what went wrong; being logged out and a page that was left are no news.
export function problem(error) {
  if (error.name === "AbortError" || error.code === "login_required") return;
  notice(error.message);
}

// Ask something that is hard to take back. Resolves with whether it was confirmed.
export function confirm(
  question,
  { detail = "", yes = "Yes", no = "Cancel", danger = false } = {},
) {
  return ask(question, {
    body: detail ? [h("p.faint", {}, detail)] : [],
    yes,
    no,
    danger,
    read: () => true,
  }).then(Boolean);
}

// A dialog with a form. Resolves with what `read(form)` returns, or null if it was left.
export async function ask(question, { body, yes = "Save", no = "Cancel", danger = false, read }) {
  let found = null;
  const form = h("form.stack", { method: "dialog" });
  form.addEventListener("submit", () => (found = read(form)));
  const content = (close) => [
    body,
    h(
      "div.row",
      {},
      h("button", { type: "button", onclick: close }, no),
      h(danger ? "button.danger" : "button.main", { type: "submit" }, yes),
    ),
  ];
  await openDialog(question, content, { frame: form });
  return found;
}

export function clearNotices() {
  fill(place);
}

// What the settings are made of: sections, choices, and dialogs that stay until it worked.

import { openDialog } from "../app/dialog.js";
import { h } from "../app/dom.js";
import { notice } from "../app/notices.js";
import { complaints, guard } from "../auth/form.js";

// A heading with a word on it at the side, and the controls in a card.
export function section(id, title, intro, ...children) {
  return h(
    "section.setting",
    { "aria-labelledby": id },
    h("div.setting-head", {}, h("h2", { id }, title), intro ? h("p.small.faint", {}, intro) : null),
    h("div.card.stack.loose", {}, children),
  );
}

let unsay = () => {};

// A quiet word that it is done; the one before it has been read.
export function saved(text = "Saved.") {
  unsay();
  unsay = notice(text);
}

// choice("After a rating", [["never", "Stay"], …], value, save, hint): one of few.
// `save(value)` may fail; then the choice is as it was.
export function choice(label, options, value, save, hint = null) {
  const buttons = new Map();
  const mark = (chosen) =>
    buttons.forEach((button, name) => button.setAttribute("aria-pressed", name === chosen));
  let current = value;
  for (const [name, text] of options) {
    const choose = async () => {
      mark(name);
      if (await save(name)) current = name;
      else mark(current);
    };
    buttons.set(name, h("button", { type: "button", onclick: choose }, text));
  }
  mark(current);
  return h(
    "div.stack.tight",
    {},
    h("h3", {}, label),
    h("div.segmented", { role: "group", "aria-label": label }, [...buttons.values()]),
    hint ? h("p.hint", {}, hint) : null,
  );
}

let switches = 0;

export function toggle(label, isOn, save, hint) {
  const id = `switch-${++switches}`;
  const input = h("input", {
    id,
    type: "checkbox",
    role: "switch",
    checked: isOn,
    "aria-describedby": `${id}-hint`,
  });
  input.addEventListener("change", async () => {
    const wanted = input.checked;
    if (!(await save(wanted))) input.checked = !wanted;
  });
  return h(
    "div.stack.tight",
    {},
    h("label.switch", { for: id }, h("h3", {}, label), input),
    h("p.hint", { id: `${id}-hint` }, hint),
  );
}

// A dialog with a form that is left when `send()` has worked; what went wrong is said inside.
// Resolves with what `send` returned, or null if it was left.
export async function dialogForm(question, { body, yes, danger = false, send, say }) {
  let found = null;
  const form = h("form.stack");
  const place = complaints();
  const button = h(danger ? "button.danger" : "button.main", { type: "submit" }, yes);
  const content = (close) => {
    const act = async () => {
      found = await send();
      close();
    };
    guard(form, { place, button, say, send: act });
    const leave = h("button", { type: "button", onclick: close }, "Cancel");
    return [body, place, h("div.row", {}, leave, button)];
  };
  await openDialog(question, content, { frame: form });
  return found;
}

// What keepers of passwords look for beside the field.
export function userName(person) {
  return h("input", {
    type: "text",
    name: "username",
    autocomplete: "username",
    value: person.name,
    hidden: true,
    readonly: true,
  });
}

export const wrongPassword = (error) =>
  error.code === "wrong_password" ? "This is not your password." : null;

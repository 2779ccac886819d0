// Forms that show what went wrong, and that wait as long as the server asks.

import { h } from "../app/dom.js";
import { plural } from "../app/words.js";

// Returns a place for what went wrong with a form.
export function complaints() {
  return h("p.complaint", { role: "alert", hidden: true });
}

export function complain(place, text) {
  place.hidden = !text;
  place.textContent = text;
}

// Let a form be sent by `send()`; what it throws is said in `place`, by `say(problem)` where it
// has words of its own. While the server accepts no attempts, the button waits and says so.
export function guard(form, { place, button, send, say = () => null }) {
  let isBusy = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = button.disabled = true;
    complain(place, "");
    try {
      await send();
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (problem.status === 429) await waitOut(place, problem.retryAfter ?? 20);
      else complain(place, say(problem) ?? problem.message);
    } finally {
      isBusy = button.disabled = false;
    }
    // A button that waits lets go of the keyboard.
    if (!place.hidden && document.activeElement === document.body) button.focus();
  });
}

// The seconds are counted down for the eye only; a voice says once how many there are.
async function waitOut(place, seconds) {
  const sentence = (left) => `Too many attempts; try again in ${plural(left, "second")}.`;
  const shown = h("span", { "aria-hidden": "true" }, sentence(seconds));
  place.replaceChildren(h("span.unseen", {}, sentence(seconds)), shown);
  place.hidden = false;
  const until = Date.now() + 1_000 * seconds;
  await new Promise((resolve) => {
    const timer = setInterval(() => {
      const left = Math.ceil((until - Date.now()) / 1_000);
      if (left > 0 && place.isConnected) shown.textContent = sentence(left);
      else resolve(clearInterval(timer));
    }, 250);
  });
  complain(place, "You can try again now.");
}

let fields = 0;

// field("Name", { name: "name", autocomplete: "username" }, "A hint.") → { field, input }
export function field(label, properties, ...hints) {
  const id = `field-${++fields}`;
  const described = hints.length ? { "aria-describedby": `${id}-hint` } : {};
  const input = h("input", { id, type: "text", ...described, ...properties });
  const hint = hints.length ? h("div.hint", { id: `${id}-hint` }, hints) : null;
  return { input, field: h("div.field", {}, h("label", { for: id }, label), input, hint) };
}

// The same for a password, with a button that shows what is typed.
export function passwordField(label, properties, ...hints) {
  const made = field(label, { type: "password", ...AS_TYPED, ...properties }, ...hints);
  const eye = h("button.quiet.small", { type: "button", title: "Show what is typed" }, "Show");
  eye.addEventListener("click", () => {
    const isShown = made.input.type === "password";
    made.input.type = isShown ? "text" : "password";
    eye.textContent = isShown ? "Hide" : "Show";
    eye.title = isShown ? "Hide what is typed" : "Show what is typed";
  });
  const pair = h("div.with-eye");
  made.input.replaceWith(pair);
  pair.append(made.input, eye);
  return made;
}

// What a phone must not improve.
export const AS_TYPED = { autocapitalize: "none", autocorrect: "off", spellcheck: "false" };

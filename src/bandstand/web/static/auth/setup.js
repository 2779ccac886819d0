// The first start: the token from the console makes the first account.

import { call } from "../app/api.js";
import { h } from "../app/dom.js";
import { AS_TYPED, complain, complaints, field, guard } from "./form.js";
import { newPassword, sayPassword } from "./new_password.js";

export const title = "First start";

export function show(main, { onEnter, signal }) {
  const token = field(
    "Token",
    { name: "token", autocomplete: "off", ...AS_TYPED },
    "It stands in the terminal where Bandstand was started, or in the server’s log, and " +
      "works once:",
    terminal(),
  );
  const name = field("Name", {
    name: "username",
    autocomplete: "username",
    maxlength: 64,
    ...AS_TYPED,
  });
  const password = newPassword("Password", { nameOf: () => name.input.value });
  name.input.addEventListener("input", password.show);
  const button = h("button.main.wide", { type: "submit" }, "Create the account and start");
  const place = complaints();
  const fields = [token.field, name.field, password.field];
  const form = h("form.stack", { novalidate: true }, fields, place, button);
  guard(form, {
    place,
    button,
    say: inWords,
    send: async () => {
      const body = {
        token: token.input.value.trim(),
        name: name.input.value.trim(),
        password: password.input.value,
      };
      const wrong = missing(body, { token, name, password });
      if (wrong) return refuse(place, wrong);
      await call("POST", "/api/session/setup", body, { signal });
      await onEnter();
    },
  });
  main.append(
    h(
      "div.door.card.stack",
      {},
      h("h1", {}, "Welcome to Bandstand"),
      h(
        "p.faint",
        {},
        "A radio of your own music that learns what you like. Create the first account, which" +
          " manages all others. Then the music starts.",
      ),
      form,
    ),
  );
  token.input.focus();
}

// How it looks there.
function terminal() {
  return h(
    "pre.terminal",
    { "aria-hidden": "true" },
    "There is no account yet. …\n",
    h("b", {}, "    Xy0…the token…9zQ"),
  );
}

function missing(body, { token, name, password }) {
  if (!body.token) return [token.input, "Enter the token."];
  if (!body.name) return [name.input, "Enter a name."];
  const wrong = password.check();
  return wrong ? [password.input, wrong] : null;
}

function refuse(place, [input, text]) {
  complain(place, text);
  input.focus();
}

function inWords(problem) {
  if (problem.code === "wrong_token")
    return "This is not the token that the server has shown. After a restart there is a new one.";
  if (problem.status === 404)
    return "The first account has been made meanwhile. Reload the page to log in.";
  return sayPassword(problem);
}

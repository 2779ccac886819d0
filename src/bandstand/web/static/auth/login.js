// Who comes back: name and password.

import { call } from "../app/api.js";
import { h } from "../app/dom.js";
import { AS_TYPED, complain, complaints, field, guard, passwordField } from "./form.js";

export const title = "Log in";

export function show(main, { onEnter, signal }) {
  const name = field("Name", { name: "username", autocomplete: "username", ...AS_TYPED });
  const password = passwordField("Password", {
    name: "password",
    autocomplete: "current-password",
  });
  const button = h("button.main.wide", { type: "submit" }, "Log in");
  const place = complaints();
  const form = h("form.stack", { novalidate: true }, name.field, password.field, place, button);
  guard(form, {
    place,
    button,
    say: inWords,
    send: async () => {
      const missing = [name.input, password.input].find((input) => input.value === "");
      if (missing) return ask(place, missing);
      const body = { name: name.input.value, password: password.input.value };
      await call("POST", "/api/session", body, { signal });
      await onEnter();
    },
  });
  main.append(
    h(
      "div.door.card.stack",
      {},
      h("h1", {}, "Welcome back"),
      h(
        "p.faint",
        {},
        "Bandstand plays your own music, and learns what you like and when you are ready to" +
          " hear it again.",
      ),
      form,
      h(
        "p.hint",
        {},
        "No account, or forgotten your password? Ask the administrator of this server.",
      ),
    ),
  );
  name.input.focus();
}

function ask(place, input) {
  complain(place, input.name === "password" ? "Enter your password." : "Enter your name.");
  input.focus();
}

function inWords(problem) {
  return problem.code === "wrong_password" ? "Wrong name or password." : null;
}

// Apps and devices that have a password of their own.

import { showPanel } from "../app/dialog.js";
import { call } from "../app/api.js";
import { h } from "../app/dom.js";
import { problem } from "../app/notices.js";
import { load } from "../app/states.js";
import { date } from "../app/words.js";
import { field, passwordField } from "../auth/form.js";
import { dialogForm, saved, userName, wrongPassword } from "./pieces.js";

const SCOPES = [
  ["rate", "Play and rate: also mark, ban, undo and change playlists"],
  ["play", "Play: hear songs, and note what was heard"],
  ["read", "Read: see the library, your lists, your history and your taste"],
];
const MAY = { rate: "Plays and rates", play: "Plays", read: "Reads" };

export function apps(person, { signal }) {
  const place = h("div");
  const heading = h("h3", { tabindex: "-1" }, "Apps");
  const ask = () => call("GET", "/api/session/apps", undefined, { signal });
  const draw = ({ apps: found }) => [
    found.length
      ? h(
          "ul.list.devices",
          { role: "list" },
          found.map((app) => row(app, () => revoke(app))),
        )
      : null,
    h("button", { type: "button", onclick: add }, "Add an app…"),
  ];
  async function add() {
    const made = await newApp(person);
    if (!made) return;
    await showSecret(made, person);
    again();
  }
  async function revoke({ id, name }) {
    try {
      await call("DELETE", `/api/session/apps/${id}`);
      saved(`The password of ${name} is revoked.`);
      await again();
    } catch (error) {
      problem(error);
    }
  }
  async function again() {
    await load(place, ask, draw);
    heading.focus({ preventScroll: true });
  }
  load(place, ask, draw);
  const hint =
    "Each app or device gets a password of its own, which you can revoke here. Changing your own password revokes all of them.";
  return h("div.stack.tight", {}, heading, h("p.hint", {}, hint), place);
}

function row({ name, scope, created_at: since, used_at: used }, revoke) {
  const lately = used === null ? "never used" : `last used ${date(used)}`;
  return h(
    "li.row.apart",
    {},
    h(
      "div",
      {},
      h("p", {}, name),
      h("p.small.faint", {}, `${MAY[scope]}. Since ${date(since)}, ${lately}`),
    ),
    h(
      "button.small",
      { type: "button", "aria-label": `Revoke: ${name}`, onclick: revoke },
      "Revoke",
    ),
  );
}

// Resolves with what was made, or null.
function newApp(person) {
  const name = field("Name of the app or device", { required: true, maxlength: "64" });
  const scope = h(
    "select",
    { "aria-label": "What it may do" },
    SCOPES.map(([value, label]) => h("option", { value }, label)),
  );
  const password = passwordField("Your password", {
    name: "password",
    autocomplete: "current-password",
    required: true,
  });
  return dialogForm("Add an app", {
    body: [userName(person), name.field, scope, password.field],
    yes: "Make a password",
    say: wrongPassword,
    send: () =>
      call("POST", "/api/session/apps", {
        name: name.input.value,
        scope: scope.value,
        password: password.input.value,
      }),
  });
}

function showSecret({ name, secret }, person) {
  return showPanel(
    `The password for ${name}`,
    h(
      "div.stack",
      {},
      h("p", {}, `The app asks for a user name, ${person.name}, and a password or an API key:`),
      h("p.secret", {}, h("code", {}, secret)),
      h("p.hint", {}, "It is not shown again. If it is lost, revoke it and make another."),
    ),
  );
}

// One's password, devices and data; and leaving for good.

import { call } from "../app/api.js";
import { h, icon } from "../app/dom.js";
import { problem } from "../app/notices.js";
import * as storage from "../app/storage.js";
import { link } from "../app/router.js";
import { load } from "../app/states.js";
import { announce } from "../app/tabs.js";
import { date } from "../app/words.js";
import { passwordField } from "../auth/form.js";
import { newPassword, sayPassword } from "../auth/new_password.js";
import { demoNote, startAfresh } from "./demo_reset.js";
import { apps } from "./apps.js";
import { deviceName } from "./devices.js";
import { dialogForm, saved, userName, wrongPassword } from "./pieces.js";

// Returns what is in the section; the demo's listener has neither password nor devices.
export function account(person, { signal }) {
  if (person.guest) {
    return [
      h(
        "p",
        {},
        "This is a demo: everyone who opens it on this computer listens as its guest, without a " +
          "password. What you rate is still known the next time.",
      ),
      demoNote(person) ?? h("div", {}, startAfresh(person)),
      takeAlong(),
    ];
  }
  return [
    h(
      "div.row.apart",
      {},
      h("div", {}, h("h3", {}, person.name), h("p.small.faint", {}, ROLES[person.role])),
      h("button", { type: "button", onclick: () => changePassword(person) }, "Change password…"),
    ),
    devices({ signal }),
    apps(person, { signal }),
    takeAlong(),
    farewell(person),
  ];
}

const ROLES = {
  admin: "Administrator: looks after the accounts and the library",
  listener: "Listener",
};

// ── The password ────────────────────────────────────────────────────────────────────────

async function changePassword(person) {
  const old = passwordField("Old password", {
    name: "password",
    autocomplete: "current-password",
    required: true,
  });
  const fresh = newPassword("New password", { nameOf: () => person.name, required: true });
  const isDone = await dialogForm("Change password", {
    body: [
      userName(person),
      old.field,
      fresh.field,
      h("p.hint", {}, "All other devices and all apps are logged out."),
    ],
    yes: "Change password",
    say: (error) => wrongPassword(error) ?? sayPassword(error),
    send: async () => {
      const wrong = fresh.check();
      if (wrong) throw new Error(wrong);
      await call("PUT", "/api/session/password", { old: old.input.value, new: fresh.input.value });
      return true;
    },
  });
  if (isDone) saved("The password is changed.");
}

// ── Devices ─────────────────────────────────────────────────────────────────────────────

function devices({ signal }) {
  const place = h("div");
  const ask = () => call("GET", "/api/session/devices", undefined, { signal });
  const draw = ({ devices: found }) => [
    h("ul.list.devices", { role: "list" }, [...found].sort(currentFirst).map(device)),
    found.length > 1
      ? h("button", { type: "button", onclick: endOthers }, "Log out everywhere else")
      : h("p.hint", {}, "You are logged in nowhere else."),
  ];
  async function endOthers() {
    try {
      await call("DELETE", "/api/session/devices", undefined, { signal });
      saved("You are logged out everywhere else.");
      await load(place, ask, draw);
    } catch (error) {
      problem(error);
    }
  }
  load(place, ask, draw);
  return h("div.stack.tight", {}, h("h3", {}, "Where you are logged in"), place);
}

const currentFirst = (one, other) =>
  other.is_current - one.is_current || other.created_at - one.created_at;

function device({ client, created_at: since, expires_at: until, is_current: isHere }) {
  return h(
    "li",
    { title: client },
    h("p.row", {}, deviceName(client), isHere ? h("span.chip", {}, "This one") : null),
    h("p.small.faint", {}, `Since ${date(since)}, until ${date(until)}`),
  );
}

// ── Data ────────────────────────────────────────────────────────────────────────────────

function takeAlong() {
  return h(
    "div.stack.tight",
    {},
    h("h3", {}, "Your data"),
    h(
      "p.hint",
      {},
      "Everything that is stored about you, as a text file that programs can read too: " +
        "account, settings, history, playlists, and your ratings in studies.",
    ),
    h(
      "div",
      {},
      link(
        "/api/history/export",
        { class: "button", download: "" },
        icon("download"),
        "Export my data",
      ),
    ),
  );
}

function farewell(person) {
  return h(
    "div.stack.tight",
    {},
    h("h3", {}, "Leave for good"),
    h("p.hint", {}, "Removes your account and everything that is known about you."),
    h(
      "div",
      {},
      h(
        "button.danger",
        { type: "button", onclick: () => leave(person) },
        icon("trash"),
        "Delete me…",
      ),
    ),
  );
}

async function leave(person) {
  const password = passwordField("Password", {
    name: "password",
    autocomplete: "current-password",
    required: true,
  });
  const isGone = await dialogForm("Delete your account?", {
    body: [
      h("p", {}, "These are removed at once and cannot be restored:"),
      h(
        "ul.goes",
        {},
        GOES.map((what) => h("li", {}, what)),
      ),
      h(
        "p.faint.small",
        {},
        "The music stays, and so do backups that the administrator of this server has made " +
          "before. You can export your data first.",
      ),
      userName(person),
      password.field,
    ],
    yes: "Delete me",
    danger: true,
    say: wrongPassword,
    send: async () => {
      await call("DELETE", "/api/settings/account", { password: password.input.value });
      return true;
    },
  });
  if (!isGone) return;
  for (const what of ["outbox", "study"])
    storage.namesBelow(`${what}.${person.id}.`).forEach(storage.remove);
  announce("session");
  location.reload();
}

const GOES = [
  "your account, its name and password",
  "every rating, skip and song you heard, and what the radio has learned from it",
  "what you never want to hear again, and what not now",
  "your favourites, playlists and settings",
  "your logins, on every device and in every app",
];

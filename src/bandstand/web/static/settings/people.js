// Who may listen, for administrators. What others hear is never shown.

import { call } from "../app/api.js";
import { h, icon } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { empty, load } from "../app/states.js";
import { date, plural } from "../app/words.js";
import { AS_TYPED, field } from "../auth/form.js";
import { newPassword, sayPassword } from "../auth/new_password.js";
import { dialogForm, saved } from "./pieces.js";

export const title = "People";

export async function show(main, { person, signal }) {
  main.append(h("p.small", {}, link(way("settings"), { class: "back" }, "Settings")));
  if (person.role !== "admin") {
    main.append(h("h1", {}, title), empty("people", "This page is for administrators."));
    return;
  }
  const list = h("div");
  const ask = () => call("GET", "/api/admin/users", undefined, { signal });
  const renew = () => load(list, ask, ({ users }) => drawn(users, person, renew));
  const add = async () => (await addPerson()) && renew();
  main.append(
    h(
      "header.row.apart.people-head",
      {},
      h("h1", {}, title),
      h("button.main", { type: "button", onclick: add }, icon("plus"), "Add a person"),
    ),
    h(
      "p.faint.people-intro",
      {},
      "The people who may listen here. Each has a history, a taste and playlists of their own, which " +
        "no other account can see, administrators included.",
    ),
    list,
  );
  await renew();
}

function drawn(users, person, renew) {
  const items = users.map((user) => row(user, user.id === person.id, renew));
  return [
    h("ul.list.card.people", { role: "list" }, items),
    h("p.small.faint.people-count", {}, plural(users.length, "account")),
  ];
}

function row(user, isMe, renew) {
  const change = async () => (await changePerson(user, isMe)) && renew();
  const remove = async () => (await removePerson(user)) && renew();
  const chips = [
    isMe ? "You" : null,
    user.role === "admin" ? "Administrator" : null,
    user.disabled ? "Disabled" : null,
    user.has_password ? null : "No password",
  ].filter(Boolean);
  return h(
    "li.person",
    { class: user.disabled ? "is-disabled" : "" },
    h("span.face", { "aria-hidden": "true" }, [...user.name][0].toUpperCase()),
    h(
      "div",
      {},
      h(
        "p.row.tight",
        {},
        h("b", {}, user.name),
        chips.map((text) => h("span.chip", {}, text)),
      ),
      h("p.small.faint", {}, `Since ${date(user.created_at)}`),
    ),
    h(
      "div.row.person-actions",
      {},
      h(
        "button.small",
        { type: "button", "aria-label": `Change ${user.name}`, onclick: change },
        "Change…",
      ),
      isMe
        ? null
        : h(
            "button.small.danger",
            { type: "button", "aria-label": `Remove ${user.name}`, onclick: remove },
            "Remove…",
          ),
    ),
  );
}

// ── Adding ──────────────────────────────────────────────────────────────────────────────

async function addPerson() {
  const name = nameField("");
  const password = newPassword("Password", { nameOf: () => name.input.value, required: true });
  const role = roleField("listener");
  const added = await dialogForm("Add a person", {
    body: [name.field, password.field, role.field],
    yes: "Add",
    say: inWords,
    send: () => {
      insist(password.check());
      const body = {
        name: name.input.value.trim(),
        password: password.input.value,
        role: role.input.value,
      };
      return call("POST", "/api/admin/users", body);
    },
  });
  if (added) saved(`${added.name} may listen now.`);
  return added;
}

// ── Changing ────────────────────────────────────────────────────────────────────────────

async function changePerson(user, isMe) {
  const name = nameField(user.name);
  const password = newPassword("New password", {
    nameOf: () => name.input.value,
    placeholder: "As it is",
  });
  const role = roleField(user.role);
  const isIn = h("input", { type: "checkbox", role: "switch", checked: !user.disabled });
  const others = [
    password.field,
    h("p.hint", {}, "A new password logs this person out everywhere."),
    role.field,
    h("label.switch", {}, h("span", {}, "May log in"), isIn),
  ];
  const mine = h(
    "p.hint",
    {},
    "Your own password is changed in the settings, and your role by another administrator.",
  );
  const changed = await dialogForm(`Change ${user.name}`, {
    body: [name.field, isMe ? mine : others],
    yes: "Save",
    say: inWords,
    send: () => {
      if (password.input.value) insist(password.check());
      const wanted = {
        name: name.input.value.trim(),
        role: role.input.value,
        disabled: !isIn.checked,
      };
      const changes = Object.fromEntries(
        Object.entries(wanted).filter(([key, value]) => value !== user[key]),
      );
      if (password.input.value) changes.password = password.input.value;
      return Object.keys(changes).length ? call("PATCH", userAddress(user), changes) : user;
    },
  });
  if (!changed || changed === user) return false;
  saved(`Saved ${changed.name}.`);
  if (isMe) location.reload(); // the name stands in other places too
  return true;
}

// ── Removing ────────────────────────────────────────────────────────────────────────────

async function removePerson(user) {
  const typed = field(`Type “${user.name}” to confirm`, {
    autocomplete: "off",
    required: true,
    ...AS_TYPED,
  });
  const isGone = await dialogForm(`Remove ${user.name}?`, {
    body: [
      h(
        "p",
        {},
        "The account is removed at once, with its history, what the radio has learned, playlists " +
          "and settings. This cannot be undone. To lock a listener out without losing all that, " +
          "change the person and switch “May log in” off.",
      ),
      typed.field,
    ],
    yes: "Remove for good",
    danger: true,
    say: inWords,
    send: async () => {
      insist(typed.input.value.trim() === user.name ? "" : "That is not the name.");
      await call("DELETE", userAddress(user));
      return true;
    },
  });
  if (isGone) saved(`${user.name} is removed.`);
  return isGone;
}

// ── Pieces ──────────────────────────────────────────────────────────────────────────────

const userAddress = (user) => `/api/admin/users/${encodeURIComponent(user.id)}`;

function nameField(value) {
  return field("Name", { value, maxlength: 64, required: true, autocomplete: "off", ...AS_TYPED });
}

function roleField(value) {
  const option = ([name, text]) => h("option", { value: name, selected: name === value }, text);
  const input = h(
    "select",
    {},
    [
      ["listener", "Listener"],
      ["admin", "Administrator"],
    ].map(option),
  );
  const hint = h(
    "span.hint",
    {},
    "An administrator looks after accounts and the library, and cannot see what others hear.",
  );
  return { input, field: h("label.field", {}, h("span", {}, "Role"), input, hint) };
}

function insist(wrong) {
  if (wrong) throw new Error(wrong);
}

function inWords(problem) {
  if (problem.code === "name_taken") return "Another account has this name already.";
  if (problem.code === "last_admin")
    return "This is the last administrator who can log in; there must be one.";
  return sayPassword(problem);
}

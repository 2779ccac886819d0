// Other servers that get what the listener hears.

import { call } from "../app/api.js";
import { h } from "../app/dom.js";
import { problem } from "../app/notices.js";
import { load } from "../app/states.js";
import { date } from "../app/words.js";
import { field } from "../auth/form.js";
import { dialogForm, saved } from "./pieces.js";

export function scrobbling({ signal }) {
  const place = h("div");
  const ask = () => call("GET", "/api/settings/scrobbling", undefined, { signal });
  const draw = ({ targets }) => [
    targets.length
      ? h(
          "ul.list.devices",
          { role: "list" },
          targets.map((target) => row(target, () => remove(target))),
        )
      : null,
    h("button", { type: "button", onclick: add }, "Add a server…"),
  ];
  const again = () => load(place, ask, draw);
  async function add() {
    const made = await newTarget();
    if (!made) return;
    saved(`What you hear from now on is sent to ${made.url}.`);
    await again();
  }
  async function remove({ id, url }) {
    try {
      await call("DELETE", `/api/settings/scrobbling/${id}`);
      saved(`Nothing more is sent to ${url}.`);
      await again();
    } catch (error) {
      problem(error);
    }
  }
  again();
  const hint =
    "A server gets each song that you heard half or for four minutes, what plays now, and your favourites. " +
    "What it has got stays there, also after an undo here.";
  return h("div.stack.tight", {}, h("p.hint", {}, hint), place);
}

function row({ url, delivered_at: at, problem: reason, wait_until: until, refusal }, remove) {
  const state = at === null ? "nothing sent yet" : `last sent ${date(at)}`;
  return h(
    "li.row.apart",
    {},
    h(
      "div",
      {},
      h("p", {}, url),
      h("p.small.faint", {}, `Since you added it: ${state}`),
      reason ? h("p.small", {}, `Waiting: ${reason}. Next try ${date(until)}.`) : null,
      refusal ? h("p.small", {}, `It did not take the last song of some: ${refusal}.`) : null,
    ),
    h(
      "button.small",
      { type: "button", "aria-label": `Remove: ${url}`, onclick: remove },
      "Remove",
    ),
  );
}

// Resolves with what was made, or null.
function newTarget() {
  const url = field("Address", { type: "url" }, "Empty for ListenBrainz itself.");
  const token = field("Token", { required: true, autocomplete: "off", maxlength: "300" });
  return dialogForm("Add a server", {
    body: [
      h(
        "p.hint",
        {},
        "It speaks ListenBrainz: Koito, Maloja and others do, too. Its page shows the token.",
      ),
      url.field,
      token.field,
    ],
    yes: "Send what I hear",
    send: () =>
      call("PUT", "/api/settings/scrobbling", {
        url: url.input.value || undefined,
        token: token.input.value.trim(),
      }),
  });
}

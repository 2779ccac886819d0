// Leaving the study for good.

import { h } from "../app/dom.js";
import { AS_TYPED, field } from "../auth/form.js";
import { dialogForm } from "../settings/pieces.js";
import * as studyApi from "./study_api.js";
import { refusalWords } from "./words.js";

const WORD = "withdraw";

export function withdrawButton(study, { person, onGone }) {
  const open = async () => {
    if (!(await asked(study))) return;
    studyApi.forget(person.id);
    onGone();
  };
  return h("button.danger", { type: "button", onclick: open }, "Withdraw from the study…");
}

// Resolves with whether it is done. A typed word is no slip of the finger.
function asked({ only }) {
  const word = field(`Type “${WORD}” to confirm`, {
    name: "confirm",
    autocomplete: "off",
    "aria-required": "true", // what is missing is said by our own words
    ...AS_TYPED,
  });
  return dialogForm("Withdraw from the study?", {
    body: [
      h("p", {}, "These are removed at once and cannot be restored:"),
      h(
        "ul.goes",
        {},
        (only ? [...GOES, "your account, its name and password"] : GOES).map((what) =>
          h("li", {}, what),
        ),
      ),
      h(
        "p.faint.small",
        {},
        "Backups that the administrator of this server has made before are not changed. You can " +
          "export your data first, from your account.",
      ),
      word.field,
    ],
    yes: "Withdraw",
    danger: true,
    say: refusalWords,
    send: async () => {
      const typed = word.input.value.trim().toLowerCase();
      if (!typed) throw new Error(`Type the word “${WORD}” first.`);
      if (typed !== WORD) throw new Error(`Type the word “${WORD}”; this is “${typed}”.`);
      await studyApi.withdraw(WORD);
      return true;
    },
  });
}

const GOES = [
  "every rating you gave in the study",
  "your place in it: your parts, and what they learned from you",
];

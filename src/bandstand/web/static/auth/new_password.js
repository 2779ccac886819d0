// A password that is to be: its rules are said before they are broken, and checked while typing.

import { fill, h, icon } from "../app/dom.js";
import { passwordField } from "./form.js";

const SHORTEST = 10; // characters; the server's rules, which it checks once more
const FEWEST_DIFFERENT = 5;

// Returns { field, input, check() }; check returns what is wrong in words, or "".
// `nameOf` returns the name of whom it is for.
export function newPassword(label, { nameOf = () => "", ...properties } = {}) {
  const rules = h("ul.password-rules", { role: "list" });
  const made = passwordField(
    label,
    { name: "new-password", autocomplete: "new-password", ...properties },
    rules,
  );
  const show = () => fill(rules, judged(made.input.value, nameOf()).map(shown));
  made.input.addEventListener("input", show);
  show();
  return { ...made, show, check: () => wrong(made.input.value, nameOf()) };
}

function judged(password, name) {
  const letters = [...password];
  const missing = SHORTEST - letters.length;
  const length = `At least ${SHORTEST} characters`;
  const isName = name !== "" && password.toLowerCase().trim() === name.toLowerCase().trim();
  return [
    {
      isMet: missing <= 0,
      text: password && missing > 0 ? `${length}: ${missing} more` : length,
    },
    {
      isMet: password !== "" && new Set(letters).size >= FEWEST_DIFFERENT && !isName,
      text: `At least ${FEWEST_DIFFERENT} different characters, not your name`,
    },
    { isMet: null, text: "No common word, no row of keys" },
  ];
}

// What only the server can tell has a plain mark, whatever is typed.
function shown({ isMet, text }) {
  return h(
    "li",
    { class: isMet ? "met" : "" },
    isMet ? icon("check") : h("span.mark", { "aria-hidden": "true" }),
    h("span", {}, isMet ? h("span.unseen", {}, "Done: ") : null, text),
  );
}

function wrong(password, name) {
  const broken = judged(password, name).find(({ isMet }) => isMet === false);
  return broken ? `The password needs: ${lowerFirst(broken.text)}.` : "";
}

// What one can do about a password that the server refuses.
export function sayPassword(problem) {
  if (problem.code !== "weak_password") return null;
  return (
    "This password is one of the first that an attacker would try. Take another one, such as a" +
    " few words that make you smile."
  );
}

const lowerFirst = (text) => text.charAt(0).toLowerCase() + text.slice(1);

// Consent: what the study is about, what it takes, and the agreement.

import { h } from "../app/dom.js";
import { complain, complaints, guard } from "../auth/form.js";
import { ruleWords } from "./words.js";

// `onAgree()` sends it; what goes wrong is said beside the button.
export function consentView(study, { onAgree }) {
  return h(
    "div.study-sheet",
    {},
    h("p.study-eyebrow", {}, "A listening study"),
    h("h1", {}, study.title),
    h("div.stack", {}, paragraphs(study.consent)),
    rulesCard(study),
    agreement(study, onAgree),
  );
}

// Text as it was written: an empty line begins another paragraph.
export function paragraphs(text) {
  const parts = text.split(/\n\s*\n/).map((part) => part.trim());
  return parts.filter(Boolean).map((part) => h("p", {}, part));
}

export function rulesCard({ rules, parts }) {
  return h(
    "section.card.stack",
    { "aria-labelledby": "study-rules" },
    h("h2", { id: "study-rules" }, "What it takes"),
    h(
      "ul.study-rules",
      {},
      ruleWords(rules, parts).map((text) => h("li", {}, text)),
    ),
  );
}

function agreement(study, onAgree) {
  const box = h("input", { type: "checkbox", id: "study-agree" });
  const button = h("button.main.study-go", { type: "submit" }, "Take part");
  const place = complaints();
  const form = h(
    "form.stack",
    { novalidate: true },
    h(
      "label.study-agree",
      { for: box.id },
      box,
      h("span", {}, "I have read this and want to take part."),
    ),
    place,
    h("div", {}, button),
    h(
      "p.hint",
      {},
      "Nothing is noted before you agree. You can withdraw at any time, without giving a reason.",
      study.only
        ? " Then your account and all your ratings are deleted at once."
        : " Then all your ratings of the study are deleted at once.",
    ),
  );
  guard(form, {
    place,
    button,
    send: async () => {
      if (box.checked) return onAgree();
      complain(place, "Tick the box above if you want to take part.");
      box.focus();
    },
  });
  return form;
}

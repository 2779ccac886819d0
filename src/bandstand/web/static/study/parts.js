// Where one stands between two songs: which part, what comes next and when, and all parts.

import { h, icon } from "../app/dom.js";
import { link, way } from "../app/router.js";
import { clock, plural } from "../app/words.js";
import { paragraphs, rulesCard } from "./consent.js";
import { countDown, momentIn } from "./countdown.js";
import { withdrawButton } from "./withdraw.js";
import { apartWords, atWords, effort, untilWords } from "./words.js";

// `onGo()` begins the next part or goes on with one; `onEnd()` is called when the wait is over.
export function partsView(study, { person, signal, onGo, onEnd, onGone }) {
  return h(
    "div.study-sheet",
    {},
    h("p.study-eyebrow", {}, study.title),
    FACES[study.state](study, { signal, onGo, onEnd }),
    partsList(study),
    about(study, { person, onGone }),
  );
}

// ── What is to be done now ──────────────────────────────────────────────────────────────

const FACES = { begin: beginning, listen: goingOn, rest: resting, wait: waiting, done: finished };

function beginning(study, { onGo }) {
  const { place, parts, rules } = study;
  const songs = plural(rules.ratings_per_arm, "song");
  return card(
    h("h1", {}, `Part ${place} of ${parts}`),
    h("p", {}, `${songs}, ${effort(rules)}. Stop and go on whenever you like; nothing is lost.`),
    headphones(),
    goButton(`Begin part ${place}`, { onGo }),
  );
}

const headphones = () =>
  h("p.faint", {}, "Find a quiet moment, and headphones if you have some. Then begin.");

function goingOn(study, { onGo }) {
  const { place, parts } = study;
  const { rated, of } = armUnderWay(study);
  return card(
    h("h1", {}, `Part ${place} of ${parts}`),
    h(
      "p",
      {},
      rated
        ? `You have rated ${rated} of ${plural(of, "song")}.`
        : "The first song is waiting for you.",
    ),
    bar({ rated, of }, `Part ${place}`),
    goButton(`Go on with song ${rated + 1}`, { onGo }),
  );
}

function resting(study, { signal, onGo, onEnd }) {
  const { rated, of } = armUnderWay(study);
  const moment = momentIn(study.wait_seconds);
  const left = h("p.study-clock.number", { role: "timer", "aria-label": "Left of the break" });
  countDown(moment, { signal, onEnd, onTick: (seconds) => (left.textContent = clock(seconds)) });
  return card(
    h("div.study-mark", {}, icon("cup")),
    h("h1", {}, "Time for a break"),
    h(
      "p",
      {},
      `${rated} of ${plural(of, "song")} are rated. Rest your ears a little: it keeps your ratings fresh.`,
    ),
    left,
    h("p", {}, `You can go on ${atWords(moment)}. Leave this page open if you like; it says when.`),
    goButton("Go on", { onGo, isLocked: true }),
  );
}

function waiting(study, { signal, onGo, onEnd }) {
  const { place } = study;
  const moment = momentIn(study.wait_seconds);
  const when = h("p.study-when");
  const tell = () => {
    const text = `You can begin part ${place} ${untilWords(moment)}.`;
    if (when.textContent !== text) when.textContent = text;
  };
  countDown(moment, { signal, onEnd, onTick: tell });
  return card(
    h("div.study-mark.good", {}, icon("check")),
    h("h1", {}, place > 1 ? `Part ${place - 1} is done. Thank you.` : `Part ${place} comes later`),
    when,
    h(
      "p.faint",
      {},
      `${apartWords(study.rules, study.parts)} This keeps one part from colouring the next.`,
    ),
    goButton(`Begin part ${place}`, { onGo, isLocked: true }),
  );
}

function finished(study) {
  const parts = study.parts === 2 ? "both parts" : `all ${plural(study.parts, "part")}`;
  const total = study.arms.reduce((sum, { rated }) => sum + rated, 0);
  return card(
    h("div.study-mark.good", {}, icon("check")),
    h("h1", {}, "All done. Thank you."),
    h(
      "p",
      {},
      `You have finished ${parts} and rated ${plural(total, "song")}. ` +
        "There is nothing more to do.",
    ),
    study.only
      ? null
      : h("div", {}, link(way(""), { class: "button" }, icon("radio"), "To the radio")),
  );
}

const card = (...children) =>
  h("section.card.study-now", { "aria-label": "What comes next" }, children);

function goButton(label, { onGo, isLocked = false }) {
  const properties = { type: "button", onclick: onGo, disabled: isLocked };
  return h("button.main.study-go", properties, icon("play"), label);
}

const armUnderWay = ({ arms, place }) => arms.find((arm) => arm.place === place);

// ── All parts ───────────────────────────────────────────────────────────────────────────

function partsList({ arms }) {
  return h(
    "section.stack.tight",
    { "aria-labelledby": "study-parts" },
    h("h2", { id: "study-parts" }, "Your parts"),
    h("ol.study-parts", {}, arms.map(partRow)),
  );
}

function partRow(arm) {
  const name = `Part ${arm.place}`;
  return h(
    "li",
    { class: arm.state, "aria-current": arm.state === "open" ? "step" : null },
    h(
      "span.study-dot",
      { "aria-hidden": "true" },
      arm.state === "done" ? icon("check") : String(arm.place),
    ),
    h("span", {}, name),
    arm.state === "open" ? bar(arm, name) : h("span"),
    h("span.small.faint.number", {}, STATES[arm.state](arm)),
  );
}

const STATES = {
  done: () => "Done",
  open: ({ rated, of }) => `${rated} of ${of}`,
  waiting: () => "Not begun",
};

export function bar({ rated, of }, label) {
  return h("progress.study-bar", { max: of, value: rated, "aria-label": `${label}: songs rated` });
}

// ── What it was about, and the way out ──────────────────────────────────────────────────

function about(study, { person, onGone }) {
  return h(
    "details.study-about",
    {},
    h("summary", {}, h("h2", {}, "About this study")),
    h(
      "div.stack.loose",
      {},
      h("div.stack", {}, paragraphs(study.consent)),
      rulesCard(study),
      h(
        "div.stack.tight",
        {},
        h("h3", {}, "Withdraw"),
        h(
          "p.hint",
          {},
          "You can leave the study at any time. What you gave is then deleted at once.",
        ),
        h("div", {}, withdrawButton(study, { person, onGone })),
      ),
    ),
  );
}

// Histories of other services: choosing a file, what was found in it, and taking it back.

import { address, call } from "../app/api.js";
import { h } from "../app/dom.js";
import { problem } from "../app/notices.js";
import { send } from "../app/outbox.js";
import { load } from "../app/states.js";
import { date, plural } from "../app/words.js";
import { radio } from "../player/radio.js";
import { saved } from "./pieces.js";

const MAX_BYTES = 64e6; // as the server has it
const WAYS = {
  mbid: "by MusicBrainz recording",
  name: "by artist and title",
  version: "as another version",
};

export function imports({ signal }) {
  const place = h("div");
  const words = h("p.hint");
  const input = h("input", { id: "import-file", type: "file" });
  const listener = h("input", { id: "import-listener", type: "text", maxlength: "200" });
  const button = h("button", { type: "submit" }, "Import");
  const ask = () => call("GET", "/api/history/imports", undefined, { signal });
  const draw = ({ imports: found }) =>
    found.length
      ? h(
          "ul.list",
          { role: "list" },
          found.map((one) => row(one, undo)),
        )
      : null;
  const again = () => load(place, ask, draw);

  async function bring(event) {
    event.preventDefault();
    const [file] = input.files;
    if (!file) return;
    if (file.size > MAX_BYTES) {
      problem(new Error("The file is larger than 64 MB. Import it on the server's command line."));
      return;
    }
    button.disabled = true;
    words.textContent = `Reading ${file.name} …`;
    try {
      const where = { name: file.name.slice(-200), listener: listener.value.trim() };
      const made = await call("POST", address("/api/history/imports", where), file, { signal });
      saved(`${inWords(made.report)}.`);
      input.value = "";
      radio.refresh();
      await again();
    } catch (error) {
      problem(error);
    } finally {
      words.textContent = "";
      button.disabled = false;
    }
  }
  async function undo({ seq }) {
    if (!(await send({ kind: "retract", retracts: seq }))) return;
    saved("The import is taken back.");
    radio.refresh();
    await again();
  }
  again();
  return [
    h(
      "form.stack",
      { onsubmit: bring },
      field("import-file", "File", input),
      field("import-listener", "Whose, if it has several people's", listener),
      h("div.row", {}, button),
      words,
    ),
    h(
      "p.hint",
      {},
      "Exports of Spotify, Last.fm and ListenBrainz, a library of iTunes, or a table with artist, " +
        "track and time. The same play in several files counts once. Nothing leaves this server.",
    ),
    place,
  ];
}

const field = (id, label, input) => h("label.field", { for: id }, h("span", {}, label), input);

function row(one, undo) {
  const { report } = one;
  const formats = [...new Set(report.files.map((file) => file.format))].join(", ");
  return h(
    "li.row.apart",
    {},
    h(
      "div",
      {},
      h("p", {}, `${formats}, ${date(one.at)}`),
      h("p.small.faint", {}, inWords(report)),
      h("details.small", {}, h("summary", {}, "What was found"), h("ul", {}, details(report))),
    ),
    h(
      "button.small",
      {
        type: "button",
        "aria-label": `Take back: ${formats}, ${date(one.at)}`,
        onclick: () => undo(one),
      },
      "Take back",
    ),
  );
}

const inWords = ({ matched, read, songs }) =>
  `${matched.toLocaleString("en-GB")} of ${plural(read, "entry", "entries")} found, ` +
  `of ${plural(songs, "song", "songs")}`;

function details(report) {
  const found = Object.entries(report.ways).map(([way, count]) =>
    h("li", {}, `${count.toLocaleString("en-GB")} found ${WAYS[way]}`),
  );
  const leftOut = report.files.flatMap((file) =>
    Object.entries(file.left_out).map(([reason, count]) =>
      h("li", {}, `${count.toLocaleString("en-GB")} left out: ${reason}`),
    ),
  );
  const missing = report.unmatched.map(({ reason, plays, examples }) =>
    h("li", {}, `${plays.toLocaleString("en-GB")} ${reason}, such as ${examples.join("; ")}`),
  );
  return [...found, ...leftOut, ...missing];
}

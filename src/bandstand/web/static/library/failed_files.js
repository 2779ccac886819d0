// The files that could not be read, each with the reason.

import { address, call } from "../app/api.js";
import { fill, h } from "../app/dom.js";
import { load } from "../app/states.js";
import { plural } from "../app/words.js";
import { endless } from "./endless.js";

const AT_ONCE = 100;
const MOST = 1_000;
const WORTH_SEARCHING = 8; // files
const NONE = "None: every file could be read.";
const SO_FAR = "None so far.";

// While a scan is under way, more may come.
export function failedFiles(place, { isBusy, signal }) {
  return load(
    place,
    () => page(0, signal),
    (start) => (start.total ? drawn(start, signal) : h("p.faint", {}, isBusy ? SO_FAR : NONE)),
  );
}

async function page(offset, signal, limit = AT_ONCE) {
  const wanted = address("/api/admin/problems", { offset, limit });
  const { problems, total, folders } = await call("GET", wanted, undefined, { signal });
  const reached = offset + problems.length;
  const items = problems.map((file) => ({ ...file, shown: below(folders, file.path) }));
  return { items, total, next: problems.length && reached < total ? reached : null };
}

// A path as of the library's folder: its name and what is below it.
function below(folders, path) {
  const around = folders.filter((folder) => path.startsWith(`${folder}/`));
  const shortest = Math.min(...around.map((folder) => folder.length));
  return around.length ? path.slice(path.lastIndexOf("/", shortest - 1) + 1) : path;
}

function drawn(start, signal) {
  const list = rows([]);
  const ask = (offset) => page(offset, signal);
  const { foot } = endless(list, { start, ask, draw: row, signal });
  const all = h("div", {}, list, foot);
  const found = h("div", { hidden: true });
  const field = start.total < WORTH_SEARCHING ? null : searchField(all, found, signal);
  const count = `${plural(start.total, "file")} cannot be played.`;
  const note = h("p.faint.small", {}, count, " A changed file is read again by the next scan.");
  return h("div.stack", {}, note, field, all, found);
}

const rows = (files) => h("ul.list.failed-files", { role: "list" }, files.map(row));

function row({ path, shown, reason }) {
  const cut = shown.lastIndexOf("/") + 1;
  return h(
    "li",
    {},
    h("p.path", { title: path }, h("span.faint", {}, shown.slice(0, cut)), shown.slice(cut)),
    h("p.faint.small", {}, reason),
  );
}

// Searches the first thousand, which are fetched at the first search.
function searchField(all, found, signal) {
  let every = null;
  const field = h("input", {
    type: "search",
    "aria-label": "Search failed files",
    placeholder: "Part of a path or a reason",
    oninput: async () => {
      every ??= page(0, signal, MOST).catch(() => null);
      const { items } = (await every) ?? { items: [] };
      const text = field.value.trim().toLowerCase();
      const fits = ({ path, reason }) => `${path}\n${reason}`.toLowerCase().includes(text);
      const some = items.filter(fits);
      all.hidden = Boolean(text);
      found.hidden = !text;
      fill(found, some.length ? rows(some) : h("p.faint", {}, "None of them."));
    },
  });
  return field;
}

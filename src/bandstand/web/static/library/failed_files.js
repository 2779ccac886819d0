// The files that could not be read, each with the reason.

import { address, call } from "../app/api.js";
import { fill, h } from "../app/dom.js";
import { load } from "../app/states.js";
import { plural } from "../app/words.js";
import { endless } from "./endless.js";

const AT_ONCE = 100;
const MOST = 1_000;
const WORTH_SEARCHING = 8; // files

export function failedFiles(place, signal) {
  return load(
    place,
    () => page(0, signal),
    (start) => drawn(start, signal),
  );
}

async function page(offset, signal, limit = AT_ONCE) {
  const wanted = address("/api/admin/problems", { offset, limit });
  const { problems, total } = await call("GET", wanted, undefined, { signal });
  const reached = offset + problems.length;
  return { items: problems, total, next: problems.length && reached < total ? reached : null };
}

function drawn(start, signal) {
  if (!start.total) return h("p.faint", {}, "None: every file could be read.");
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

function row({ path, reason }) {
  const cut = path.lastIndexOf("/") + 1;
  return h(
    "li",
    {},
    h("p.path", {}, h("span.faint", {}, path.slice(0, cut)), path.slice(cut)),
    h("p.faint.small", {}, reason),
  );
}

// Looks through the first thousand, which are fetched when somebody searches.
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

// How the server is, in plain words.

import { h, icon } from "../app/dom.js";
import { length, plural } from "../app/words.js";

const MEGABYTE = 1_000_000;
const STORES = { sqlite: "SQLite", postgresql: "PostgreSQL" };

// While a scan is under way, only the scan shows how many songs there are.
export function statusList(status, { isBusy }) {
  const failure = status.store_failure;
  return h(
    "div.stack",
    {},
    failure && h("p.notes", {}, icon("warning"), `Nothing can be stored any more: ${failure}`),
    h("dl.status", {}, facts(status, isBusy).map(fact)),
    status.store_warning && aboutStore(status.store_warning),
  );
}

const fact = ([label, value]) => [h("dt.faint.small", {}, label), h("dd", {}, value)];

// Nothing is wrong, and who looks after the store can read what to keep in mind.
function aboutStore(words) {
  return h("details.small", {}, h("summary", {}, "About this store"), h("p.hint", {}, words));
}

function facts(status, isBusy) {
  const gone = status.missing_songs;
  const missing = gone ? `, ${gone.toLocaleString("en-GB")} more gone` : "";
  const memory = status.memory_bytes;
  const found = [
    ...(isBusy ? [] : [["Library", `${plural(status.songs, "song")}${missing}`]]),
    ["People", plural(status.accounts, "account")],
    ["Store", `${STORES[status.store] ?? status.store}${status.store_failure ? "" : ", in order"}`],
    ["Memory", memory ? `${Math.round(memory / MEGABYTE)} MB` : "unknown"],
    ["Running for", length(status.uptime_seconds)],
    ["Version", status.version],
  ];
  if (status.isolation) found.push(["Files are read", status.isolation]);
  return found;
}

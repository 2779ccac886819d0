// How far everybody is: for administrators, who know participants by their numbers only.

import { call } from "../app/api.js";
import { h } from "../app/dom.js";
import { load } from "../app/states.js";
import { ago } from "../app/words.js";

const COLUMNS = ["Participant", "Parts done", "Ratings", "Last here"];

// Closed at first.
export function progressOfAll({ signal }) {
  const place = h("div");
  const ask = () => call("GET", "/api/admin/study", undefined, { signal });
  const look = ({ target }) => target.open && load(place, ask, ({ study }) => table(study));
  const details = h(
    "details.study-about",
    { ontoggle: look },
    h("summary", {}, h("h2", {}, "How far everybody is")),
    h("p.hint", {}, "Only the report says which algorithm chose in which part."),
    place,
  );
  return h("div.study-sheet.study-all", {}, details);
}

function table(study) {
  if (!study?.participants.length) return h("p.faint", {}, "There are no participants yet.");
  const head = COLUMNS.map((name) => h("th", { scope: "col" }, name));
  return h(
    "table.table",
    {},
    h("thead", {}, h("tr", {}, head)),
    h(
      "tbody",
      {},
      study.participants.map((one) => row(one, study)),
    ),
  );
}

function row({ number, joined_at, parts_done, ratings, last_at }, { parts, ratings_per_arm }) {
  const cells =
    joined_at === null
      ? ["invited", "", ""]
      : [
          `${parts_done} of ${parts}`,
          `${ratings} of ${parts * ratings_per_arm}`,
          last_at === null ? "not begun" : ago(last_at),
        ];
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, `P${number}`),
    cells.map((text) => h("td", {}, text)),
  );
}

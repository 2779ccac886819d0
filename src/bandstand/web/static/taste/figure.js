// What every figure of the page is made of: a title, a sentence that says what is to be seen, the
// drawing, and its numbers as a table.

import { h } from "../app/dom.js";

// `table` is {head: […], rows: [[…], …]}; numbers stand at the right.
export function figure({ key, title, sentence, body = null, table = null }) {
  const name = h("h2", { id: `taste-${key}` }, title);
  return h(
    `figure.card.taste-figure${body ? "" : ".is-bare"}`,
    { "aria-labelledby": name.id, dataset: { figure: key } },
    h("figcaption", {}, name, h("p", {}, sentence)),
    body,
    table && numbers(title, table),
  );
}

function numbers(title, { head, rows }) {
  const cell = (tag, properties) => (text, column) =>
    h(column ? `${tag}.number` : tag, properties, text);
  return h(
    "details.taste-numbers",
    {},
    h("summary", {}, "Show the numbers", h("span.unseen", {}, ` of “${title}”`)),
    h(
      "table.table",
      {},
      h("thead", {}, h("tr", {}, head.map(cell("th", { scope: "col" })))),
      h(
        "tbody",
        {},
        rows.map((row) => h("tr", {}, row.map(cell("td")))),
      ),
    ),
  );
}

// 0.354 → "35 %"
export const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

// 0.62 → "0.6 stars"; what is nearly nothing is said to be below a tenth.
export const inStars = (value) =>
  value < 0.05 ? "less than 0.1 stars" : `${value.toFixed(1)} stars`;

// Only songs of some years: what they are called, which songs are of them, and where they are
// chosen. Years are {year_from, year_to} as the server takes them, either of which may be null;
// null for all years.

import { h } from "../app/dom.js";
import { ask } from "../app/notices.js";

const [FIRST, LAST] = [0, 9_999];

export function yearsName({ year_from: first, year_to: last }) {
  if (last === null) return `${first} and later`;
  if (first === null) return `${last} and earlier`;
  return first === last ? String(first) : `${first} to ${last}`;
}

// A song of no known year is of none.
export function isOfYears(song, years) {
  if (!years) return true;
  const { year } = song;
  return year !== null && (years.year_from ?? FIRST) <= year && year <= (years.year_to ?? LAST);
}

// Whether something that was remembered can be a range of years.
export function isYears(years) {
  const ends = [years.year_from, years.year_to];
  const isYear = (end) => Number.isInteger(end) && end >= FIRST && end <= LAST;
  if (!ends.some(isYear) || !ends.every((end) => end === null || isYear(end))) return false;
  return ends.includes(null) || ends[0] <= ends[1];
}

// The first and the last year, as a group of two fields that may stay empty.
export function yearFields(years = null) {
  const [from, to] = [yearField(years?.year_from), yearField(years?.year_to)];
  const isBackwards = () => from.value !== "" && to.value !== "" && +from.value > +to.value;
  const check = () =>
    to.setCustomValidity(isBackwards() ? "The last year must not be before the first." : "");
  for (const field of [from, to]) field.addEventListener("input", check);
  const labelled = (label, field) => h("label.field", {}, h("span", {}, label), field);
  return {
    element: h(
      "fieldset.years",
      {},
      h("legend.unseen", {}, "Only songs of these years"),
      labelled("From year", from),
      labelled("To year", to),
    ),
    read: () => {
      const [first, last] = [from, to].map(({ value }) => (value === "" ? null : Number(value)));
      return first === null && last === null ? null : { year_from: first, year_to: last };
    },
  };
}

function yearField(value) {
  const properties = { type: "number", min: FIRST, max: LAST, step: 1, placeholder: "any" };
  return h("input", { ...properties, inputmode: "numeric", value: value ?? "" });
}

// Ask for years. Resolves with {years}; with null if the question was left.
export function askForYears(years) {
  const fields = yearFields(years);
  const hint = "Either may stay empty. Songs of no known year are left out.";
  return ask("Only some years", {
    body: [fields.element, h("p.hint", {}, hint)],
    yes: "Play",
    read: () => ({ years: fields.read() }),
  });
}

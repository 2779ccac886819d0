// The field for the name of a playlist.

import { h } from "../app/dom.js";

const LONGEST = "200"; // characters

// Returns the field; spaces alone are no name.
export function nameField({ value = "", required = true } = {}) {
  const field = h("input", { value, required, maxlength: LONGEST, autocomplete: "off" });
  field.addEventListener("input", () => {
    const isBlank = field.value !== "" && field.value.trim() === "";
    field.setCustomValidity(isBlank ? "Give it a name." : "");
  });
  return field;
}

export const named = (field, label = "Name") => h("label.field", {}, h("span", {}, label), field);

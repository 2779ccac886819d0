// Elements from names, properties and children. Text only ever becomes text.

import { PATHS } from "./icons.js";

const SVG = "http://www.w3.org/2000/svg";
// What is set as a property, since the attribute of that name is only its first value.
const PROPERTIES = new Set([
  "checked",
  "disabled",
  "hidden",
  "value",
  "selected",
  "open",
  "indeterminate",
]);
const ADDRESSES = new Set(["href", "src", "action", "formaction"]);

// h("button.main.small", { type: "button", onclick: run, "aria-label": "Play" }, icon("play"))
// A name may bring classes; what is null or false is left out; lists of children are opened.
export function h(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.classList.add(...classes);
  for (const [key, value] of Object.entries(properties ?? {})) set(element, key, value);
  element.append(...shown(children));
  return element;
}

function set(element, key, value) {
  if (value === null || value === undefined) return;
  if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
  else if (PROPERTIES.has(key)) element[key] = value;
  else if (key === "class") element.classList.add(...value.split(" ").filter(Boolean));
  else if (key === "dataset") Object.assign(element.dataset, value);
  else if (value === false && !key.startsWith("aria-")) element.removeAttribute(key);
  else
    element.setAttribute(
      key,
      ADDRESSES.has(key) ? own(value) : value === true && !key.startsWith("aria-") ? "" : value,
    );
}

// Only addresses of this server and ways inside the page: a name from a tag can never become one
// that runs something or leads elsewhere.
function own(address) {
  const text = String(address);
  if (text.startsWith("#") || (text.startsWith("/") && !/^\/[/\\]/.test(text))) return text;
  throw new TypeError(`an address must begin with # or a single /, got ${text.slice(0, 40)}`);
}

function shown(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false);
}

// Replace what is inside an element.
export function fill(element, ...children) {
  element.replaceChildren(...shown(children));
  return element;
}

// A drawing beside or instead of words; alone in a button, the button needs a name.
export function icon(name) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("class", "icon");
  drawing.setAttribute("viewBox", "0 0 24 24");
  drawing.setAttribute("fill", "none");
  drawing.setAttribute("stroke", "currentColor");
  drawing.setAttribute("stroke-width", "1.75");
  drawing.setAttribute("stroke-linecap", "round");
  drawing.setAttribute("stroke-linejoin", "round");
  drawing.setAttribute("aria-hidden", "true");
  for (const part of PATHS[name]) {
    const path = document.createElementNS(SVG, "path");
    const isSolid = part.startsWith("!");
    path.setAttribute("d", isSolid ? part.slice(1) : part);
    if (isSolid) path.setAttribute("fill", "currentColor");
    drawing.append(path);
  }
  return drawing;
}

// Dialogs: each opens at once, and is gone when it has been closed.

import { fill, h } from "./dom.js";

let opened = 0;

// `content(close)` gives what stands below the title, in `frame`: a form, say. Returns a promise
// that is kept when the dialog has been closed.
export function openDialog(title, content, { kind = "dialog", frame = h("div.stack") } = {}) {
  const heading = h("h2", { id: `dialog-${++opened}` }, title);
  const dialog = h(kind, { "aria-labelledby": heading.id }, frame);
  fill(
    frame,
    heading,
    content(() => dialog.close()),
  );
  const over = new Promise((resolve) => dialog.addEventListener("close", resolve));
  const closed = new AbortController();
  dialog.addEventListener("close", () => {
    closed.abort();
    dialog.remove();
  });
  // It belongs to the page that it was opened on.
  window.addEventListener("hashchange", () => dialog.close(), { signal: closed.signal });
  document.body.append(dialog);
  dialog.showModal();
  return over;
}

// Something to read. It is read from its title on; and since leaving it loses nothing, a press
// beside it closes it too. `actions(close)` stand before "Close".
export function showPanel(title, body, { kind = "dialog", actions = () => [] } = {}) {
  const frame = h("div.stack");
  const content = (close) => [
    body,
    h("div.row", {}, actions(close), h("button", { type: "button", onclick: close }, "Close")),
  ];
  const over = openDialog(title, content, { kind, frame });
  const heading = frame.firstElementChild;
  heading.tabIndex = -1;
  heading.focus();
  const dialog = frame.parentElement;
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  return over;
}

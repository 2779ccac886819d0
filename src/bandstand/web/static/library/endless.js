// A list that grows as one comes near its end, and by a button.

import { h } from "../app/dom.js";

const AHEAD = "1200px";

// `ask(after)` resolves with {items, next}; `draw(item)` makes a row. `start` is the first answer.
// Returns what goes below the list; `all()` are the items so far.
export function endless(list, { start, ask, draw, signal }) {
  let { items, next } = start;
  let isAsking = false;
  list.append(...items.map(draw));
  const button = h("button", { type: "button", onclick: () => grow() }, "Show more");
  const foot = h("div.more", { hidden: next === null }, button);
  // Several changes may come at once; the last of them is how things are.
  const seen = (entries) => entries.at(-1).isIntersecting && grow();
  const watcher = new IntersectionObserver(seen, { rootMargin: AHEAD });

  async function grow() {
    if (isAsking || next === null || signal.aborted) return;
    isAsking = true;
    const hadFocus = document.activeElement === button;
    try {
      const answer = await ask(next);
      const rows = answer.items.map(draw);
      list.append(...rows);
      items = [...items, ...answer.items];
      next = answer.next;
      button.textContent = "Show more";
      if (hadFocus) rows[0]?.querySelector("a")?.focus({ preventScroll: true });
      watchAgain();
    } catch (problem) {
      if (problem.name !== "AbortError") button.textContent = "Could not load more: try again";
    }
    foot.hidden = next === null;
    isAsking = false;
  }

  // Observing again reports at once whether the end is still near.
  function watchAgain() {
    watcher.unobserve(foot);
    if (next !== null) watcher.observe(foot);
  }

  watchAgain();
  signal.addEventListener("abort", () => watcher.disconnect());
  return { foot, sofar: () => ({ items, next }) };
}

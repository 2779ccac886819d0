// Waiting for a moment that the server has named.

const EVERY = 250; // milliseconds between two looks at the clock
const MARGIN = 300; // milliseconds: a request at the exact moment may be refused

// Returns the moment after a number of seconds, by this computer's own clock: it may be wrong,
// but it is the one that is looked at.
export const momentIn = (seconds) => Date.now() + 1_000 * seconds;

// Calls `onTick(seconds left)` whenever another whole second is left, and `onEnd()` once. The clock
// is looked at each time, since a computer that sleeps counts nothing.
export function countDown(moment, { signal, onTick, onEnd }) {
  let shown = null;
  const look = () => {
    const left = Math.max(0, Math.ceil((moment - Date.now()) / 1_000));
    if (left !== shown) onTick(left);
    shown = left;
    if (Date.now() < moment + MARGIN) return;
    clearInterval(timer);
    onEnd();
  };
  const timer = setInterval(look, EVERY);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  look();
}

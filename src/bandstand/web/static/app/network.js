// Whether the server can be reached, as far as a browser knows.
//
// A browser that says "offline" means the network, and is wrong where the server runs on the same
// computer. So it is believed only after it has said so while the page was open, and only for a
// while: then one question tells.

const DOUBT_AFTER = 45_000; // milliseconds

let goneSince = null;
let isLying = navigator.onLine === false; // the page has just come from the server

window.addEventListener("offline", () => {
  if (!isLying) goneSince = Date.now();
});
window.addEventListener("online", () => {
  goneSince = null;
  isLying = false;
});

export function isGone() {
  return goneSince !== null && Date.now() - goneSince < DOUBT_AFTER;
}

// The server has answered, whatever the browser believes. What was asked before the network went
// says nothing of it: that answer was on its way already.
export function noteAnswer(askedAt) {
  if (goneSince !== null && askedAt <= goneSince) return;
  if (goneSince !== null && navigator.onLine === false) isLying = true;
  goneSince = null;
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Resolves when it is worth trying again: after a while, or once the network is back.
export function worthTrying(milliseconds) {
  return new Promise((resolve) => {
    const done = () => {
      window.removeEventListener("online", done);
      clearTimeout(timer);
      resolve();
    };
    const wait = isGone()
      ? Math.max(milliseconds, DOUBT_AFTER - (Date.now() - goneSince))
      : milliseconds;
    const timer = setTimeout(done, wait);
    window.addEventListener("online", done);
  });
}

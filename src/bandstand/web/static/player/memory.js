// What a visit remembers over a reload of the page: what plays, what was queued, where it started
// from. It is the tab's own, and of one account.

const NAME = "bandstand.visit";

export function remember(account, visit) {
  try {
    sessionStorage.setItem(NAME, JSON.stringify({ account, ...visit }));
  } catch {
    // a private window, or no room: then a reload begins anew
  }
}

// Returns {current, time, pinned, station}, as far as they are known.
export function recall(account) {
  try {
    const visit = JSON.parse(sessionStorage.getItem(NAME));
    return visit?.account === account ? visit : {};
  } catch {
    return {};
  }
}

export function forget() {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // then there is nothing to forget
  }
}

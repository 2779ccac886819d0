// What the tabs of one browser tell each other.

const ME = Math.random().toString(36).slice(2);
const channel = typeof BroadcastChannel === "function" ? new BroadcastChannel("bandstand") : null;

export function announce(kind, data = null) {
  channel?.postMessage({ kind, data, from: ME });
}

export function hear(kind, listener) {
  channel?.addEventListener("message", ({ data }) => {
    if (data.kind === kind && data.from !== ME) listener(data.data);
  });
}

// What the server says of the scan, as it says it.

const COME_BACK_AFTER = 5_000; // milliseconds

// Call `onProgress` with every step until the signal ends it. Returns a function that reconnects
// at once: between two scans the stream pauses for some seconds.
export function followScan(onProgress, onState, signal) {
  let source = null;
  let timer = null;

  function open() {
    close();
    source = new EventSource("/api/admin/scan/progress");
    source.addEventListener("progress", ({ data }) => {
      onState({ isReached: true });
      onProgress(JSON.parse(data));
    });
    source.addEventListener("open", () => onState({ isReached: true }));
    source.addEventListener("error", lost);
  }

  // A stream that has ended is opened again by the browser; one that was refused is not. Either
  // way it is not asked more often than that.
  function lost() {
    if (source.readyState !== EventSource.CLOSED) return;
    onState({ isReached: false });
    clearTimeout(timer);
    timer = setTimeout(open, COME_BACK_AFTER);
  }

  function close() {
    clearTimeout(timer);
    source?.close();
  }

  signal.addEventListener("abort", close);
  open();
  return open;
}

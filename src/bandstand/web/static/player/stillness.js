// Songs that neither play nor fail: a file that has become shorter, a connection on which nothing
// comes any more. A browser waits for those for ever.

import { sound } from "./sound.js";

const EVERY = 1_000; // milliseconds between two looks
const PATIENCE = 10; // looks at which nothing has changed
const PATIENCE_AT_FIRST = 60; // before there is any sound: some files are converted first

// `onStill` is called when the sound should come on and does not; `isDue` says whether it should.
// Looks are counted, not seconds: a computer that has slept is no song that stands still.
export function noticeStillness({ isDue, onStill }) {
  let last = null;
  let looks = 0;
  setInterval(() => {
    const { progress } = sound;
    looks = isDue() && progress === last ? looks + 1 : 0;
    last = progress;
    if (looks < (sound.isBegun ? PATIENCE : PATIENCE_AT_FIRST)) return;
    looks = 0;
    onStill();
  }, EVERY);
}

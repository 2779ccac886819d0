// Detection of songs that neither play nor fail: a file that has become shorter, a connection that
// has gone silent. A browser waits for those for ever.

import { sound } from "./sound.js";

const CHECK_EVERY = 1_000; // milliseconds
const MAX_CHECKS = 10; // without progress
const MAX_CHECKS_AT_FIRST = 60; // before there is any sound: some files are converted first

// `onStall` is called when the sound should advance and does not; `isDue` says whether it should.
// Checks are counted, not seconds: a computer that has slept is no stall.
export function watchForStalls({ isDue, onStall }) {
  let last = null;
  let checks = 0;
  setInterval(() => {
    const { progress } = sound;
    checks = isDue() && progress === last ? checks + 1 : 0;
    last = progress;
    if (checks < (sound.isBegun ? MAX_CHECKS : MAX_CHECKS_AT_FIRST)) return;
    checks = 0;
    onStall();
  }, CHECK_EVERY);
}

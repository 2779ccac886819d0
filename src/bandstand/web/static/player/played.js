// How many seconds of a song were played: not where it is, which a seek changes.

export class Played {
  seconds = 0;
  #last = null; // where it was when last seen; null while that says nothing

  // Another play begins, or one goes on of which so much was played before.
  begin(seconds = 0) {
    this.seconds = seconds;
    this.jump();
  }

  // What follows does not begin where the sound was.
  jump() {
    this.#last = null;
  }

  // Look at an element: whatever it has come forward since was played.
  look({ currentTime, readyState, seeking }) {
    if (seeking || readyState === HTMLMediaElement.HAVE_NOTHING) return this.jump();
    if (this.#last !== null) this.seconds += Math.max(0, currentTime - this.#last);
    this.#last = currentTime;
  }
}

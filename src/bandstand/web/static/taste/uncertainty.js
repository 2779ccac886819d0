// Limits of what the page may claim: what is hardly known is called so.

// Beyond this many stars of doubt about a new song a number would pretend to know something; the
// server's sentences draw the line there too.
export const TOO_UNSURE = 1.5;
// Stars between the worst and the best rating: with that much uncertainty nothing is known.
export const SCALE = 4;
const DOUBTFUL = 0.1; // of freshness, from 0 to 1; again as in the server's sentences

// The doubt about what a new song is worth, in stars.
export const uncertaintyOf = ({ uncertainty }) => uncertainty.at(-1)?.stars ?? Infinity;

// The doubt about what it would be given, with the scatter of ratings; null if that is not known.
export const ratingDoubtOf = (taste) =>
  taste.noise === null ? null : Math.hypot(uncertaintyOf(taste), taste.noise);

// With fewer ratings nothing is said of what a song would be given, as by the server.
export const hasRated = ({ ratings }) => ratings >= 10;

export const isTooUnsure = (taste) => uncertaintyOf(taste) >= TOO_UNSURE;

// How songs recover is unknown until there is an answer about one that was heard again.
export const isGuess = ({ recovery }) => !recovery?.repeats;

// Whether the curve of freshness is known where it comes to nine tenths, or at its end.
export function isSureOfFreshness(taste) {
  if (isGuess(taste)) return false;
  const { fresh_after: freshAfter, curve } = taste.recovery;
  const spread = curve.standard_deviation;
  if (spread === null) return true;
  const there = curve.minutes.findIndex((minutes) => minutes >= (freshAfter ?? Infinity));
  return spread.at(there) < DOUBTFUL; // where it never gets there, that is the last one
}

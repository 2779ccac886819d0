// Why a song is on the list, in a word or two.

const GREAT = 4.2; // stars that are expected of a favourite
const FRESH = 0.9; // of its novelty is back, if anything is known of that
const VAGUE = 2; // stars: so wide a standard deviation says nothing of a scale from 1 to 5
const SURPRISE = "a surprise";

// A word for each of these offers. That they are surprises is said once.
export function reasons(offers) {
  const words = offers.map(reason);
  const first = words.indexOf(SURPRISE);
  return words.map((word, place) => (word === SURPRISE && place !== first ? "" : word));
}

// The rating that is expected; null if that is not known, or hardly.
export function expectedStars({ why }) {
  const spread = why?.standard_deviation ?? VAGUE;
  return spread < VAGUE ? why.expected : null;
}

function reason(offer) {
  const { why, mode } = offer;
  if (mode === "asked") return "queued";
  if (mode === "random" || !why || why.expected === null)
    return mode === "wish" ? "your start" : SURPRISE;
  if (why.mainly_to_learn) return "to learn";
  if (why.minutes_since_heard === null) return "new";
  if (why.expected >= GREAT) return "a favourite";
  return why.novelty >= FRESH ? "fresh again" : "heard before";
}

export const sentence = (offer) => offer.why?.sentence || offer.note || "";

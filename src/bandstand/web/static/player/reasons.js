// Why a song is on the list, in a word or two.

const GREAT = 4.2; // stars that are expected of a favourite

export function reason(offer) {
  const { why, mode } = offer;
  if (mode === "asked") return "queued";
  if (mode === "random" || !why || why.expected === null)
    return mode === "wish" ? "your start" : "a surprise";
  if (why.mainly_to_learn) return "to learn";
  if (why.minutes_since_heard === null) return "new";
  return why.expected >= GREAT ? "a favourite" : "fresh again";
}

export const sentence = (offer) => offer.why?.sentence || offer.note || "";

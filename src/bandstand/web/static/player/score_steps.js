// The steps from an average song's rating to the score of a choice. Pure functions.

const SMALL = 0.05; // stars; smaller steps are shown together
const [LOWEST, HIGHEST] = [10, 50]; // tenths of stars
const GROUPS = {
  tempo: "Its tempo",
  brightness: "How bright it is",
  harmony: "Its harmony",
  timbre: "Its timbre",
  movement: "How restless it is",
  sound: "Its sound",
  alike: "Songs that sound like it",
  tags: "Its genre and decade",
  artist: "Its artist",
  album: "Its album",
  song: "Your earlier ratings of it",
};

const known = (value) => value !== null && value !== undefined;
const isOnScale = (stars) => tenths(stars) >= LOWEST && tenths(stars) <= HIGHEST;

// {label, change} adds to what is above it, {label, total} says where that has led.
export function steps(why) {
  const isSum = known(why.base);
  return [
    isSum && why.base !== 0 && { label: "What an average song gets", total: why.base },
    isSum && groupsOf(why.groups ?? {}),
    freshness(why),
    { label: isOnScale(why.expected) ? "Expected now" : "Together", total: why.expected },
    known(why.exploration) && { label: "Curiosity", change: why.exploration },
    known(why.score) && known(why.exploration) && { label: "Its score", total: why.score },
  ]
    .flat()
    .filter(Boolean);
}

// What sound and names add, the most important first; the rest is one part.
function groupsOf(groups) {
  const all = Object.entries(groups).sort(([, one], [, other]) => Math.abs(other) - Math.abs(one));
  const isLarge = ([name, value]) => name in GROUPS && Math.abs(value) >= SMALL;
  const large = all.filter(isLarge).map(([name, change]) => ({ label: GROUPS[name], change }));
  const rest = all.filter((one) => !isLarge(one)).reduce((sum, [, value]) => sum + value, 0);
  const label = large.length ? "All the rest" : "Its sound";
  return Math.abs(rest) < SMALL && large.length ? large : [...large, { label, change: rest }];
}

// What it loses because it was heard. A song that was not is as good as new, but for what the
// radio does not know of songs that come again; a trace of that is left to the rounding.
function freshness({ staleness, liking, minutes_since_heard: heard }) {
  if (!known(staleness)) return null;
  if (!known(heard) && Math.abs(staleness) < SMALL) return null;
  const label = known(heard) ? "Heard recently" : "Freshness uncertain";
  const change = { label, change: staleness };
  return known(liking) ? [{ label: "When it is new", total: liking }, change] : change;
}

// The same steps with whole numbers of tenths, as they are shown: the totals are rounded, and the
// changes between two of them add up to the difference, by the largest remainder.
export function inTenths(found) {
  const shown = found.map((step) => ({ ...step }));
  let before = 0;
  let changes = [];
  for (const step of shown) {
    if (step.total === undefined) {
      changes.push(step);
      continue;
    }
    step.total = tenths(step.total);
    share(changes, step.total - before);
    before = step.total;
    changes = [];
  }
  for (const step of changes) step.change = tenths(step.change); // they lead to no total
  return shown;
}

export const tenths = (stars) => Math.round(10 * stars);

// Round the changes so that their sum is `whole` tenths, each to a neighbour of what it is where
// that is possible.
function share(changes, whole) {
  if (!changes.length) return;
  const rest = ({ change }) => 10 * change - Math.floor(10 * change);
  const byRest = [...changes].sort((one, other) => rest(other) - rest(one));
  for (const step of byRest) step.change = Math.floor(10 * step.change);
  let missing = whole - changes.reduce((sum, { change }) => sum + change, 0);
  const way = Math.sign(missing);
  if (way < 0) byRest.reverse();
  for (let place = 0; missing !== 0; place = (place + 1) % byRest.length) {
    byRest[place].change += way;
    missing -= way;
  }
}

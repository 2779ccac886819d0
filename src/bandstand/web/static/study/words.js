// What the study says of its rules and its times.

import { list, plural, time } from "../app/words.js";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DATE = { weekday: "long", day: "numeric", month: "long" };

// How long it is, to the minute: "40 seconds", "4 minutes", "2 hours 5 minutes", "1 day 3 hours".
export function span(seconds) {
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 90) return plural(whole, "second");
  const minutes = Math.round(whole / MINUTE);
  if (minutes < 60) return plural(minutes, "minute");
  if (minutes * MINUTE < DAY) return pair([minutes, 60], ["hour", "minute"]);
  return pair([Math.round(whole / HOUR), 24], ["day", "hour"]);
}

function pair([count, base], [large, small]) {
  const [whole, rest] = [Math.floor(count / base), count % base];
  return rest ? `${plural(whole, large)} ${plural(rest, small)}` : plural(whole, large);
}

// "at 18:40", "tomorrow at 07:15", "on Friday 20 November at 07:15": by this computer's own clock, so
// that it is what that clock shows then.
export function atWords(moment, now = Date.now()) {
  const day = (at) => new Date(at).setHours(0, 0, 0, 0);
  const days = Math.round((day(moment) - day(now)) / 1_000 / DAY);
  const which =
    ["", "tomorrow "][days] ?? `on ${new Date(moment).toLocaleDateString("en-GB", DATE)} `;
  return `${which}at ${time(moment)}`;
}

// "at 18:40, in 2 hours"
export const untilWords = (moment, now = Date.now()) =>
  `${atWords(moment, now)}, in ${span((moment - now) / 1_000)}`;

// How long a part takes at least: "about 2½ hours".
export function effort(rules) {
  const { ratings_per_arm: songs, listen_seconds: listen, answer_seconds: answer } = rules;
  const breaks = Math.floor((songs - 1) / rules.rest_after) * rules.rest_seconds;
  const seconds = songs * (listen + answer) + breaks;
  if (seconds < 1.5 * MINUTE) return "about a minute";
  if (seconds < 1.5 * HOUR) return `about ${span(seconds)}`;
  const halves = Math.round((2 * seconds) / HOUR);
  return `about ${Math.floor(halves / 2)}${halves % 2 ? "½" : ""} hours`;
}

// What one agrees to do, a sentence each.
export function ruleWords(rules, parts) {
  const { ratings_per_arm: songs, rest_after: after } = rules;
  const hasBreaks = after < songs && rules.rest_seconds > 0;
  return [
    `${plural(parts, "part")} of ${plural(songs, "song")} each. Every part takes ${effort(rules)}.`,
    "Each part chooses songs in another way. Which one stays hidden from you, so that you judge " +
      "the songs and nothing else.",
    `Listen to each song for at least ${span(rules.listen_seconds)}, then give it one to five ` +
      "stars. A rating is final. A song that you know well can be rated at once.",
    hasBreaks &&
      `After every ${plural(after, "song")} there is a break of ${span(rules.rest_seconds)}.`,
    apartWords(rules, parts),
    "Stop and go on whenever you like, on any device: nothing is lost.",
  ].filter(Boolean);
}

// How parts are kept apart; "" where they are not.
export function apartWords({ arms_per_day: most, gap_hours: gap }, parts) {
  const limits = [
    gap > 0 && `at least ${span(gap * HOUR)} between two parts`,
    most < parts && `at most ${plural(most, "part")} within 24 hours`,
  ].filter(Boolean);
  const text = list(limits);
  return text && `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

// For who was invited to a study, and has not agreed before it was closed; a paragraph each.
export const missedWords = ({ only }) => [
  "The study that you were invited to is closed. You did not take part in it.",
  ...(only ? ["You can log out now, or delete this account under “Account”."] : []),
];

// Why the server has said no, as one would say it; what follows is shown anyway.
const REFUSALS = {
  already_rated: "This song has its rating already, perhaps from another device. That one counts.",
  not_offered: "Another song is on offer by now, perhaps on another device.",
  resting: "It is time for a break first.",
  too_soon: "The next part cannot begin yet.",
  too_many_today: "The next part cannot begin yet.",
  unfinished: "Another part is under way and comes first.",
  not_begun: "This part has not begun yet.",
  finished: "This part is done already.",
  closed: "The study is closed now. Thank you for having taken part.",
  no_consent: "You are not taking part in a study here.",
  not_found: "This part is not one of yours.",
};

export const refusalWords = ({ code, message }) =>
  Object.hasOwn(REFUSALS, code) ? REFUSALS[code] : message;
